"""What the measurements say: tables of ratios, plain words on who is faster and why, and a figure."""

from __future__ import annotations

from pathlib import Path
from statistics import median

from noisyrnn.bench.case import BASE, BUILDING, EAGER, KERNEL, PLAIN, varied
from noisyrnn.bench.limits import Machine
from noisyrnn.bench.measure import Measurement
from noisyrnn.bench.peers import REASONS
from noisyrnn.bench.ratios import AVX2_TARGETS, targets, verdicts
from noisyrnn.bench.spread import Spread, ratio


def markdown(found: list[Measurement], where: Machine | None = None) -> str:
    """Where it was measured, the targets, who is faster, and each case with the kernel's time as 1."""
    lines = [] if where is None else [*_place(where, found), ""]
    asked, judged = targets(where), verdicts(found, where)
    machines = "AVX2 alone" if asked is AVX2_TARGETS else "AVX-512"
    lines += [f"| target (machine with {machines}) | asked | aim | measured | met |", "|---|---|---|---|---|"]
    for name, (value, met) in judged.items():
        target = asked[name]
        sign, aim = "at most" if target.small else "at least", "" if target.aim is None else f"{target.aim:g}"
        lines.append(f"| {target.text} | {sign} {target.least:g} | {aim} | {value} | {'yes' if met else 'no'} |")
    if not judged:
        lines = ["The kernel did not run on the base case, so there are no targets to judge."]
    lines += ["", "Where a peer is faster than the kernel:", "", *(faster(found) or ["- nowhere"])]
    lines += ["", "Where the plain loop is faster than what runs without the kernel:", ""]
    lines += plainly_faster(found) or ["- nowhere"]
    lines += ["", "Times as multiples of the kernel's: median over the rounds, least and largest in parentheses."]
    for case in dict.fromkeys(one.case for one in found):
        rows = [one for one in found if one.case == case]
        first = rows[0]
        lines += ["", f"**{case}**", ""]
        lines += [
            "| | training step | forward pass | share of sgemm | of FMA peak | memory |",
            "|---|---|---|---|---|---|",
        ]
        for one in rows:
            cells = (
                _shown(ratio(one.train, first.train)), _shown(ratio(one.forward, first.forward)),
                *("" if part is None else f"{part.middle:.2f}" for part in (one.share, one.share_of_peak)),
                "" if one.memory is None else f"{one.memory / 2**20:.0f} MiB",
            )  # fmt: skip
            lines.append(f"| {one.contender} | {' | '.join(cells)} |")
        lines += ["", f"The kernel's training step: {_time(first.train)}, forward pass: {_time(first.forward)}."]
    return "\n".join(lines) + "\n"


def faster(found: list[Measurement]) -> list[str]:
    """A line for each case and contender that takes less time than the kernel, and why it can."""
    lines = []
    kernels = {one.case: one for one in found if one.contender == KERNEL}
    for one in found:
        kernel = kernels.get(one.case)
        if kernel is None or one is kernel or one.contender == BUILDING:
            continue
        parts = {"training": ratio(one.train, kernel.train), "forward": ratio(one.forward, kernel.forward)}
        ahead = [f"{kind} {value.middle:.2f}" for kind, value in parts.items() if value and value.middle < 1]
        if ahead:
            reason = REASONS.get(one.contender, "does other work")
            lines.append(
                f"- {one.case}: {one.contender} takes {' and '.join(ahead)} of the kernel's time; it {reason}."
            )
    return lines


def plainly_faster(found: list[Measurement]) -> list[str]:
    """A line for each case in which the plain loop takes less time than the eager route, and why it can."""
    lines = []
    loops = {one.case: one for one in found if one.contender == PLAIN}
    for eager in (one for one in found if one.contender == EAGER and one.case in loops):
        plain = loops[eager.case]
        parts = {"training": ratio(plain.train, eager.train), "forward": ratio(plain.forward, eager.forward)}
        ahead = [f"{kind} {value.middle:.2f}" for kind, value in parts.items() if value and value.middle < 1]
        if ahead:
            lines.append(f"- {eager.case}: the plain loop takes {' and '.join(ahead)} of the eager route's time.")
    reason = (
        "The reason is the noise: the plain loop takes the next numbers of torch's own generator; those of the eager "
        "route do not depend on threads, devices or the split of a batch, and take many operations on whole arrays."
    )
    return [*lines, "", reason] if lines else []


def _place(where: Machine, found: list[Measurement]) -> list[str]:
    lines = [
        f"{where.processor}, {where.cores} cores; {where.instructions}; torch {where.torch} with {where.products}."
    ]
    for threads in (1, 2):
        limits = next((one.limits for one in found if one.case == varied(threads=threads)), None)
        if limits is not None:
            peaks = [one.peak for one in limits if one.peak is not None]
            peak = f"multiply-adds in registers {_rates(peaks)}, " if peaks else ""
            sgemm = _rates([one.sgemm for one in limits])
            lines.append(f"{threads} thread{'s' * (threads > 1)}: {peak}sgemm {sgemm}.")
    if where.load > 1:
        lines.append(f"The machine was not idle: {where.load:g} other processes wanted to run.")
    return lines


def _rates(found: list[float]) -> str:
    """The median over the rounds, and the least and the largest where they differ."""
    middle, least, most = (f"{rate / 1e9:.0f}" for rate in (median(found), min(found), max(found)))
    return f"{middle} GFLOP/s" + ("" if least == most else f" ({least} to {most})")


def _shown(value: Spread | None) -> str:
    return "" if value is None else "1" if value.least == value.most == 1 else str(value)


def _time(seconds: tuple[float, ...]) -> str:
    return f"{1e3 * median(seconds):.3g} ms" if seconds else "not measured"


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
        values = [ratio(getattr(one, kind), getattr(unit, kind)) or Spread(1, 1, 1) for one in rows]
        colours = ["#0072B2" if one.contender in (KERNEL, EAGER) else "#B3B3B3" for one in rows]
        names, bounds = [one.contender for one in rows], [value.middle - 0.5 for value in values]
        reach = [[value.middle - value.least for value in values], [value.most - value.middle for value in values]]
        bars = axis.barh(names, bounds, left=0.5, color=colours, xerr=reach, ecolor="#555555", capsize=2)
        axis.bar_label(bars, labels=[f"{value.middle:.1f}" for value in values], padding=6, fontsize=9)
        axis.set_title({"train": "training step", "forward": "forward pass"}[kind], fontsize=11)
        # Logarithmic: the slowest peer takes hundreds of times as long and would hide all others.
        axis.set_xscale("log")
        axis.set_xlim(0.5, 4 * max(value.most for value in values))
        axis.set_xlabel(f"time, {unit.contender} = 1")
        axis.spines[["top", "right"]].set_visible(False)
    fig.suptitle(f"{BASE}, noise on", fontsize=10)
    fig.savefig(path)
    pyplot.close(fig)
