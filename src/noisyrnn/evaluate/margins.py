r"""Certificates beside attacks: how much of the way to the nearest mistake is proved safe.

    certified radius  <=  margin of the sample  <=  attacked radius

The margin itself is out of reach; the attacked radius is the distance of the nearest wrong answer that projected
gradient ascent found, and the certified one must never exceed it. Their ratio says how tight a certificate is at worst.
A smoothed classifier is another classifier, with radii of its own: its curve is drawn beside, and never compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from noisyrnn.attack import PGD, Loss, excess, gradient
from noisyrnn.rnn.mode import evaluating
from noisyrnn.setting import Norm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTACK = PGD(radius=1.0, norm=Norm.L2, steps=30, restarts=2, loss=Loss.EXCESS)
"""The attack that certificates are compared with; its radius is the caller's."""

_HALVINGS = 12  # of the straight way back from a wrong answer to the sample


@dataclass(frozen=True, kw_only=True, eq=False)
class Margins:
    """Radii of each sample: attacked (infinite where no attack succeeded), and certified, by name of the certificate.

    >>> radii = {"ball": torch.tensor([0.5, 0.0])}
    >>> found = Margins(correct=torch.tensor([True, False]), attacked=torch.tensor([1.0, 0.0]), certified=radii)
    >>> found.ratio("ball"), found.violations("ball"), found.accuracy("ball", 0.4)
    (0.5, 0, 50.0)
    """

    correct: Tensor
    attacked: Tensor
    certified: Mapping[str, Tensor]

    def violations(self, name: str) -> int:
        """Samples on which an attack succeeded inside the certified radius: any at all would refute the certificate."""
        return int((self.correct & (self.certified[name] > self.attacked)).sum())

    def ratio(self, name: str) -> float:
        """Mean of certified over attacked radius, over the samples classified correctly that an attack reached."""
        counted = self.correct & self.attacked.isfinite()
        return float((self.certified[name][counted] / self.attacked[counted]).mean())

    def accuracy(self, name: str | None, radius: float) -> float:
        """Per cent of all samples that are right and certified to ``radius``; of ``None``, that no attack reached."""
        safe = self.attacked > radius if name is None else self.certified[name] >= radius
        return 100 * float((self.correct & safe).double().mean())


def attacked_radius(
    network: Callable[[Tensor], Tensor],
    x: Tensor,
    y: Tensor,
    *,
    generator: torch.Generator,
    attack: PGD = ATTACK,
    rounds: int = 10,
) -> Tensor:
    """Distance of the nearest wrong answer found for each sample: 0 if it is wrong itself, infinite if none was found.

    The attack's ball is widened and narrowed for each sample on its own, beginning at the first-order distance; from
    each success one walks straight back towards the sample as far as the answer stays wrong.

    Parameters
    ----------
    network
        x (batch, time, feature) -> logits; a module is in evaluation mode meanwhile.
    x, y
        Samples and their true classes.
    generator
        Random starts of the attack.
    attack
        Its norm is that of the distance; its radius does not matter.
    rounds
        How often the ball is widened or narrowed.

    Examples
    --------
    >>> line = lambda x: x[:, -1] * x.new_tensor([1.0, -1.0])
    >>> x = torch.tensor([[[0.3, 0.3]], [[-0.1, -0.1]]])
    >>> attacked_radius(line, x, torch.tensor([0, 0]), generator=torch.Generator().manual_seed(0))  # 0.3 sqrt 2
    tensor([0.4243, 0.0000], dtype=torch.float64)
    """
    with evaluating(network) if isinstance(network, nn.Module) else nullcontext():
        slope, logits = gradient(network, x, y, loss=Loss.EXCESS)
        height = -excess(logits, y)
        steepness = slope.flatten(1).norm(dim=1) if attack.norm is Norm.L2 else slope.abs().sum((1, 2))
        radius = (height / steepness.clamp(min=torch.finfo(x.dtype).tiny)).clamp(min=torch.finfo(x.dtype).eps, max=1e6)
        low = torch.zeros_like(height, dtype=torch.float64)
        high = torch.full_like(low, torch.inf)
        for _ in range(rounds):
            scaled = _Scaled(network, x, radius)
            away = attack.at(1.0)(scaled, torch.zeros_like(x), y, generator) * radius[:, None, None]
            away, fooled = _shrunk(network, x, y, away)
            high = torch.where(fooled, torch.minimum(high, _size(x + away, x, attack.norm)), high)
            low = torch.where(fooled, low, torch.maximum(low, radius.double()))
            middle = torch.where(high.isfinite(), (torch.minimum(low, high) + high) / 2, 2 * radius.double())
            radius = middle.clamp(max=1e9).to(x.dtype)
    return torch.where(height > 0, high, torch.zeros_like(high))


