"""``noisyrnn predict`` and ``noisyrnn evaluate``: a saved classifier on files of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from noisyrnn.estimator import NoisyRNNClassifier
    from noisyrnn.estimator.own_files import Reading

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The directory that `noisyrnn fit` wrote.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="Series: .csv .tsv .ts .arff .npz .parquet, also .gz.")]
Target = Annotated[str | None, typer.Option(help="Column of the label, where it is called otherwise than in training.")]
Case = Annotated[str | None, typer.Option("--id", help="Long tables: the column that names the series.")]
Time = Annotated[str | None, typer.Option("--time", help="Long tables: the column that orders the instants.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No text; the exit code tells.")]
Json = Annotated[bool, typer.Option("--json", help="Print what was found for scripts.")]


def predict(
    model: Model,
    file: File,
    out: Annotated[Path | None, typer.Option(help="A .csv file for the answers; printed if left out.")] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Also the probability of each class.")] = False,
    target: Target = None,
    case: Case = None,
    time_column: Time = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """The class of each series of a file, by a saved classifier; labels in the file are not looked at.

    Example: noisyrnn predict beats-model new.csv --probabilities --out answers.csv
    """
    from noisyrnn.disk import check_file, save
    from noisyrnn.estimator.own_files import unlabelled_data

    if out is not None:
        check_file(out)
    classifier, reading = _loaded(model, target, case, time_column)
    trained = classifier.measured_.get("instants")
    data = unlabelled_data(file, reading, features=trained if isinstance(trained, int) else None)
    found = classifier.predict_proba(data.X)
    names = [str(one) for one in classifier.classes_]
    labels = [names[code] for code in found.argmax(1).tolist()]
    if as_json:
        answer: dict[str, Any] = {"classes": labels}
        if probabilities:
            answer |= {"names": names, "probabilities": found.round(6).tolist()}
        text = json.dumps(answer)
    else:
        text = _table(labels, names, found.tolist() if probabilities else None)
    if out is not None:
        save(out, (text + "\n").encode())
        if not quiet and not as_json:
            typer.echo(f"{len(labels)} answers are in {out}.")
    elif not quiet:
        typer.echo(text)


def evaluate(
    model: Model,
    file: File,
    robustness: Annotated[bool, typer.Option("--robustness", help="Also accuracy under sensor faults.")] = False,
    plot: Annotated[Path | None, typer.Option(help="A picture of the curves, .svg or .png; with --robustness.")] = None,
    target: Target = None,
    case: Case = None,
    time_column: Time = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Accuracy of a saved classifier on a file with labels: with its interval, by class, under sensor faults if asked.

    Example: noisyrnn evaluate beats-model test.csv --robustness
    """
    from noisyrnn.disk import check_file
    from noisyrnn.estimator.advice import interval
    from noisyrnn.estimator.own_files import own_data, refuse_unknown

    if plot is not None:
        if not robustness:
            raise ValueError("--plot draws the curves of --robustness: give both, or neither.")
        if plot.suffix not in (".svg", ".png", ".pdf"):
            raise ValueError(f"--plot writes .svg, .png or .pdf, got {plot.name!r}.")
        check_file(plot)
    classifier, reading = _loaded(model, target, case, time_column)
    data = own_data(file, reading)
    assert data.labels is not None
    refuse_unknown(data.labels, classifier.classes_, data.file)
    predicted = classifier.predict(data.X)
    truth = data.labels.astype(classifier.classes_.dtype)
    right = int((predicted == truth).sum())
    found: dict[str, Any] = {
        "series": len(data),
        "accuracy": right / len(data),
        "interval": list(interval(right, len(data))),
        "recall": {
            str(name): float((predicted[truth == name] == name).mean())
            for name in classifier.classes_
            if (truth == name).any()
        },
    }
    if robustness:
        measured = classifier.robustness(data.X, truth)
        found["robustness"] = measured.as_dict()
        if plot is not None:
            _draw(measured, plot)
    if as_json:
        typer.echo(json.dumps(found))
    elif not quiet:
        low, high = found["interval"]
        typer.echo(f"accuracy {found['accuracy']:.3f} (95 % interval {low:.3f} to {high:.3f}) on {len(data)} series")
        for name, value in found["recall"].items():
            typer.echo(f"  {name:<24}{value:.3f} of its series are found")
        if robustness:
            typer.echo(f"\nAccuracy, %, by kind of fault and its level:\n{measured}")


def _loaded(
    model: Path, target: str | None, case: str | None, time_column: str | None
) -> tuple[NoisyRNNClassifier, Reading]:
    """The classifier, and how its files are read: as in training, unless told otherwise."""
    from noisyrnn.estimator import NoisyRNNClassifier
    from noisyrnn.estimator.own_files import Reading

    classifier = NoisyRNNClassifier.load(model)
    before = classifier.measured_.get("reading")
    known = (
        {name: value for name, value in before.items() if isinstance(value, str)} if isinstance(before, dict) else {}
    )
    gaps = classifier.missing is not None
    chosen = target or known.get("target"), case or known.get("id"), time_column or known.get("time")
    return classifier, Reading(*chosen, gaps=gaps)


def _draw(measured: Any, path: Path) -> None:
    import io

    from noisyrnn.disk import save

    buffer = io.BytesIO()
    measured.plot().figure.savefig(buffer, format=path.suffix[1:])
    save(path, buffer.getvalue())


def _table(labels: list[str], names: list[str], probabilities: list[list[float]] | None) -> str:
    """Answers as CSV."""
    import csv
    import io

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["series", "class", *(f"p({name})" for name in names if probabilities)])
    for index, label in enumerate(labels):
        row = [] if probabilities is None else [f"{value:.6f}" for value in probabilities[index]]
        writer.writerow([index + 1, label, *row])
    return buffer.getvalue().rstrip("\n")
