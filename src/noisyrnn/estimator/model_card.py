"""A model card in Markdown: what a saved classifier is for, how it was made, and what was measured of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisyrnn.estimator.saving import Saved


def model_card(about: Saved) -> str:
    """The card of a classifier."""
    network, training, prepared = about.network, about.training, about.preparation
    front = network.front_end
    stem = "none" if front is None else f"convolution of width {front.width}, stride {front.stride}"
    faults = "none" if training.faults is None else ", ".join(one.kind for one in training.faults.kinds)
    units = f"{network.model.hidden} units" + (", both directions" if network.model.bidirectional else ", causal")
    rows = [
        ("classes", ", ".join(str(one) for one in about.classes[:20]) + (", .." if len(about.classes) > 20 else "")),
        ("channels", str(len(prepared.mean))),
        ("scaling", f"{prepared.scaling.value}; missing values: {prepared.missing.value}"),
        ("front end", stem),
        ("recurrent layer", f"{network.model.kind}, {units}"),
        ("readout", network.model.pooling.value),
        ("companion", "none" if about.companion is None else "random convolutions, averaged with the network"),
        ("training", f"{training.steps} steps of {training.batch} series, rate up to {training.lr:g}"),
        ("faults in training", faults),
        ("seed, version", f"{about.seed}, noisyrnn {about.version}"),
    ]
    lines = ["# A classifier of time series", "", "Load it without executing anything in it:", "", "```python"]
    lines += ["from noisyrnn import NoisyRNNClassifier", 'classifier = NoisyRNNClassifier.load("this directory")']
    lines += ["```", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {_cell(value)} |" for name, value in rows]
    lines += ["", "## Measured", ""]
    lines += _measured(about.measured) if about.measured else ["Nothing was measured when it was saved."]
    lines += [
        "",
        "## Limits",
        "",
        "Accuracy holds for series like those of the training; faults of kinds that the training did not have are met "
        "less well. Levels of faults count in deviations of the training data.",
        "",
    ]
    return "\n".join(lines)


def _measured(measured: dict[str, Any]) -> list[str]:
    """Numbers and short texts by name; robustness as a table."""
    lines = []
    for name, value in measured.items():
        if name == "robustness" and isinstance(value, dict):
            continue
        lines.append(f"- {name}: {_cell(f'{value:.3f}' if isinstance(value, float) else str(value))}")
    robustness = measured.get("robustness")
    if isinstance(robustness, dict):
        lines += ["", "| disturbance | accuracy by level |", "|---|---|", f"| none | {robustness['clean']:.3f} |"]
        for kind, curve in robustness["curves"].items():
            seen = "" if kind in robustness["seen"] else " (not in the training)"
            values = ", ".join(f"{level}: {value:.3f}" for level, value in curve.items())
            lines.append(f"| {kind}{seen} | {values} |")
        lines += [f"| {name} | {value:.3f} |" for name, value in robustness["attacks"].items()]
    return lines


def _cell(text: str) -> str:
    """Text that cannot leave its cell, nor become markup."""
    flat = " ".join(text.split())
    return "".join(f"\\{letter}" if letter in "|`<>[]*\\" else letter for letter in flat)
