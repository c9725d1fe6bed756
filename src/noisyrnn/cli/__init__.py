"""The command line: a thin parser, one function a command; torch is imported where it is needed, not before."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from noisyrnn.cli.bench import bench
from noisyrnn.cli.data import data
from noisyrnn.cli.demo import demo
from noisyrnn.cli.experiments import report, run
from noisyrnn.cli.listing import listing
from noisyrnn.cli.theory import theory

app = typer.Typer(
    name="noisyrnn",
    help="Recurrent networks trained with noise in their hidden states and used without it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command(name="list")(listing)
app.command()(run)
app.command()(report)
app.command()(bench)
app.add_typer(data, name="data")
app.add_typer(theory, name="theory")


def _version(wanted: bool) -> bool:
    if wanted:
        from noisyrnn import __version__
        from noisyrnn.rnn import native

        typer.echo(f"noisyrnn {__version__}. {native.status()}")
        raise typer.Exit
    return wanted


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Version, and which kernel runs.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run a command; what a user can mend is said in one sentence, with exit code 1, and never as a traceback."""
    try:
        app()
    except KeyboardInterrupt:
        typer.echo("Stopped. Run the same command again to go on.", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader (head, less) has enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (ValueError, OSError) as error:
        if os.environ.get("NOISYRNN_DEBUG"):
            raise
        typer.echo(f"noisyrnn: {' '.join(str(error).split())}", err=True)
        sys.exit(1)
