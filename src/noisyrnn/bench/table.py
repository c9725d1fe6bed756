"""What the measurements say: a table of ratios, a figure, and whether the targets are met."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from noisyrnn.bench.measure import BASE, Case, Measurement


class Target(NamedTuple):
    """A ratio that the kernel is to reach on the base case."""

    text: str
    least: float
    aim: float
    small: bool = False
    """Whether smaller is better."""


TARGETS = {
    "train": Target("training step, against the plain loop", 4.0, 6.0),
    "forward": Target("forward pass, against the plain loop", 5.0, 8.0),
    "jax": Target("training step, against jax.lax.scan", 2.5, 4.0),
    "share": Target("share of the matrix-product rate in the training step", 0.6, 0.8),
    "memory": Target("peak extra memory of a training step, against the plain loop", 0.4, 0.25, small=True),
    "threads": Target("gain from the second thread, against the matrix product's own", 0.85, 1.0),
    "latency": Target("one sequence (batch 1), forward, against the plain loop", 8.0, 15.0),
    "linear": Target("time for T 5000 over T 784, against proportional", 1.1, 1.0, small=True),
}


def ratios(found: list[Measurement]) -> dict[str, float]:
    """The kernel's ratios, by target; those that were not measured are left out."""

    def at(name: str, **change: int) -> Measurement | None:
        case = Case(**{**BASE.model_dump(), **change})
        return next((one for one in found if one.contender == name and one.case == case), None)

    def over(top: int | float | None, bottom: int | float | None) -> float | None:
        return top / bottom if top and bottom else None

    kernel, plain, jax = at("kernel"), at("plain loop"), at("jax.lax.scan")
    if kernel is None or plain is None:
        return {}
    single, one, one_plain, long = (
        at("kernel", threads=1),
        at("kernel", batch=1),
        at("plain loop", batch=1),
        at("kernel", steps=5000),
    )
    gain = over(single.train, kernel.train) if single else None
    values = {
        "train": over(plain.train, kernel.train),
        "forward": over(plain.forward, kernel.forward),
        "jax": over(jax.train, kernel.train) if jax else None,
        "share": kernel.share,
        "memory": over(kernel.memory, plain.memory),
        "threads": over(gain, over(kernel.sgemm, single.sgemm)) if single else None,
        "latency": over(one_plain.forward, one.forward) if one and one_plain else None,
        "linear": over(over(long.train, kernel.train), 5000 / 784) if long else None,
    }
    return {name: value for name, value in values.items() if value is not None}


def verdicts(found: list[Measurement]) -> dict[str, tuple[float, bool]]:
    """For each target that was measured: the ratio, and whether it is at least what is asked."""
    return {
        name: (value, value <= TARGETS[name].least if TARGETS[name].small else value >= TARGETS[name].least)
        for name, value in ratios(found).items()
    }


def markdown(found: list[Measurement]) -> str:
    """Tables of ratios, the kernel's time being 1, and of the targets."""
    lines = ["| target | asked | aim | measured | met |", "|---|---|---|---|---|"]
    for name, (value, met) in verdicts(found).items():
        target = TARGETS[name]
        sign = "at most" if target.small else "at least"
        lines.append(
            f"| {target.text} | {sign} {target.least:g} | {target.aim:g} | {value:.2f} | {'yes' if met else 'no'} |"
        )
    if len(lines) == 2:
        lines = ["The kernel did not run, so there is nothing to compare with."]
    lines += [
        "",
        "Times as multiples of the first line of each case; share of the matrix-product rate; peak extra memory.",
    ]
    for case in dict.fromkeys(one.case for one in found):
        rows = [one for one in found if one.case == case]
        first = rows[0]
        lines += ["", f"**{case}**", "", "| | training step | forward pass | share | memory |", "|---|---|---|---|---|"]
        for one in rows:
            cells = (
                _ratio(one.train, first.train), _ratio(one.forward, first.forward),
                "" if one.share is None else f"{one.share:.2f}",
                "" if one.memory is None else f"{one.memory / 2**20:.0f} MiB",
            )  # fmt: skip
            lines.append(f"| {one.contender} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _ratio(value: float | None, unit: float | None) -> str:
    return "" if value is None or not unit else f"{value / unit:.2f}"


def figure(found: list[Measurement], path: Path) -> None:
    """Bars of the base case: how many times as long as the kernel each contender takes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [one for one in found if one.case == BASE][::-1]
    if not rows:
        raise ValueError("The base case was not measured, so there is nothing to draw.")
    unit = rows[-1]
    fig, axes = pyplot.subplots(1, 2, figsize=(9, 0.45 * len(rows) + 1.2), sharey=True, layout="constrained")
    for axis, kind in zip(axes, ("train", "forward"), strict=True):
        lengths = [(getattr(one, kind) or 0) / (getattr(unit, kind) or 1) for one in rows]
        colours = ["#0072B2" if one.contender in ("kernel", "eager") else "#B3B3B3" for one in rows]
        bars = axis.barh([one.contender for one in rows], [length - 0.7 for length in lengths], left=0.7, color=colours)
        axis.bar_label(bars, labels=[f"{length:.1f}" for length in lengths], padding=3, fontsize=9)
        axis.set_title({"train": "training step", "forward": "forward pass"}[kind], fontsize=11)
        # Logarithmic: the slowest peer takes hundreds of times as long and would hide all others.
        axis.set_xscale("log")
        axis.set_xlim(0.7, 4 * max(lengths))
        axis.set_xlabel(f"time, {unit.contender} = 1")
        axis.spines[["top", "right"]].set_visible(False)
    fig.suptitle(f"{BASE}, noise on", fontsize=10)
    fig.savefig(path)
    pyplot.close(fig)
