"""What makes a gradient attack on a recurrent network strong: its start, loss, step, momentum, or what it keeps?

Each line is projected gradient ascent on the same test images with the same number of gradients, from the same random
starts, with one part changed: from PGD (a constant step of 2.5 radius / steps) towards APGD, and from APGD (momentum,
and a step that begins at the width of the ball and is halved where it stops rising) towards PGD. Beside accuracy stands
the mean excess max_{j != y} z_j - z_y that was reached: it tells apart what few images cannot. What is in the file
already is not computed again, and where PGD leaves nothing there is nothing to compare.

    python studies/attack_ablation.py [NETWORK ...] [--samples 200] [--steps 40] [--out studies/attack_ablation.json]
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from command import arguments, keep, kept
from networks import network
from readings import SIX, first_images
from torch import Tensor, nn

from noisyrnn.attack import Loss, Norm, excess, gradient, height, projection
from noisyrnn.attack.apgd import checkpoints
from noisyrnn.data import Split
from noisyrnn.randomness import stream

NETWORKS = SIX[:2]
RADII = (0.05, 0.1)


@dataclass(frozen=True)
class Climb:
    """The parts of an attack. ``step`` is in radii, none for 2.5 / steps; ``rule`` says how it shrinks."""

    step: float | None = None
    rule: str = "constant"
    momentum: float = 0.0
    from_x: bool = False
    back_to_best: bool = True
    loss: Loss = Loss.CROSS_ENTROPY
    temperature: float = 1.0
    last: bool = False


PGD = Climb()
APGD = Climb(step=2.0, rule="halved", momentum=0.25)
CLIMBS = {
    "PGD": PGD,
    "PGD from x": replace(PGD, from_x=True),
    "PGD, last point": replace(PGD, last=True),
    "PGD, momentum": replace(PGD, momentum=0.25),
    "PGD, excess": replace(PGD, loss=Loss.EXCESS),
    "PGD, DLR": replace(PGD, loss=Loss.DLR),
    "APGD": APGD,
    "PGD, step 2 r to 0": replace(PGD, step=2.0, rule="linear"),
    "PGD, step r to 0": replace(PGD, step=1.0, rule="linear"),
    "PGD, step r / 8": replace(PGD, step=1 / 8),
    "PGD, step r / 4": replace(PGD, step=1 / 4),
    "PGD, step 2 r": replace(PGD, step=2.0),
    "PGD, step 2 r halved": replace(PGD, step=2.0, rule="halved"),
    "PGD, softmax(z / 10)": replace(PGD, temperature=10.0),
    "PGD from x, step 2 r to 0": replace(PGD, step=2.0, rule="linear", from_x=True),
    "APGD from x": replace(APGD, from_x=True),
    "APGD, last point": replace(APGD, last=True),
    "APGD, excess": replace(APGD, loss=Loss.EXCESS),
    "APGD, DLR": replace(APGD, loss=Loss.DLR),
    "APGD, not back to the best": replace(APGD, back_to_best=False),
    "APGD, step never halved": replace(APGD, rule="constant"),
    "APGD, first step 2.5 r / steps": replace(APGD, step=None),
}


def reached(victim: nn.Module, images: Split, climb: Climb, radius: float, steps: int) -> Tensor:
    """The largest excess on each image's climb, or the last."""
    x, y = images.x, images.y
    first = 2.5 / steps if climb.step is None else climb.step
    step = torch.full((len(x), 1, 1), first * radius)
    u = torch.rand(x.shape, generator=stream("attack ablation"), dtype=torch.float64).to(x.dtype)
    point = before = x if climb.from_x else projection(x + radius * (2 * u - 1), x, radius, Norm.LINF)
    best, best_slope, high = point, torch.zeros_like(x), torch.full((len(x),), -math.inf)
    worst, risen_before, rises, halved_at, high_then = high, -high, torch.zeros(len(x)), 0, high
    step_then = torch.zeros_like(step)
    for number in range(steps):
        slope, cooled = gradient(lambda point: victim(point) / climb.temperature, point, y, loss=climb.loss)
        logits = cooled * climb.temperature
        risen = height(logits, y, climb.loss)
        worst = torch.maximum(worst, excess(logits, y))
        rises = rises + (risen > risen_before)
        better = (risen > high)[:, None, None]
        best, best_slope = torch.where(better, point, best), torch.where(better, slope, best_slope)
        high = torch.maximum(high, risen)
        if climb.rule == "halved" and number in checkpoints(steps)[1:]:
            stuck = rises < 0.75 * (number - halved_at)
            stuck = (stuck | ((step == step_then)[:, 0, 0] & (high == high_then)))[:, None, None]
            step_then, high_then, rises, halved_at = step, high, torch.zeros(len(x)), number
            step = torch.where(stuck, step / 2, step)
            if climb.back_to_best:
                point, slope = torch.where(stuck, best, point), torch.where(stuck, best_slope, slope)
                risen = torch.where(stuck[:, 0, 0], high, risen)
        risen_before = risen
        left = 1 - number / steps if climb.rule == "linear" else 1.0
        ahead = projection(point + left * step * slope.sign(), x, radius, Norm.LINF)
        if number and climb.momentum:
            onwards = (1 - climb.momentum) * (ahead - point) + climb.momentum * (point - before)
            ahead = projection(point + onwards, x, radius, Norm.LINF)
        before, point = point, ahead
    with torch.no_grad():
        end = excess(victim(point), y)
    return end if climb.last else torch.maximum(worst, end)


def main() -> None:
    parser = arguments(__file__, __doc__, NETWORKS)
    parser.add_argument("--samples", type=int, default=200, help="test images, from the first")
    parser.add_argument("--steps", type=int, default=40, help="gradients of a climb")
    given = parser.parse_args()
    images = first_images(given.samples)
    about = {"samples": given.samples, "steps": given.steps}
    found = kept(given.out, about)
    for title, climb in CLIMBS.items():
        for name in given.networks:
            own = found.setdefault(name, {}).setdefault(title, {})
            for radius in RADII:
                hopeless = title != "PGD" and found[name]["PGD"][f"{radius:g}"]["accuracy"] == 0
                if f"{radius:g}" not in own and not hopeless:
                    high = reached(network(name), images, climb, radius, given.steps)
                    accuracy = round(100 * float((high <= 0).double().mean()), 1)
                    own[f"{radius:g}"] = {"accuracy": accuracy, "excess": round(float(high.mean()), 2)}
                    keep(given.out, {"about": about, "found": found})
            said = "  ".join(f"{r}: {one['accuracy']:5.1f} ({one['excess']:6.2f})" for r, one in own.items())
            print(f"{name:50} {title:34} {said}", flush=True)


if __name__ == "__main__":
    main()