def compared(
    network: Callable[[Tensor], Tensor],
    x: Tensor,
    y: Tensor,
    certified: Mapping[str, Tensor],
    *,
    generator: torch.Generator,
    attack: PGD = ATTACK,
    rounds: int = 10,
) -> Margins:
    """Certified radii beside the attacked ones of the same samples.

    Parameters
    ----------
    certified
        Radii of each certificate, by its name.
    network, x, y, generator, attack, rounds
        As in :func:`attacked_radius`.

    Examples
    --------
    >>> line = lambda x: x[:, -1] * x.new_tensor([1.0, -1.0])
    >>> x, y = torch.full((1, 1, 2), 0.3), torch.tensor([0])
    >>> round(compared(line, x, y, {"half": torch.tensor([0.15])}, generator=torch.Generator()).ratio("half"), 2)
    0.35
    """
    with torch.no_grad(), evaluating(network) if isinstance(network, nn.Module) else nullcontext():
        correct = network(x).argmax(1) == y
    radii = attacked_radius(network, x, y, generator=generator, attack=attack, rounds=rounds)
    return Margins(correct=correct, attacked=radii, certified={name: r.double() for name, r in certified.items()})


def margin_figure(margins: Margins, *, smoothed: Mapping[str, Tensor] | None = None, title: str = "") -> Figure:
    """Accuracy against radius: what attacks leave, what certificates prove, and that of smoothed classifiers.

    ``smoothed`` holds radii of samples that the smoothed classifier answers rightly, negative where it does not.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    reached = margins.attacked[margins.correct & margins.attacked.isfinite()]
    far = max([float(r.max()) for r in (smoothed or {}).values()] + [float(reached.max()) if len(reached) else 1.0])
    radii = torch.linspace(0, 1.05 * far, 400, dtype=torch.float64)
    drawn: list[tuple[str, str, list[float]]] = [
        ("after the attack (PGD)", "-", [margins.accuracy(None, float(r)) for r in radii])
    ]
    drawn += [
        (f"certified: {name}", "--", [margins.accuracy(name, float(r)) for r in radii]) for name in margins.certified
    ]
    drawn += [
        (f"smoothed classifier: {name}", ":", [100 * float((safe >= r).double().mean()) for r in radii])
        for name, safe in (smoothed or {}).items()
    ]
    for label, style, values in drawn:
        axes.plot(radii, values, style, linewidth=1.6, label=label)
    axes.set(xlabel="radius of the perturbation", ylabel="accuracy, %", ylim=(-2, 102), title=title)
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.legend(frameon=False, fontsize="small")
    return figure


class _Scaled(nn.Module):
    """d -> network(x + r d): one ball of radius 1 for all samples; a module, so that an attack can freeze it."""

    def __init__(self, network: Callable[[Tensor], Tensor], x: Tensor, radius: Tensor) -> None:
        super().__init__()
        self.network, self.x, self.radius = network, x, radius[:, None, None]

    def forward(self, d: Tensor) -> Tensor:
        return self.network(self.x + self.radius * d)


@torch.no_grad()
def _shrunk(network: Callable[[Tensor], Tensor], x: Tensor, y: Tensor, away: Tensor) -> tuple[Tensor, Tensor]:
    """The shortest multiple of each perturbation that still succeeds, and whether it did at all."""

    def wrong(t: Tensor) -> Tensor:
        return network(x + t[:, None, None] * away).argmax(1) != y

    near, far = x.new_zeros(len(x)), x.new_ones(len(x))
    fooled = wrong(far)
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        hit = wrong(middle)
        near, far = torch.where(hit, near, middle), torch.where(hit, middle, far)
    return far[:, None, None] * away, fooled


def _size(point: Tensor, x: Tensor, norm: Norm) -> Tensor:
    """Length of what was really added, after rounding."""
    away = (point.double() - x.double()).flatten(1)
    return away.norm(dim=1) if norm is Norm.L2 else away.abs().amax(dim=1)
