"""A bar for an audit: how many series have been asked about, how fast, and how long it will take."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class _Rate(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f} series/s" if task.speed else "")


@contextmanager
def bar(total: int) -> Iterator[Callable[[str, int], None]]:
    """What is told which classifier has answered how many series; attacks that end early leave the bar short."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("audit", total=total)

        def told(name: str, calls: int) -> None:
            progress.update(task, advance=calls, description=name[:24])

        yield told
