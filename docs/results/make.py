"""Fill in every number that README.md quotes, from the files beside it.

    python docs/results/make.py            rewrite the numbers between their marks
    python docs/results/make.py --check    fail if a quoted number is stale

The files are made by the commands that README.md names: report.json from the rows of all runs, the others from saved
networks.
"""

from __future__ import annotations

import itertools
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
from marks import settle
from networks import model_of

HERE = Path(__file__).parent

Numbers = Iterator[tuple[str, str]]
NOISY, PLAIN = "nrnn mult 0.03 add 0.06", "lipschitz"
DIGITS = {"lipschitz": "plain", "nrnn mult 0.02 add 0.05": "noisy", "nrnn mult 0.02 add 0.02": "less"}
DIGITS |= {name: name for name in ("antisymmetric", "cornn", "exprnn")}


CURVED = {PLAIN: "plain", "nrnn mult 0 add 0": "silent", NOISY: "noisy", "nrnn mult 0.02 add 0.05": "noisy"}


def read(name: str) -> Any:
    return json.loads((HERE / name).read_text())


def cells(table: str, epochs: int = 100) -> dict[tuple[str, str, float], dict[str, Any]]:
    """The cells of a table by model, measure and level."""
    return {
        (cell["model"], cell["measure"], cell["level"]): cell
        for cell in read("report.json")["tables"]
        if cell["table"] == table and cell["seeds"] and cell["epochs"] == str(epochs)
    }


def mean(table: str, model: str, measure: str = "clean", level: float = 0.0) -> float:
    return float(cells(table)[model, measure, level]["mean"])


def heart_beats() -> Numbers:
    table = cells("table-3")
    for level in (0.8, 1.2):
        ahead = table[NOISY, "multiplicative", level]["paper"] - table[PLAIN, "multiplicative", level]["paper"]
        yield f"ecg.paper.ahead.{level}", f"{ahead:.1f}"
    for name, model in {"plain": PLAIN, "noisy": NOISY, "input": "lipschitz input noise 0.8"}.items():
        yield f"ecg.{name}.white.1.2", f"{table[model, 'white', 1.2]['mean']:.1f}"
    yield "ecg.cornn.prescribed", f"{mean('baseline-search', 'cornn draw 0'):.1f}"


TASKS = {
    "mnist": ("table-1", "table-2", "table-2-pgd"),
    "permuted": ("table-5",),
    "raw": ("table-5-raw",),
    "scaled": ("table-5-raw-scaled",),
}


def digits() -> Numbers:
    """Accuracies as <task>.<model>.<epochs>.<measure>.<level>, of the models that the text compares."""
    for task, tables in TASKS.items():
        for table, epochs in itertools.product(tables, (10, 20, 30, 100)):
            for (model, measure, level), cell in cells(table, epochs).items():
                if name := DIGITS.get(model):
                    key = measure.replace(" ", "-") + (f".{level:g}" if level else "")
                    yield f"{task}.{name}.{epochs}.{key}", f"{cell['mean']:.1f}"
                    if cell["paper"] is not None:
                        yield f"{task}.{name}.paper.{key}", f"{cell['paper']:.1f}"


def ahead() -> Numbers:
    """By how much the noisy RNN leads after 100 epochs, and how far its clipped FGSM and the plain one's are off."""
    table = cells("table-1") | cells("table-2")
    names = {name: model for model, name in DIGITS.items()}
    for measure, level in (("white", 0.3), ("fgsm", 0.1)):
        lead = table[names["noisy"], measure, level]["mean"] - table[names["plain"], measure, level]["mean"]
        yield f"mnist.ahead.{measure}.{level:g}", f"{lead:.1f}"
    for name in ("noisy", "plain"):
        clipped = [
            cell for (model, measure, _), cell in table.items() if (model, measure) == (names[name], "fgsm clipped")
        ]
        away = sum(abs(cell["mean"] - cell["paper"]) for cell in clipped) / len(clipped)
        yield f"fgsm.{name}.all.away", f"{away:.1f}"


FGSM = {"plain": "x + r sign(g)", "clipped": "clipped to [0, 1]", "standardised": "r on standardised pixels",
        "margin": "g of the logit margin", "largest": "g / max|g|"}  # fmt: skip
