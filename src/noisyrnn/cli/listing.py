"""``noisyrnn list``: what there is to choose from."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def listing(as_json: Annotated[bool, typer.Option("--json", help="For scripts.")] = False) -> None:
    """Models, experiments, data sets, perturbations and attacks, and which kernel runs.

    Example: noisyrnn list
    """
    from typing import get_args

    from noisyrnn import attack, perturb
    from noisyrnn.data import available
    from noisyrnn.experiments import EXPERIMENTS
    from noisyrnn.models import Model
    from noisyrnn.rnn import native

    models = {setting.model_fields["kind"].default: _first(setting) for setting in get_args(get_args(Model)[0])}
    faults = {_kind(setting): _first(setting) for setting in get_args(get_args(perturb.Perturbation)[0])}
    attacks = {_kind(setting): _first(setting) for setting in get_args(get_args(attack.Attack)[0])}
    sets = [entry.name for entry in available() if not entry.name.startswith("ucr:")]
    found = {
        "models": models,
        "experiments": {name: experiment.claim for name, experiment in EXPERIMENTS.items()},
        "perturbations": faults,
        "attacks": attacks,
        "data sets": dict.fromkeys(sets, "") | {"ucr:NAME": "more by `noisyrnn data list`"},
    }
    if as_json:
        typer.echo(json.dumps({**found, "kernel": native.status()}))
        return
    for title, entries in found.items():
        typer.echo(title)
        for name, text in entries.items():
            typer.echo(f"  {name:<22}{text}".rstrip())
        typer.echo("")
    typer.echo(native.status())


def _kind(setting: type) -> str:
    return str(setting.model_fields["kind"].default)  # type: ignore[attr-defined]


def _first(setting: type) -> str:
    """The first line of a setting's own explanation."""
    text = (setting.__doc__ or "").strip().splitlines()[0]
    return text.replace(":class:", "").replace("`", "").rstrip(".")
