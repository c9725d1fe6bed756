"""Measure what words of the paper could have meant: accuracies under each reading, and how far they are from its."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from command import arguments, keep
from networks import network, run_of
from torch import Tensor, nn

from noisyrnn.data import MNIST, Split, load
from noisyrnn.evaluate import accuracy
from noisyrnn.experiments import experiment

Accuracies = dict[str, dict[str, float]]
"""In percent, by reading and level; level 0 is for undisturbed images."""

SIX = (
    "ordered-mnist/lipschitz-100-epochs-seed-0",
    "ordered-mnist/noisy-0.02-0.05-100-epochs-seed-0",
    "ordered-mnist/noisy-0.02-0.02-30-epochs-seed-0",
    "ordered-mnist/cornn-30-epochs-seed-0",
    "ordered-mnist/exprnn-30-epochs-seed-0",
    "ordered-mnist/antisymmetric-30-epochs-seed-0",
)
"""One network for each row of the paper's table 1."""


def distance(found: dict[str, float], paper: dict[str, float], measure: str) -> float | None:
    """Mean difference from the paper's accuracies without sign, in points; none for undisturbed images.

    >>> distance({"0.1": 90.0, "0.2": 80.0}, {"white:0.1": 91.0, "white:0.2": 77.0}, "white")
    2.0
    """
    if "0" in found:
        return None
    return sum(abs(value - paper[f"{measure}:{level}"]) for level, value in found.items()) / len(found)


def first_images(samples: int) -> Split:
    """The first test images of MNIST."""
    test = load(MNIST()).test
    return Split(x=test.x[:samples], y=test.y[:samples])


def papers_row(name: str, table: str) -> dict[str, float]:
    """The paper's accuracies of the model that the named network is of, by measure and level."""
    model, about = run_of(name).model, experiment(table)
    for label, recipe in about.recipes.items():
        if recipe.model == model and about.printed is not None and label in about.printed.lines:
            numbers = zip(about.printed.columns, about.printed.lines[label], strict=True)
            return {f"{measure}:{level:g}": number for (measure, level), number in numbers}
    raise SystemExit(f"The paper's {table} has no row for {name}; name another network.")


def accuracies(
    network: nn.Module, images: Split, levels: Iterable[float], disturbed: Mapping[str, Callable[[float], Tensor]]
) -> Accuracies:
    """Accuracy under each reading, a function from a level to the disturbed images, at each level."""
    return {
        name: {f"{level:g}": accuracy(network, Split(x=at(level), y=images.y)) for level in levels}
        for name, at in disturbed.items()
    }


def compare(
    measured: Callable[[nn.Module, Split, dict[str, nn.Module]], Accuracies],
    *,
    script: str,
    about: str | None,
    networks: Sequence[str],
    samples: int,
    table: str,
    measure: str,
) -> None:
    """Print and write the accuracies of each network under each reading; ``measured`` is given the other networks."""
    parser = arguments(script, about, networks)
    parser.add_argument("--samples", type=int, default=samples, help="test images, from the first")
    given = parser.parse_args()
    images = first_images(given.samples)
    papers = {name: papers_row(name, table) for name in given.networks}
    loaded: dict[str, nn.Module] = {name: network(name) for name in given.networks}
    found: dict[str, dict[str, object]] = {}
    for name, one in loaded.items():
        print(name)
        others = {other: lent for other, lent in loaded.items() if other != name}
        for reading, exact in measured(one, images, others).items():
            row = {level: round(value, 1) for level, value in exact.items()}
            away = distance(row, papers[name], measure)
            found.setdefault(name, {})[reading] = {"accuracy": row, "distance": away}
            print(f"  {reading:40} " + "  ".join(f"{level}: {value:5.1f}" for level, value in row.items()), end="")
            print("" if away is None else f"  {away:5.1f} from the paper", flush=True)
    keep(given.out, {"samples": given.samples, "found": found})
