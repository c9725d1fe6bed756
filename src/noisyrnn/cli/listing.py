"""``noisyrnn list``: what there is to choose from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, get_args

import typer

if TYPE_CHECKING:
    from pydantic import BaseModel


def listing(as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False) -> None:
    """Models, experiments, data sets, perturbations and attacks, and which kernel runs.

    Example: noisyrnn list
    """
    from noisyrnn import attack, perturb
    from noisyrnn.data import available
    from noisyrnn.experiments import EXPERIMENTS
    from noisyrnn.models import Model
    from noisyrnn.rnn import native

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
        "data sets": sets | {"ucr:NAME": "the archive's sets, by `noisyrnn data list`"},
    }
    if as_json:
        typer.echo(json.dumps({**found, "kernel": native.status()}))
        return
    for title, entries in found.items():
        typer.echo(title)
        for name, text in entries.items():
            typer.echo(f"  {name:<28}{text}".rstrip())
        typer.echo("")
    typer.echo(native.status())


def _kinds(union: object) -> dict[str, str]:
    """What each setting of an annotated union is called, and what it is."""
    settings: tuple[type[BaseModel], ...] = get_args(get_args(union)[0])
    return {str(setting.model_fields["kind"].default): _first(setting) for setting in settings}


def _first(setting: type[BaseModel]) -> str:
    """The first line of a setting's own explanation."""
    text = (setting.__doc__ or "").strip().splitlines()[0]
    return text.replace(":class:", "").replace("`", "").rstrip(".")
