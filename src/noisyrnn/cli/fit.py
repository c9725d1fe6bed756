"""``noisyrnn fit``: a classifier for a file of one's own."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from noisyrnn.estimator import NoisyRNNClassifier
    from noisyrnn.estimator.own_files import OwnData


class MissingName(StrEnum):
    """What is made of missing values."""

    REFUSE = "refuse"
    INTERPOLATE = "interpolate"
    MASK = "mask"


class ScalingName(StrEnum):
    """How series are scaled."""

    CHANNEL = "channel"
    SERIES = "series"
    NONE = "none"


def fit(
    file: Annotated[Path, typer.Argument(help="Series with labels: .csv .tsv .ts .arff .npz .parquet, also .gz.")],
    out: Annotated[Path, typer.Option(help="Directory for the model.")] = Path("model"),
    target: Annotated[str | None, typer.Option(help="Column of the label, by name, or counted from 0.")] = None,
    case: Annotated[
        str | None, typer.Option("--id", help="Long tables (one instant a row): the column that names the series.")
    ] = None,
    time_column: Annotated[
        str | None, typer.Option("--time", help="Long tables: the column that orders the instants of a series.")
    ] = None,
    valid: Annotated[Path | None, typer.Option(help="A second file to measure accuracy on.")] = None,
    share: Annotated[
        float, typer.Option(min=0, max=0.9, help="Without --valid: the part held back to measure accuracy on.")
    ] = 0.2,
    model: Annotated[str, typer.Option(help="noisy, lipschitz, lstm, gru, ...: any model of the library.")] = "noisy",
    hidden: Annotated[int, typer.Option(min=1, max=4096, help="Units in each direction.")] = 64,
    epochs: Annotated[int | None, typer.Option(min=1, help="Times through the data; by its size if left out.")] = None,
    lr: Annotated[float, typer.Option(min=1e-8, max=10, help="Largest learning rate.")] = 2e-3,
    causal: Annotated[
        bool, typer.Option("--causal", help="Look at the past only, so that it can be streamed.")
    ] = False,
    companion: Annotated[
        bool, typer.Option("--companion/--no-companion", help="Random convolutions beside the network, if not causal.")
    ] = True,
    faults: Annotated[bool, typer.Option("--faults/--no-faults", help="Train on sensor faults.")] = True,
    missing: Annotated[MissingName, typer.Option(help="What is made of missing values.")] = MissingName.REFUSE,
    scaling: Annotated[ScalingName, typer.Option(help="By the training set, by each series, or not.")] = (
        ScalingName.CHANNEL
    ),
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Give rare classes the weight of frequent ones.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of all that is drawn.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace a model that is there.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress and no text.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was found for scripts.")] = False,
) -> None:
    """Train a robust classifier on a file of series, measure it, and save it as a directory.

    Tables are wide (a series a row, one column the label) or, with --id, long (an instant a row). A part of the series
    is held back to measure accuracy, under sensor faults, too; the model that is saved is the one that was measured.

    Example: noisyrnn fit beats.csv --target rhythm --out beats-model
    """
    from noisyrnn.disk import check_directory
    from noisyrnn.estimator import NoisyRNNClassifier
    from noisyrnn.estimator.own_files import Reading, own_data, refuse_unknown
    from noisyrnn.estimator.saving import WEIGHTS

    if (out / WEIGHTS).exists() and not force:
        raise ValueError(f"{out} holds a model already: choose another --out, or replace it with --force.")
    check_directory(out)
    reading = Reading(target, case, time_column, gaps=missing is not MissingName.REFUSE)
    data = own_data(file, reading)
    if valid is None:
        train, held = _divided(data, share, seed)
    else:
        train, held = data, own_data(valid, reading)
        refuse_unknown(_labels(held), _labels(train), held.file)
    classifier = NoisyRNNClassifier(
        model,
        hidden_size=hidden,
        causal=causal,
        companion="auto" if companion else None,
        n_epochs=epochs or "auto",
        lr=lr,
        faults="default" if faults else None,
        missing=None if missing is MissingName.REFUSE else missing.value,
        scaling=scaling.value,
        class_weight="balanced" if balanced else None,
        random_state=seed,
    )
    began = time.perf_counter()
    with _progress(quiet or as_json) as callback:
        classifier.set_params(callbacks=[callback]).fit(train.X, _labels(train))
    classifier.set_params(callbacks=None)
    seconds = time.perf_counter() - began
    found = _measured(classifier, train, held, seconds)
    classifier.save(
        out,
        measured={
            **{
                name: found[name]
                for name in ("series", "accuracy", "interval", "held back", "seconds")
                if name in found
            },
            **({"robustness": found["robustness"]} if "robustness" in found else {}),
            "instants": max(one.shape[-1] for one in train.X),
            "reading": {"target": target, "id": case, "time": time_column},
        },
    )
    if as_json:
        typer.echo(json.dumps({**found, "model": str(out)}))
    elif not quiet:
        typer.echo(_said(found, out))


def _labels(data: OwnData) -> Any:
    assert data.labels is not None
    return data.labels


def _divided(data: OwnData, share: float, seed: int) -> tuple[OwnData, OwnData | None]:
    """Series to train on and series to measure on, class by class."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    if share == 0:
        return data, None
    labels = _labels(data)
    names, counts = np.unique(labels, return_counts=True)
    if counts.min() < 2:
        lonely = names[counts.argmin()]
        raise ValueError(
            f"{data.file}: class {str(lonely)!r} has one series, so none can be held back: add some, or use --share 0."
        )
    everything = np.arange(len(labels))
    aside = max(len(names), round(share * len(labels)))
    if len(labels) - aside < len(names):
        raise ValueError(f"{data.file}: {len(labels)} series are too few to hold {aside} back: use --share 0.")
    kept, held = (
        np.sort(one) for one in train_test_split(everything, test_size=aside, stratify=labels, random_state=seed)
    )

    def part(index: Any) -> OwnData:
        chosen = [data.X[i] for i in index] if isinstance(data.X, list) else data.X[index]
        return replace(data, X=chosen, labels=labels[index])

    return part(kept), part(held)


