"""A leaderboard of classifiers under sensor faults: python studies/audit_archive.py [SET ...] [--models 'A;B'] [--list]

Each classifier is trained on clean series, and on clean series with disturbed copies; then its figure for a group of
faults (value, availability, timing) is that of a training without this group. Goes on where it was stopped; rows are
appended to studies/audit_archive.jsonl. Needs aeon (make leaderboard installs it).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from small_networks import FCN, LSTM, Network

import noisyrnn
from noisyrnn import __version__
from noisyrnn.auditing import Audit, audit
from noisyrnn.auditing.budget import Budget
from noisyrnn.perturb import Group, Spread, severities
from noisyrnn.randomness import stream
from noisyrnn.rows import Description, Row, rows_in

ROWS = Path(__file__).with_suffix(".jsonl")
EXPERIMENT = "audit-archive"
SETS = ("ItalyPowerDemand", "GunPoint", "BasicMotions", "ArrowHead", "OSULeaf")
REFERENCE = "1-nn euclidean"
CLEAN, AUGMENTED, OWN = "clean", "leave one group out", "own faults"
BUDGET = Budget(name="faults", series=200, attacked=0, radii=(0.1,), steps=1, queries=1, smoothed=0, draws=1)
COPIES, MOST = 8, 400  # disturbed copies of a training series, fewer where that makes more rows than MOST


def models() -> dict[str, Callable[[], Any]]:
    """Classifiers by name, unfitted, each with its usual settings; nothing is tuned."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    def minirocket() -> Any:
        from aeon.classification.convolution_based import MiniRocketClassifier

        return MiniRocketClassifier(random_state=0)

    def dtw() -> Any:
        from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier

        return KNeighborsTimeSeriesClassifier(distance="dtw", distance_params={"window": 0.1})

    def logistic() -> Any:
        return make_pipeline(FunctionTransformer(_flat), StandardScaler(), LogisticRegression(max_iter=2000))

    def ours() -> Any:
        return noisyrnn.NoisyRNNClassifier(faults=None, random_state=0)

    def ours_default() -> Any:
        return noisyrnn.NoisyRNNClassifier(random_state=0)

    return {
        "minirocket": minirocket,
        "1-nn dtw": dtw,
        "logistic regression": logistic,
        "fcn": lambda: Network(FCN),
        "lstm": lambda: Network(LSTM),
        "noisy rnn": ours,
        "noisy rnn, own faults": ours_default,
    }


def _flat(X: NDArray[Any]) -> NDArray[Any]:
    return X.reshape(len(X), -1)


