"""``audit``: any classifiers, one test set, one result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch

from noisyrnn import __version__
from noisyrnn.auditing.answerers import Estimator, Misbehaviour, answerer
from noisyrnn.auditing.audit_result import Audit
from noisyrnn.auditing.budget import Budget
from noisyrnn.auditing.budget import budget as _budget
from noisyrnn.auditing.cells import Kept, Question, Sheet, answer_sheets
from noisyrnn.auditing.declared import declared
from noisyrnn.auditing.examined import Examined, examined, plain_label
from noisyrnn.auditing.findings import Conditions, Difference, Figure, Report
from noisyrnn.auditing.reference import NAME, NearestNeighbour
from noisyrnn.auditing.reporting import Yardstick, report_of
from noisyrnn.auditing.scores import Resamples, correct
from noisyrnn.auditing.series import Series, read_series
from noisyrnn.data import stratified
from noisyrnn.perturb import Graded, Spread, severities

Told = Callable[[str, int], None]


def audit(
    classifiers: Any,
    X: Any,
    y: Any,
    *,
    train: tuple[Any, Any] | None = None,
    preset: str = "standard",
    faults: Sequence[str] | None = None,
    budget: str | Budget = "standard",
    seen: Mapping[str, Sequence[str]] | None = None,
    classes: Sequence[Any] | None = None,
    seed: int = 0,
    patience: float = 3600.0,
    cache: str | Path | None = None,
    progress: bool = False,
) -> Audit:
    """How classifiers fare under sensor faults, under attack, and what can be certified of them.

    Parameters
    ----------
    classifiers
        One, a list, or a dict by name: anything with ``predict_proba`` or ``predict``, a torch module (logits), the
        path of an ONNX file or of a saved model.
    X, y
        Test series, (case, time), (case, channel, time) or a list of (channel, time), and their classes.
    train
        Training series and classes: the unit of severities and the reference, 1-NN by Euclidean distance, come from
        them; without them the unit is the test set's, and there is no reference.
    preset, faults
        The table of ``perturb.severities``: "standard", "ecg" or "all"; and which of its faults, all by default.
    budget
        "quick", "standard", "thorough", or a ``Budget``.
    seen
        Faults that a classifier was trained with, by its name, where it does not say so itself.
    classes
        What the columns of a torch module or an ONNX file mean; the sorted classes of y (and of ``train``) by default.
    seed
        The same seed gives the same numbers.
    patience
        Seconds after which a classifier is asked about no more faults.
    cache
        A directory in which answers are kept: an interrupted audit goes on from there.
    progress
        Show a bar.

    Returns
    -------
    Audit

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> X = np.sin((1 + y)[:, None] * np.linspace(0, 6.28, 40)) + 0.3 * rng.normal(size=(60, 40))
    >>> found = audit(LogisticRegression().fit(X[:30], y[:30]), X[30:], y[30:], faults=["noise"], budget="quick")
    >>> found["LogisticRegression"].clean.accuracy.value, found["LogisticRegression"].worst_fault
    (1.0, 'noise')
    >>> found.failing("clean >= 0.9", "noise@5 >= 1.01")
    ['LogisticRegression: noise@5 >= 1.01 fails: it is ...']
    """
    spent = _budget(budget)
    series, names, truth, trained = _data(X, y, train, classes)
    table = _table(preset, faults, series.channels)
    chosen = _chosen(truth, spent.series, seed)
    of = len(series)
    series, truth = series.part(chosen), truth[chosen]
    unit = Spread.of(*(trained[0].x, trained[0].lengths) if trained else (series.x, series.lengths))
    question = Question(series=series, y=truth, spread=unit, table=table, seed=seed)
    found, failed = _examined(_named(classifiers), series, names, seen or {})
    if trained is not None and _comparable(trained[0], series):
        found.append(_reference(trained, names, series))
    sheets: list[Sheet] = []
    attackable = {one.name: one.asked.probabilities and one.name != NAME for one in found}
    cells = len(question.places())
    total = sum(spent.calls(len(series), cells, attackable=attackable[one.name]) for one in found)
    with _bar(progress, total) as told:
        kept = Kept(None if cache is None else Path(cache), question)
        sheets = answer_sheets(found, question, kept, patience=patience, told=lambda one, calls: told(one.name, calls))
        yardstick = _yardstick(sheets, question)
        resamples = Resamples(len(series), seed)
        reports = [
            report_of(sheet, question, spent, resamples, yardstick=yardstick, told=told, patience=patience, kept=kept)
            for sheet in sheets
        ]
    order = {name: place for place, name in enumerate([*_named(classifiers), NAME])}
    conditions = Conditions(
        version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=seed,
        preset=str(preset),
        budget=spent.model_dump(mode="json"),
        cases=len(series),
        of=of,
        channels=series.channels,
        steps=series.x.shape[1],
        unequal=series.lengths is not None,
        classes=names,
        faults={name: graded.group.value for name, graded in table.items()},
        spread="training" if trained else "test",
        reference=NAME if yardstick else "",
        data=series.fingerprint,
    )
    reports = sorted([*reports, *failed], key=lambda one: order[one.name])
    return Audit(conditions=conditions, reports=tuple(reports), differences=_differences(sheets, question, resamples))


def _data(
    X: Any, y: Any, train: tuple[Any, Any] | None, classes: Sequence[Any] | None
) -> tuple[Series, tuple[str, ...], np.ndarray, tuple[Series, list[str]] | None]:
    """Series, names of classes, the true ones as indices, and the training data."""
    series, labels = read_series(X), _labels(y, "y")
    if len(labels) != len(series):
        raise ValueError(f"y must name one class for each of the {len(series)} series of X, got {len(labels)}.")
    trained = None
    if train is not None:
        trained = read_series(train[0], what="train[0]"), _labels(train[1], "train[1]")
        if len(trained[1]) != len(trained[0]):
            raise ValueError(f"train has {len(trained[0])} series and {len(trained[1])} classes: give one for each.")
        if trained[0].channels != series.channels:
            raise ValueError(f"train has {trained[0].channels} channels and X {series.channels}: give the same.")
    known = {*labels, *(trained[1] if trained else ())}
    names = tuple(map(plain_label, classes)) if classes is not None else tuple(_in_order(known))
    strangers = sorted(known - set(names))
    if strangers:
        raise ValueError(f"y has the class {strangers[0]!r}, which classes= does not name: add it.")
    position = {name: index for index, name in enumerate(names)}
    return series, names, np.array([position[label] for label in labels], np.int64), trained


def _labels(y: Any, what: str) -> list[str]:
    array = y.detach().cpu().numpy() if isinstance(y, torch.Tensor) else np.asarray(y)
    if array.ndim != 1:
        raise ValueError(f"{what} must be one class for each series, got shape {array.shape}.")
    return [plain_label(one) for one in array.tolist()]


def _in_order(names: set[str]) -> list[str]:
    """Numbers as numbers, the rest as text."""
    try:
        return sorted(names, key=float)
    except ValueError:
        return sorted(names)


def _table(preset: str, faults: Sequence[str] | None, channels: int) -> dict[str, Graded]:
    table = severities(preset)
    unknown = [name for name in faults or () if name not in table]
    if unknown:
        raise ValueError(f"The table {preset!r} has no fault {unknown[0]!r}: there are {', '.join(table)}.")
    wanted = table if faults is None else {name: table[name] for name in table if name in faults}
    possible = {name: graded for name, graded in wanted.items() if graded.channels <= channels}
    if not possible:
        raise ValueError("None of these faults can happen to these series: name others.")
    return possible


def _chosen(truth: np.ndarray, most: int | None, seed: int) -> np.ndarray:
    """All series in order, or so many drawn class by class."""
    if most is None or len(truth) <= most:
        return np.arange(len(truth))
    part, _, _ = stratified(truth, (most, 0, 0), seed)
    return np.sort(part)


def _named(classifiers: Any) -> dict[str, Any]:
    """Classifiers by name; without names, by what they are."""
    if isinstance(classifiers, Mapping):
        return {str(name): one for name, one in classifiers.items()}
    single = isinstance(classifiers, (str, Path)) or not isinstance(classifiers, Sequence)
    named: dict[str, Any] = {}
    for one in [classifiers] if single else classifiers:
        name = Path(one).stem if isinstance(one, (str, Path)) else type(one).__name__
        number = 2
        unique = name
        while unique in named:
            unique, number = f"{name} {number}", number + 1
        named[unique] = one
    if not named:
        raise ValueError("An audit needs at least one classifier.")
    return named


def _examined(
    named: Mapping[str, Any], series: Series, names: tuple[str, ...], seen: Mapping[str, Sequence[str]]
) -> tuple[list[Examined], list[Report]]:
    """The classifiers that take these series, and a report of why for each that does not."""
    strangers = [name for name in seen if name not in named]
    if strangers:
        raise ValueError(f"seen= names {strangers[0]!r}, which is none of {', '.join(named)}.")
    found, failed = [], []
    for name, told in named.items():
        asked = answerer(told)
        try:
            found.append(examined(name, asked, series, names, seen.get(name, declared(getattr(asked, "told", told)))))
        except Misbehaviour as error:
            failed.append(Report(name=name, kind=asked.kind, failed=str(error)))
    return found, failed


def _comparable(train: Series, series: Series) -> bool:
    return train.lengths is None and series.lengths is None and train.x.shape[1:] == series.x.shape[1:]


def _reference(trained: tuple[Series, list[str]], names: tuple[str, ...], series: Series) -> Examined:
    return examined(NAME, Estimator(NearestNeighbour(trained[0], np.array(trained[1]))), series, names, ())


def _yardstick(sheets: list[Sheet], question: Question) -> Yardstick | None:
    for sheet in sheets:
        if sheet.one.name == NAME and not sheet.stopped:
            errors = {place: 1 - float(correct(found, question.y).mean()) for place, found in sheet.cells.items()}
            return Yardstick(clean=1 - float(correct(sheet.clean, question.y).mean()), errors=errors)
    return None


def _differences(sheets: list[Sheet], question: Question, resamples: Resamples) -> tuple[Difference, ...]:
    """Paired, over the faults that both were asked about; the better one first."""
    found = []
    for first, second in combinations([one for one in sheets if one.one.name != NAME], 2):
        places = [place for place in first.cells if place in second.cells]
        if not places:
            continue
        gap = np.mean(
            [
                correct(first.cells[place], question.y).astype(float) - correct(second.cells[place], question.y)
                for place in places
            ],
            axis=0,
        )
        a, b = (first, second) if gap.mean() >= 0 else (second, first)
        gap = gap if a is first else -gap
        low, high = resamples.interval(gap)
        figure = Figure(value=float(gap.mean()), low=low, high=high)
        found.append(Difference(better=a.one.name, worse=b.one.name, points=figure))
    return tuple(found)


def _bar(wanted: bool, total: int) -> AbstractContextManager[Told]:
    if not wanted:
        return nullcontext(lambda name, calls: None)
    from noisyrnn.auditing.progress import bar

    return bar(total)
