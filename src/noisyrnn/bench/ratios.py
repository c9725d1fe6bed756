"""How many times as long the others take: the ratios that are asked for, and whether they are reached."""

from __future__ import annotations

from typing import Any, NamedTuple

from noisyrnn.bench.case import BUILDING, JAX, KERNEL, LONG, PLAIN, RNN, SHORT, Model, varied
from noisyrnn.bench.limits import Machine
from noisyrnn.bench.measure import Measurement
from noisyrnn.bench.spread import Spread, ratio


class Target(NamedTuple):
    """A ratio that the kernel is to reach."""

    text: str
    least: float
    aim: float | None = None
    small: bool = False
    """Whether smaller is better."""


TARGETS = {
    "train, 1 thread": Target("training step, against the plain loop, 1 thread", 2.6, 3.0),
    "train, 2 threads": Target("training step, against the plain loop, 2 threads", 4.8, 5.5),
    "forward, 1 thread": Target("forward pass, against the plain loop, 1 thread", 2.7, 3.3),
    "forward, 2 threads": Target("forward pass, against the plain loop, 2 threads", 5.0, 6.0),
    "share": Target("share of the matrix-product rate in the training step, 1 thread", 0.65, 0.76),
    "jax": Target("training step, against jax.lax.scan, 2 threads", 4.8, 6.0),
    "products": Target("products a second in training, against torch.nn.RNN's, 1 thread", 1.6, 1.9),
    "memory": Target("peak extra memory of a training step, against the plain loop", 0.25, 0.2, small=True),
    "latency": Target("one sequence, forward, noise off, against the plain loop", 15.0, 20.0),
    "linear": Target("time for T 5,000 over T 784, against proportional", 1.05, 1.0, small=True),
    "long": Target("time for T 100,000 over T 5,000, chunked, against proportional", 1.05, 1.0, small=True),
    "certified, 1 thread": Target("certified RNN, training step, against the plain loop, 1 thread", 3.0, 3.5),
    "certified, 2 threads": Target("certified RNN, training step, against the plain loop, 2 threads", 5.0, 6.0),
    "certified, latency": Target("certified RNN, one sequence, forward, against the plain loop", 15.0, 20.0),
    "certified, building": Target("certified RNN, building K, T 140, share of a training step", 0.2, 0.1, small=True),
}
"""On a machine with AVX-512."""

AVX2_TARGETS = {
    "train, 2 threads": Target("training step, against the plain loop, 2 threads", 4.1),
    "forward, 2 threads": Target("forward pass, against the plain loop, 2 threads", 5.1),
    "share, 2 threads": Target("share of the matrix-product rate in the training step, 2 threads", 0.77),
    **{name: TARGETS[name] for name in ("memory", "linear", "long")},
}
"""On a machine with AVX2 and no more: what version 0.1 reached on one, and what no instructions are needed for."""


def targets(where: Machine | None = None) -> dict[str, Target]:
    """Those of the instructions that the kernel uses there."""
    return AVX2_TARGETS if where is not None and "avx2" in where.instructions else TARGETS


def ratios(found: list[Measurement]) -> dict[str, Spread]:
    """The kernel's ratios, by target; those that were not measured are left out."""

    def at(name: str, **change: Any) -> Measurement | None:
        case = varied(**change)
        return next((one for one in found if one.contender == name and one.case == case), None)

    def over(name: str, kind: str, scale: float = 1.0, **change: Any) -> Spread | None:
        peer, kernel = at(name, **change), at(KERNEL, **change)
        return ratio(getattr(peer, kind), getattr(kernel, kind), scale) if peer and kernel else None

    def grown(long: Measurement | None, short: Measurement | None) -> Spread | None:
        return ratio(long.train, short.train, short.case.steps / long.case.steps) if long and short else None

    one, two, plain = at(KERNEL, threads=1), at(KERNEL), at(PLAIN)
    near, far = (at(KERNEL, steps=steps, chunk=chunk, batch=16) for steps, chunk in LONG)
    memory = two.memory / plain.memory if two and plain and two.memory and plain.memory else None
    values = {
        "train, 1 thread": over(PLAIN, "train", threads=1),
        "train, 2 threads": over(PLAIN, "train"),
        "forward, 1 thread": over(PLAIN, "forward", threads=1),
        "forward, 2 threads": over(PLAIN, "forward"),
        "share": None if one is None else one.share,
        "share, 2 threads": None if two is None else two.share,
        "jax": over(JAX, "train"),
        "products": over(RNN, "train", 2.0, threads=1),
        "memory": None if memory is None else Spread(memory, memory, memory),
        "latency": over(PLAIN, "forward", batch=1, model=Model.SILENT, threads=1),
        "linear": grown(at(KERNEL, steps=5000), two),
        "long": grown(far, near),
        "certified, 1 thread": over(PLAIN, "train", threads=1, model=Model.CERTIFIED),
        "certified, 2 threads": over(PLAIN, "train", model=Model.CERTIFIED),
        "certified, latency": over(PLAIN, "forward", batch=1, threads=1, model=Model.CERTIFIED),
        "certified, building": over(BUILDING, "train", **SHORT, model=Model.CERTIFIED),
    }
    return {name: value for name, value in values.items() if value is not None}


def verdicts(found: list[Measurement], where: Machine | None = None) -> dict[str, tuple[Spread, bool]]:
    """For each target that was measured: the ratio, and whether its median is at least what is asked."""

    def met(value: float, target: Target) -> bool:
        return value <= target.least if target.small else value >= target.least

    asked = targets(where)
    return {name: (value, met(value.middle, asked[name])) for name, value in ratios(found).items() if name in asked}