def series(name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Training and test series of a set that comes with aeon."""
    import aeon.datasets
    from aeon.datasets import load_classification

    place = str(Path(aeon.datasets.__file__).parent / "data")
    found = [load_classification(name, split=part, extract_path=place) for part in ("train", "test")]
    return (*found[0], *found[1])


def disturbed_copies(
    x: NDArray[Any], y: NDArray[Any], without: Group, seed: int = 0
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Clean series first, then copies, each with a fault of another group than ``without`` at a drawn severity.

    >>> x, y = np.random.default_rng(0).normal(size=(5, 1, 20)), np.arange(5)
    >>> more, labels = disturbed_copies(x, y, Group.VALUE)
    >>> len(more), labels[5:10].tolist(), bool((more[:5] == x).all())
    (45, [0, 1, 2, 3, 4], True)
    """
    turned = torch.from_numpy(np.ascontiguousarray(x.transpose(0, 2, 1)))
    spread = Spread.of(turned)
    table = [one for one in severities().values() if one.group is not without and one.channels <= turned.shape[2]]
    copies = min(COPIES, max(1, MOST // len(x)))
    generator = stream("audit archive", "copies", seed)
    rows = [turned]
    for _ in range(copies):
        which = torch.randint(len(table), (len(x),), generator=generator)
        level = torch.randint(1, 6, (len(x),), generator=generator)
        copy = turned.clone()
        for index in range(len(x)):
            fault = table[int(which[index])].at(int(level[index]))
            copy[index : index + 1] = spread.disturbed(fault, turned[index : index + 1], generator)
        rows.append(copy)
    return torch.cat(rows).numpy().transpose(0, 2, 1), np.concatenate([y] * (1 + copies))


def trainings(name: str) -> list[str]:
    """How a model is trained."""
    return [OWN] if name.endswith("own faults") else [CLEAN, AUGMENTED]


def measured(data: str, model: str, training: str) -> Iterator[Row]:
    """Rows of one model on one set: clean, and the mean over severities of every fault."""
    x, y, test_x, test_y = series(data)
    build = models()[model]
    began = monotonic()
    if training == AUGMENTED:
        table = severities()
        for group in Group:
            names = [fault.name for fault in table.values() if fault.group is group]
            more, labels = disturbed_copies(x, y, group)
            found = audit({model: build().fit(more, labels)}, test_x, test_y, faults=names, train=(x, y), budget=BUDGET)
            yield from _rows(found, model, data, model, training, f"without {group.value}", monotonic() - began)
        return
    found = audit({model: build().fit(x, y)}, test_x, test_y, train=(x, y), budget=BUDGET)
    yield from _rows(found, model, data, model, training, "", monotonic() - began)
    if model == "logistic regression":  # the reference is the same for all
        yield from _rows(found, found.reports[-1].name, data, REFERENCE, CLEAN, "", 0.0)


def _rows(found: Audit, name: str, data: str, model: str, training: str, part: str, seconds: float) -> Iterator[Row]:
    report = found[name]
    if report.failed or report.complaints or report.clean is None:
        raise SystemExit(f"{model} on {data}: {report.failed or report.complaints}")
    values = {"clean": report.clean.accuracy.value} | {name: one.value for name, one in report.by_fault.items()}
    key = hashlib.sha256("|".join([EXPERIMENT, data, model, training, part]).encode()).hexdigest()[:12]
    for measure, value in values.items():
        yield Row(
            experiment=EXPERIMENT,
            model=model,
            description=Description(kind=model, variant=", ".join(filter(None, [training, part]))),
            key=key,
            seed=0,
            epochs=0,
            protocol="ours",
            task=data.lower(),
            data={"kind": "aeon", "name": data, "seen": measure in report.seen},
            measure=measure,
            value=round(100 * value, 4),
            samples=found.conditions.cases,
            version=__version__,
            host=platform.machine(),
            seconds=round(seconds, 1),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def done(path: Path) -> set[tuple[str, str, str]]:
    """What is finished: set, model and training."""
    rows = rows_in(path)[0] if path.exists() else []
    parts: dict[tuple[str, str, str], set[str]] = {}
    for row in rows:
        training = row.description.variant.partition(", without")[0]
        parts.setdefault((row.task, row.model, training), set()).add(row.description.variant)
    return {one for one, found in parts.items() if len(found) == (len(Group) if one[2] == AUGMENTED else 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS, help="sets that come with aeon; default: all five")
    parser.add_argument("--models", default="", help="only these, by name, with ; between them")
    parser.add_argument("--training", choices=[CLEAN, AUGMENTED, OWN], help="only this training")
    parser.add_argument("--out", type=Path, default=ROWS)
    parser.add_argument("--list", action="store_true", help="say what is missing, and do nothing")
    given = parser.parse_args()
    wanted = [name.strip() for name in given.models.split(";")] if given.models else list(models())
    for data in given.sets:
        for model in wanted:
            for training in trainings(model):
                if given.training not in (None, training) or (data.lower(), model, training) in done(given.out):
                    continue
                print(f"{data}: {model}, {training}", flush=True)
                if given.list:
                    continue
                lines = [row.model_dump_json(exclude_defaults=True) for row in measured(data, model, training)]
                # All rows of a training at once: what is torn is measured again.
                with given.out.open("a", encoding="utf-8") as stream_:
                    stream_.write("\n".join(lines) + "\n")
                    stream_.flush()
                    os.fsync(stream_.fileno())


if __name__ == "__main__":
    main()
