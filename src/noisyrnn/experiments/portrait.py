r"""What the theorems say of a trained network, beside how robust it was measured to be.

    R          Theorem 1 with noise xi in every unit and step: how much noise in its states would raise its loss
    exponent   Theorem 3: growth of a small difference of states along test data, per step, noise off
    certified  Theorem 2: median l2 radius within which the class is proved not to change
    attacked   median l2 radius at which an attack changes the class

The first three are about networks of one layer of an SDE cell; of other networks only the last is known. The same
supposed noise for every network makes R comparable: it is a property of the weights, however they were trained. It is
added as the released code adds it, because sqrt(dt) xi would depend on the steps that a network has learned, and does
not exist where it has learned a negative one.
A portrait is kept in the run's directory, so that a long series of them can be interrupted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from noisyrnn.checkpoint import load_network
from noisyrnn.evaluate import Clean, stream
from noisyrnn.evaluate_margins import attacked_radius
from noisyrnn.experiments.measuring import chosen, loaded
from noisyrnn.experiments.place import CHECKPOINT, spec_in, summary_in, write_json
from noisyrnn.experiments.rows import ROWS, Row, read
from noisyrnn.experiments.spec import Measurement, Run
from noisyrnn.rnn import Classifier
from noisyrnn.sde import SDE, AdditiveNoise
from noisyrnn.theory import Network, Released, ball_certificate, lyapunov_spectrum, regulariser

PORTRAIT = "portrait.json"
_TOGETHER = 25  # samples in one call: the regulariser keeps a matrix of units x units for each


@dataclass(frozen=True, kw_only=True)
class Portrait:
    """Medians and means over ``samples`` test samples; None where a theorem does not apply to the network."""

    key: str
    samples: int
    per_step_R: float | None
    exponent: float | None
    certified: float | None
    attacked: float


@dataclass(frozen=True, kw_only=True)
class Explained:
    """A run of an experiment: its label, its accuracies in percent, and its portrait."""

    model: str
    seed: int
    epochs: int
    clean: float
    robust: float
    """Mean accuracy over every disturbed column of the experiment."""
    portrait: Portrait


def trained(directory: Path | str, experiments: Sequence[str]) -> list[Path]:
    """Directories below that hold a finished network and rows of one of the experiments."""
    if not Path(directory).is_dir():
        raise ValueError(f"There is no directory {directory}: give the one that experiments were run into.")
    places = [path.parent for path in sorted(Path(directory).rglob(CHECKPOINT))]
    found = [place for place in places if summary_in(place) is not None and _told(place, experiments)]
    if not found:
        raise ValueError(
            f"No network with rows of {' or '.join(experiments)} is below {directory}: run it with noisyrnn run "
            f"{experiments[0]}, or name another experiment."
        )
    _refuse_half_measured({place: _told(place, experiments) for place in found})
    return found


def _refuse_half_measured(told: dict[Path, list[Row]]) -> None:
    """Nothing, if runs of one experiment have the same columns: means over different ones must not be compared."""
    columns: dict[str, set[tuple[str, float]]] = {}
    for rows in told.values():
        columns.setdefault(rows[0]["experiment"], set()).update((row["measure"], row["level"]) for row in rows)
    for place, rows in told.items():
        have, name = {(row["measure"], row["level"]) for row in rows}, rows[0]["experiment"]
        if have != columns[name]:
            raise ValueError(
                f"{place} has {len(have)} of the {len(columns[name])} columns of {name} that other runs have: finish "
                f"it with noisyrnn run {name}, or move it away."
            )


def explained(places: Sequence[Path], experiments: Sequence[str], *, samples: int = 100) -> Iterator[Explained]:
    """Each run of the experiments with its portrait, made where it is not there yet."""
    for place in places:
        told = _told(place, experiments)
        disturbed = [row["value"] for row in told if row["measure"] != "clean"]
        clean = [row["value"] for row in told if row["measure"] == "clean"]
        if disturbed and clean:
            yield Explained(
                model=told[0]["model"],
                seed=told[0]["seed"],
                epochs=told[0]["epochs"],
                clean=clean[0],
                robust=sum(disturbed) / len(disturbed),
                portrait=portrait(place, samples=samples),
            )


def portrait(place: Path, *, samples: int = 100) -> Portrait:
    """The portrait of the network in a run's directory, read or made."""
    path, run = place / PORTRAIT, spec_in(place)
    if run is None:
        raise ValueError(f"{place} does not hold a run that this version understands: run it again.")
    # Whatever is missing, damaged or of another number of samples is made again.
    with suppress(OSError, ValueError, TypeError):
        kept = Portrait(**json.loads(path.read_bytes()))
        if (kept.samples, kept.key) == (samples, place.name):
            return kept
    made = _portrait(load_network(place / CHECKPOINT), run, place.name, samples)
    write_json(path, asdict(made))
    return made


def _told(place: Path, experiments: Sequence[str]) -> list[Row]:
    """The rows of the first of the experiments that has any."""
    found = read(place / ROWS)
    choices = ([row for row in found if row["experiment"] == experiment] for experiment in experiments)
    return next((rows for rows in choices if rows), [])


def _portrait(model: Classifier, run: Run, key: str, samples: int) -> Portrait:
    split = chosen(loaded(run.data), Measurement(measure=Clean(), samples=samples))
    x, y = split.x, split.y
    generator = stream("portrait", key)
    attacked = [
        attacked_radius(model, a, b, generator=generator)
        for a, b in zip(x.split(_TOGETHER), y.split(_TOGETHER), strict=True)
    ]
    found: dict[str, float | None] = {"per_step_R": None, "exponent": None, "certified": None}
    try:
        network = Network.of_classifier(model)
    except ValueError:
        pass  # Not a network of the theorems.
    else:
        radius = ball_certificate(network, x, y, precision=torch.float32).radius
        found = {**_dynamics(model, x, y), "certified": float(radius.median())}
    return Portrait(key=key, samples=len(x), attacked=float(torch.cat(attacked).median()), **found)


@torch.no_grad()
def _dynamics(model: Classifier, x: Tensor, y: Tensor) -> dict[str, float | None]:
    network = Network.of_classifier(model.double())
    noisy = replace(network, diffusion=AdditiveNoise(1.0), released=Released(multiplicative=0.0))
    raised = [
        regulariser(noisy, a.double(), noisy.cross_entropy(b), Q=False).R
        for a, b in zip(x.split(_TOGETHER), y.split(_TOGETHER), strict=True)
    ]
    spectrum = lyapunov_spectrum(SDE(network.drift), x.double(), dt=network.dt, count=1)
    pace = 1.0 if spectrum.dt is None else spectrum.dt
    return {"per_step_R": float(torch.cat(raised).mean()), "exponent": spectrum.top * pace}