@contextmanager
def _progress(silent: bool) -> Iterator[Any]:
    """A callback that moves a bar on a terminal, and does nothing elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn("training"), BarColumn(), TextColumn("{task.fields[loss]}"), TimeElapsedColumn(),
        TimeRemainingColumn(), console=console, disable=silent or not console.is_terminal,
    ) as bars:  # fmt: skip
        task = bars.add_task("training", total=None, loss="")

        def callback(_: Any, record: dict[str, Any]) -> None:
            bars.update(task, total=record["epochs"], completed=record["epoch"], loss=f"loss {record['loss']:.3f}")

        yield callback


def _measured(classifier: NoisyRNNClassifier, train: OwnData, held: OwnData | None, seconds: float) -> dict[str, Any]:
    """What is known of the classifier after its training."""
    from noisyrnn.estimator.advice import advice, choices, interval

    steps = max(one.shape[-1] for one in train.X)
    on_train = float(classifier.score(train.X, _labels(train)))
    found: dict[str, Any] = {"series": len(train), "classes": [str(one) for one in classifier.classes_]}
    if held is not None:
        right = int((classifier.predict(held.X) == _labels(held)).sum())
        found["held back"] = len(held)
        found["accuracy"] = right / len(held)
        found["interval"] = list(interval(right, len(held)))
        found["robustness"] = classifier.robustness(held.X, _labels(held)).as_dict()
    found["chosen"] = choices(classifier, steps)
    found["advice"] = advice(classifier, train.X, _labels(train), train=on_train, valid=found.get("accuracy"))
    found["seconds"] = round(seconds, 1)
    return found


def _said(found: dict[str, Any], out: Path) -> str:
    lines = [f"Trained on {found['series']} series of {len(found['classes'])} classes in {found['seconds']:g} s."]
    if "accuracy" in found:
        low, high = found["interval"]
        lines.append(
            f"Accuracy on {found['held back']} series that it has not seen: {found['accuracy']:.3f} "
            f"(95 % interval {low:.3f} to {high:.3f})."
        )
        lines.append(f"Under sensor faults, mean over kinds and levels: {found['robustness']['disturbed']:.3f}.")
    else:
        lines.append("Nothing was held back, so its accuracy is not known: give --valid, or a --share above 0.")
    lines += ["", "What was chosen:", *(f"  {line}" for line in found["chosen"])]
    if found["advice"]:
        lines += ["", "What would make it better:", *(f"  {line}" for line in found["advice"])]
    lines += ["", f"Saved in {out}; its card is {out / 'README.md'}. Next: noisyrnn predict {out} FILE"]
    return "\n".join(lines)
