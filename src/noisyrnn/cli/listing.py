"""``noisyrnn list``: what there is to choose from."""

from __future__ import annotations

import json
import shutil
import textwrap
from typing import TYPE_CHECKING, Annotated, get_args

import typer

if TYPE_CHECKING:
    from pydantic import BaseModel

_NAMES, _WIDEST = 28, 100


def listing(as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False) -> None:
    """Models, experiments, data sets, perturbations, attacks and faults of hardware, and which kernel runs.

    Example: noisyrnn list
    """
    from noisyrnn import attack, perturb
    from noisyrnn.data import available
    from noisyrnn.experiments import EXPERIMENTS
    from noisyrnn.models import Model
    from noisyrnn.rnn import AnyFault, native

    sets = {
        entry.name: f"{sum(entry.samples)} sequences of {entry.length} steps, {entry.classes} classes"
        for entry in available()
        if not entry.name.startswith("ucr:")
    }
    found = {
        "models": _kinds(Model),
        "experiments": {name: experiment.claim for name, experiment in EXPERIMENTS.items()},
        "perturbations": _kinds(perturb.Perturbation),
        "attacks": _kinds(attack.Attack),
        "faults of hardware": _kinds(AnyFault),
        "data sets": sets | {"ucr:NAME": "the archive's sets, by `noisyrnn data list`"},
    }
    if as_json:
        typer.echo(json.dumps({**found, "kernel": native.status()}))
        return
    width = max(40, min(shutil.get_terminal_size().columns, _WIDEST))
    for title, entries in found.items():
        typer.echo(title)
        for name, text in entries.items():
            typer.echo(textwrap.fill(f"  {name:<{_NAMES}}{text}", width, subsequent_indent=" " * (_NAMES + 2)))
        typer.echo("")
    typer.echo(textwrap.fill(native.status(), width))


def _kinds(union: object) -> dict[str, str]:
    """What each setting of an annotated union is called, and what it is."""
    settings: tuple[type[BaseModel], ...] = get_args(get_args(union)[0])
    return {str(setting.model_fields["kind"].default): _first(setting) for setting in settings}


def _first(setting: type[BaseModel]) -> str:
    """The first line of a setting's own explanation."""
    text = (setting.__doc__ or "").strip().splitlines()[0]
    return text.replace(":class:", "").replace("`", "").rstrip(".")
