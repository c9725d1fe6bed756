"""The command line: a thin parser, one function per command; torch is imported where it is needed, not before."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Annotated, Any

import typer

from noisyrnn.cli import audit, bench, data, demo, experiments, export, fit, listing, predict, theory
from noisyrnn.cli.checks import Group
from noisyrnn.setting import in_a_sentence

app = typer.Typer(
    name="noisyrnn",
    cls=Group,
    help="Recurrent networks trained with noise in their hidden states and used without it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(fit.fit)
app.command()(predict.predict)
app.command()(predict.evaluate)
app.command()(export.export)
app.command(name="list")(listing.listing)
app.command()(experiments.run)
app.command()(experiments.record)
app.command()(experiments.report)
app.command()(audit.audit)
app.command()(bench.bench)
app.add_typer(data.data, name="data")
app.add_typer(theory.theory, name="theory")


_STOPPED = 130  # the exit code of what Ctrl-C has ended


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
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the code something failed, and not only the reason.")
    ] = False,
) -> None:
    if debug:
        os.environ["NOISYRNN_DEBUG"] = "1"


def main() -> None:
    """Run a command; what a user can mend is said in one sentence, with exit code 1, and never as a traceback."""
    warnings.showwarning = _show_warning
    try:
        code = app(prog_name="noisyrnn", standalone_mode=False)
        if code == _STOPPED:
            raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else 0)
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("Stopped. Run the same command again to go on.", err=True)
        sys.exit(_STOPPED)
    except BrokenPipeError:
        # The reader (head, less) has enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as error:
        if os.environ.get("NOISYRNN_DEBUG"):
            raise
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]  # the whole help, because nothing was asked for
        else:
            typer.echo(f"noisyrnn: {' '.join(_said(error).split())}", err=True)
        sys.exit(getattr(error, "exit_code", 1))


def _said(error: Exception) -> str:
    """What a user reads of an exception."""
    wrong_use = getattr(error, "format_message", None)  # of the parser
    if wrong_use is not None:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "noisyrnn"
        said = wrong_use().strip().rstrip(".").replace("Value error, ", "")
        return f"{said}{' ' if said.endswith('?') else '; '}`{command} --help` shows what there is."
    said = in_a_sentence(error)
    return f"{said}; `noisyrnn --debug ...` shows where." if said.startswith("unexpected ") else said


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """Our own warnings as a sentence, others' as Python shows them."""
    if category.__module__.startswith("noisyrnn"):
        typer.echo(f"noisyrnn: {message}", err=True)
    else:
        _python_shows(message, category, *where, **more)


_python_shows = warnings.showwarning