WHITES = {"printed": "as printed", "clipped": "clipped to [0, 1]", "uniform": "uniform in [0, sigma]",
          "both": "uniform in [-sigma, sigma]"}  # fmt: skip
IMPULSES = {"printed": "as printed", "salt": "salt only", "each": "alpha each", "negative": "pepper is -1"}


def readings(words: str, known: dict[str, str], found: dict[str, Any], model: str) -> Numbers:
    """Accuracies of a model as <words>.<model>.<reading>.<level>, and how far they are from the paper."""
    for key, reading in known.items():
        yield f"{words}.{model}.{key}.away", f"{found[reading]['distance']:.1f}"
        for level, accuracy in found[reading]["accuracy"].items():
            yield f"{words}.{model}.{key}.{level}", f"{accuracy:.1f}"


def attacks() -> Numbers:
    for network, found in read("attacks.json")["found"].items():
        (transfer,) = [reading for reading in found if " after " in reading]
        yield from readings("fgsm", {**FGSM, "transfer": transfer}, found, DIGITS[model_of(network)])


def noises() -> Numbers:
    """Readings of both noises, and how far each is from the paper on average over the networks."""
    for words, known in {"whites": WHITES, "impulses": IMPULSES}.items():
        networks = read(f"{words}.json")["found"]
        for network, found in networks.items():
            yield from readings(words, known, found, DIGITS[model_of(network)])
        for key, reading in known.items():
            away = statistics.mean(found[reading]["distance"] for found in networks.values())
            yield f"{words}.all.{key}.away", f"{away:.1f}"


def scales() -> Numbers:
    """What pixels and noise do to units, as scales.<unit|raw>.<model>.<quantity>."""
    for network, found in read("scales.json").items():
        label, _, scale = network.rpartition(", ")
        for key, value in found.items():
            yield f"scales.{scale}.{DIGITS[model_of(label)]}.{key}", f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def exponential() -> Numbers:
    """How far the exponential RNN on permuted pixels in [0, 1] is from the paper under white noise, at most."""
    table = cells("table-5", 20)
    found = [cell for (model, measure, _), cell in table.items() if (model, measure) == ("exprnn", "white")]
    yield "exprnn.white.away", f"{max(abs(cell['mean'] - cell['paper']) for cell in found):.1f}"


def falls() -> Numbers:
    """Points lost from clean images, as falls.<task>.<model>.<paper|printed|other>.<measure>.<level>."""
    other = {"white": "uniform", "salt-pepper": "salt"}
    for task, table in {"permuted": "table-5", "raw": "table-5-raw"}.items():
        printed, reread = cells(table, 20), cells(f"{table}-readings", 20)
        for (model, measure, level), cell in printed.items():
            if model in DIGITS and measure != "clean" and (model, other[measure], level) in reread:
                clean, key = printed[model, "clean", 0.0], f"{measure}.{level:g}"
                lost = {
                    "paper": clean["paper"] - cell["paper"],
                    "printed": clean["mean"] - cell["mean"],
                    "other": clean["mean"] - reread[model, other[measure], level]["mean"],
                }
                for reading, points in lost.items():
                    yield f"falls.{task}.{DIGITS[model]}.{reading}.{key}", f"{points:z.1f}"


def leftover() -> Numbers:
    found = read("leftover.json")
    yield "leftover.before", f"{found['before']:.2f}"
    for size, after in found["after"].items():
        for key, loss in after.items():
            yield f"leftover.{size}.{key}", f"{loss:.2f}"


def certified() -> Numbers:
    """Certified accuracies as certified.<model>.<noise>.<radius>."""
    for network, found in read("certified.json")["found"].items():
        name = DIGITS[model_of(network)]
        for sigma, accuracies in found.items():
            for radius, accuracy in accuracies.items():
                yield f"certified.{name}.{sigma}.{radius}", f"{accuracy:.1f}"


def curvature() -> Numbers:
    """Of the loss around networks: of one group of samples as hessian.<network>, of several as curvature.<task>."""
    for row in read("hessian.json")["rows"]:
        for key, name in {"top": "\u03bb1", "trace": "trace", "error": "standard error"}.items():
            yield f"hessian.{row['network']}.{key}", f"{row[name]:.3g}"
    for task, networks in read("curvature.json")["found"].items():
        named = {CURVED[model_of(network)]: found for network, found in networks.items()}
        for name, found in named.items():
            for quantity, values in found.items():
                key, less = f"{task}.{name}.{quantity}", named["silent" if "silent" in named else "plain"][quantity]
                yield from with_error(f"curvature.{key}", values)
                yield from with_error(f"curvature.{key}.ahead", [a - b for a, b in zip(values, less, strict=True)])


