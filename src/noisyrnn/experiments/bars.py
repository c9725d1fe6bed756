"""Progress: on a terminal a bar for all runs and one for each under way, elsewhere a line a run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from noisyrnn.experiments.note import standings
from noisyrnn.experiments.task import Result

_PAUSE = 1.0  # seconds between two looks at the notes


@dataclass(frozen=True, kw_only=True)
class Bars:
    """What :func:`noisyrnn.experiments.run` calls after each task."""

    done: Callable[[Result, int], None]


@contextmanager
def bars(directory: Path, *, quiet: bool = False) -> Iterator[Bars]:
    """Bars on stderr for the runs below a directory, whichever process works on them.

    >>> with bars(Path("results"), quiet=True) as progress:
    ...     progress.done(Result(label="lipschitz", seed=0, key="0", seconds=1.0), 1)
    """
    console = Console(stderr=True, highlight=False)
    shown = console.is_terminal and not quiet
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    over = threading.Event()
    with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
        runs = progress.add_task("runs", total=None)

        def done(result: Result, total: int) -> None:
            progress.update(runs, advance=1, total=total)
            if not quiet and not shown:
                state = "busy" if result.busy else "failed" if result.failure else f"{result.rows} new rows"
                progress.console.print(f"{result}: {state}, {result.seconds:.0f} s", soft_wrap=True)

        watcher = threading.Thread(target=_follow, args=(progress, directory, over), daemon=True)
        if shown:
            watcher.start()
        try:
            yield Bars(done=done)
        finally:
            over.set()
            if shown:
                watcher.join()


def _follow(progress: Progress, directory: Path, over: threading.Event) -> None:
    lines: dict[str, TaskID] = {}
    while not over.wait(_PAUSE):
        now = {standing.run: standing for standing in standings(directory)}
        for run in lines.keys() - now.keys():
            progress.remove_task(lines.pop(run))
        for run, standing in now.items():
            if run not in lines:
                lines[run] = progress.add_task(run)
            text = f"{run}: {standing.text}"
            progress.update(lines[run], description=text, completed=standing.done, total=standing.total)
