"""Progress on a terminal: how many runs are done, and where the one under way stands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from noisyrnn.experiments.task import Result
from noisyrnn.train import Moment


@dataclass(frozen=True, kw_only=True)
class Bars:
    """The two functions that :func:`noisyrnn.experiments.run` calls as it goes."""

    watch: Callable[[str, int, Moment], None]
    done: Callable[[Result, int], None]


@contextmanager
def bars(*, shown: bool | None = None) -> Iterator[Bars]:
    """Bars on stderr, by default only where that is a terminal.

    >>> with bars(shown=False) as progress:
    ...     progress.watch("lipschitz", 0, Moment(epoch=1, epochs=2, batch=1, batches=4, loss=0.7))
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    visible = sys.stderr.isatty() if shown is None else shown
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not visible, transient=True) as progress:
        runs = progress.add_task("runs", total=None)
        inside = progress.add_task("waiting", total=None)

        def watch(label: str, seed: int, moment: Moment) -> None:
            progress.update(
                inside,
                description=f"{label}, seed {seed}: epoch {moment.epoch} of {moment.epochs}, loss {moment.loss:.3f}",
                completed=(moment.epoch - 1) * moment.batches + moment.batch,
                total=moment.epochs * moment.batches,
            )

        def done(result: Result, total: int) -> None:
            progress.update(runs, advance=1, total=total)
            if result.failure is not None:
                progress.console.print(f"{result}: {result.failure}", highlight=False)

        yield Bars(watch=watch, done=done)
