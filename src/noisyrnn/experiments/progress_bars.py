"""Progress: on a terminal a bar for all runs and one for each under way, elsewhere one line per run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from noisyrnn.experiments.plan import Result
from noisyrnn.experiments.store.progress_file import under_way

_PAUSE = 1.0  # seconds between two looks at the files


Done = Callable[[Result, int], None]
"""What :func:`noisyrnn.experiments.run` calls after each job."""


@contextmanager
def show_progress(directory: Path, *, quiet: bool = False) -> Iterator[Done]:
    """Bars on stderr for the runs below a directory, whichever process works on them.

    >>> with show_progress(Path("runs"), quiet=True) as done:
    ...     done(Result(label="lipschitz", seed=0, key="0", seconds=1.0), 1)
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
            yield done
        finally:
            over.set()
            if shown:
                watcher.join()


def _follow(progress: Progress, directory: Path, over: threading.Event) -> None:
    lines: dict[str, TaskID] = {}
    while not over.wait(_PAUSE):
        now = {progress_now.run: progress_now for progress_now in under_way(directory)}
        for run in lines.keys() - now.keys():
            progress.remove_task(lines.pop(run))
        for run, progress_now in now.items():
            if run not in lines:
                lines[run] = progress.add_task(run)
            text = f"{run}: {progress_now.text}"
            progress.update(lines[run], description=text, completed=progress_now.done, total=progress_now.total)
