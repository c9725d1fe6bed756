"""``noisyrnn data``: what there is, and fetching it."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from noisyrnn.cli.checks import Group

data = typer.Typer(
    cls=Group,
    help="Data sets: list them, fetch them, verified where a checksum is known.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@data.command(name="list")
def listing(as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False) -> None:
    """Every data set whose checksums are known, and whether it is on this machine.

    Example: noisyrnn data list
    """
    from noisyrnn.data import available

    entries = available()
    if as_json:
        typer.echo(json.dumps([vars(entry) for entry in entries]))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("name", "train", "test", "classes", "length", "here"):
        table.add_column(name, justify="left" if name in ("name", "here") else "right", no_wrap=True)
    for entry in entries:
        train, test = entry.samples
        table.add_row(
            entry.name, str(train), str(test), str(entry.classes), str(entry.length), "yes" if entry.present else "no"
        )
    Console().print(table)


@data.command(name="get")
def fetching(
    name: Annotated[str, typer.Argument(help="Name as in `noisyrnn data list`.")],
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no text; the exit code tells.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was fetched for scripts.")] = False,
) -> None:
    """Fetch a data set, verify it, and keep it for later.

    Each file is compared with its known sha256 and said to be verified. Other sets of the archive than `noisyrnn data
    list` shows have no known sum: they are said to be unverified, here and in every row that is measured on them.

    Example: noisyrnn data get ecg5000
    """
    from noisyrnn.data import fetch

    files = fetch(name)
    if as_json:
        told = [{"file": file.file, "verified": file.verified, "source": file.source} for file in files]
        typer.echo(json.dumps(told))
    if as_json or quiet:
        return
    for file in files:
        state = "verified" if file.verified else "unverified, because no checksum of it is known"
        typer.echo(f"{file.file}: {state}; from {file.source}")
    if not files:
        typer.echo(f"{name} comes with this package's dependencies; there is nothing to fetch.")
