"""Measure what words of the paper could have meant: accuracies under each reading, and how far they are from its."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from networks import arguments, first_images, model_of, networks_of
from torch import Tensor, nn

from noisyrnn.data import Split
from noisyrnn.evaluate import accuracy
from noisyrnn.experiments.place import write_json
from noisyrnn.paper import printed

Accuracies = dict[str, dict[str, float]]
"""In percent, by reading and level; level 0 is for undisturbed images."""


def distance(found: dict[str, float], paper: dict[str, float], measure: str) -> float | None:
    """Mean difference from the paper's accuracies without sign, in points; none for undisturbed images.

    >>> distance({"0.1": 90.0, "0.2": 80.0}, {"white:0.1": 91.0, "white:0.2": 77.0}, "white")
    2.0
    """
    if "0" in found:
        return None
    return sum(abs(value - paper[f"{measure}:{level}"]) for level, value in found.items()) / len(found)


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
    about: str | None,
    out: str,
    samples: int,
    table: str,
    measure: str,
) -> None:
    """Print and write the accuracies of each named run under each reading; ``measured`` is given the other networks."""
    given = arguments(about, out, samples=samples).parse_args()
    images, networks, paper = first_images(given.samples), networks_of(given.runs), printed(table)
    found: dict[str, dict[str, object]] = {}
    for label, network in networks.items():
        print(label)
        others = {name: other for name, other in networks.items() if name != label}
        for name, row in measured(network, images, others).items():
            row = {level: round(value, 1) for level, value in row.items()}
            away = distance(row, paper[model_of(label)], measure)
            found.setdefault(label, {})[name] = {"accuracy": row, "distance": away}
            print(f"  {name:40} " + "  ".join(f"{level}: {value:5.1f}" for level, value in row.items()), end="")
            print("" if away is None else f"  {away:5.1f} from the paper")
    write_json(given.out, {"samples": given.samples, "found": found})