def with_error(key: str, values: list[float]) -> Numbers:
    """The mean over groups of samples, and its standard error."""
    yield key, f"{statistics.mean(values):.0f}".replace("-", "−")
    yield f"{key}.error", f"{statistics.stdev(values) / len(values) ** 0.5:.0f}"


def ablation() -> Numbers:
    both = [mean("ablation", f"nrnn mult {level} add {level}") for level in (0.01, 0.03, 0.06, 0.1)]
    yield "ablation.both.least", f"{min(both):.1f}"
    yield "ablation.both.most", f"{max(both):.1f}"
    for level in (0, 0.01, 0.06):
        yield f"ablation.white.{level}", f"{mean('ablation', f'nrnn mult {level} add {level}', 'white', 1.2):.1f}"
    for level in (0.2, 0.4, 0.8):
        yield f"ablation.additive.{level}", f"{mean('ablation', f'nrnn mult 0 add {level}'):.1f}"
    yield "ablation.additive.white", f"{mean('ablation', 'nrnn mult 0 add 0.4', 'white', 1.2):.1f}"
    yield "ablation.multiplicative", f"{mean('ablation', 'nrnn mult 0.2 add 0'):.1f}"
    for name, found in read("bias.json").items():
        for factor, accuracy in found.items():
            yield f"bias.{name}.{factor}", f"{accuracy:.1f}"
    scores: dict[str, float] = {}
    for (model, _, _), cell in cells("noise-search-ecg").items():
        scores[model] = scores.get(model, 0.0) + cell["mean"]
    _, _, multiplicative, _, additive = max(scores, key=lambda model: scores[model]).split()
    yield "search.multiplicative", multiplicative
    yield "search.additive", additive


def explanation() -> Numbers:
    """R.<network>, correlation.<quantity> and more for heart beats, the same behind "digits." for digits."""
    beats = {"plain": PLAIN, "noisy": NOISY, "more": "nrnn mult 0.03 add 0.1", "input": "lipschitz input noise 0.8"}
    yield from explained("", read("explanation.json"), {name: (model, 100) for name, model in beats.items()})
    digits = {f"{DIGITS[model]}.{epochs}": (model, epochs) for model in list(DIGITS)[:2] for epochs in (10, 30, 100)}
    yield from explained("digits.", read("explanation-mnist.json"), digits)


def explained(prefix: str, found: dict[str, Any], named: dict[str, tuple[str, int]]) -> Numbers:
    R = {(row["network"], row["epochs"]): row["per_step_R"] for row in found["rows"]}
    for name, who in named.items():
        yield f"{prefix}R.{name}", f"{R[who]:.1f}" if R[who] < 10 else f"{R[who]:.0f}"  # two digits or more
    for quantity in ("per_step_R", "exponent", "certified", "attacked"):
        correlation = found["facts"][f"rank correlation of {quantity} with disturbed accuracy"]
        yield f"{prefix}correlation.{quantity}", f"{correlation:+.2f}".replace("-", "−")
    certified = [row["certified"] for row in found["rows"] if row["certified"]]
    yield f"{prefix}certified.most", f"{max(certified):.0e}"
    yield f"{prefix}certified.least", f"{min(certified):.0e}"
    ratios = [row["attacked"] / row["certified"] for row in found["rows"] if row["certified"]]
    yield f"{prefix}ratio.least", f"{min(ratios):.0f}"
    yield f"{prefix}ratio.most", f"{max(ratios):.0f}"
    yield f"{prefix}networks", str(found["facts"]["networks"])


SECTIONS = (
    heart_beats,
    digits,
    ahead,
    attacks,
    noises,
    scales,
    exponential,
    falls,
    leftover,
    curvature,
    certified,
    ablation,
    explanation,
)


def main() -> None:
    numbers = {key: value for section in SECTIONS for key, value in section()}
    settle(HERE / "README.md", numbers, check="--check" in sys.argv[1:])


if __name__ == "__main__":
    main()
