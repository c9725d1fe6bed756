r"""Can the gradients be trusted? Signs that an attack fails because it is misled, not because a network is robust.

(Athalye, Carlini, Wagner 2018; Carlini, Athalye, Papernot and others 2019.) A network whose gradients vanish, shatter
or are random looks robust to every attack that follows them. No sign is a proof; one that holds says that accuracy
under gradient attacks may be far too high, and that what a search without gradients leaves is nearer the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from noisyrnn.attack.adversary import Bound
from noisyrnn.attack.apgd import APGD
from noisyrnn.attack.ascent import Network, gradient
from noisyrnn.attack.ball import even_offsets, projection
from noisyrnn.attack.case import Case
from noisyrnn.attack.draws import Own, fresh_seeds
from noisyrnn.attack.losses import Labels
from noisyrnn.attack.pgd import PGD
from noisyrnn.attack.square import Square
from noisyrnn.setting import Norm
from noisyrnn.types import Sequence

_ALIKE = 0.9  # two attacks do as well as each other where one gains this share of the other's


@dataclass(frozen=True, kw_only=True)
class Sign:
    """A sign of masked gradients: whether it holds, the numbers that say so, and what they mean.

    A weak sign holds for sound networks, too (on a linear one the first step is the best there is), and says something
    only beside others.
    """

    name: str
    holds: bool
    numbers: Mapping[str, float]
    meaning: str
    weak: bool = False

    def __str__(self) -> str:
        numbers = ", ".join(f"{name} {number:.3g}" for name, number in self.numbers.items())
        return f"{'yes' if self.holds else 'no '}  {self.name}: {numbers}"


def signs(
    network: Network,
    x: Sequence,
    y: Labels,
    generator: torch.Generator,
    *,
    radius: float,
    norm: Norm = Norm.LINF,
    steps: int = 20,
    queries: int = 300,
    draws: int = 10,
    slack: float = 0.02,
    bounds: tuple[Bound, Bound] | None = None,
    passes: int = 1,
    lengths: Labels | None = None,
    batch: int | None = None,
) -> tuple[Sign, ...]:
    """Six signs of masked gradients, with numbers, of which any that holds (and is not weak) is a reason for doubt.

    Parameters
    ----------
    network, x, y, lengths
        What is attacked, at which samples (of more than one class), their true classes, and their valid steps.
    generator
        Random numbers of all attacks.
    radius, norm, bounds
        The ball.
    steps, queries, draws
        Budgets of the gradient attack, of the search without gradients, and of plain noise.
    slack
        Share of the samples by which an accuracy has to be lower to count as lower; always more than one sample.
    passes, batch
        Forward passes of a stochastic network to average; samples at a time.

    Examples
    --------
    >>> x, y = torch.tensor([[[0.3, 0.3]], [[-0.1, -0.1]]]), torch.tensor([0, 1])
    >>> line = lambda x: x[:, -1] * torch.tensor([1.0, -1.0])
    >>> for sign in signs(line, x, y, torch.Generator().manual_seed(0), radius=0.2):
    ...     print(sign)
    no   black box beats white box: white box 0.5, black box 0.5
    no   one step beats many: one 0.5, many 0.5
    no   a huge radius leaves accuracy: radius 0.4, accuracy 0
    no   gradients are zero: samples 0, numbers 0
    no   more steps do not help: gain of few 0.4, gain of many 0.4
    no   noise does as well: gain of noise 0.258, gain of attack 0.4
    """
    shared = {"norm": norm, "bounds": bounds, "passes": passes, "batch": batch}
    case = Case(network=network, x=x, y=y, lengths=lengths, draws=Own(fresh_seeds(generator, len(x))))
    far = _width(case) if norm is Norm.LINF else _width(case) * float(case.steps.max() * x.shape[2]) ** 0.5
    many = APGD(radius=radius, steps=steps, restarts=3, **shared)
    tried = {
        "one": PGD(radius=radius, steps=1, step=radius, random_start=False, **shared) if radius else many,
        "few": many.model_copy(update={"steps": max(steps // 10, 1)}),
        "many": many,
        "far": many.at(max(far, radius)),
        "black box": Square(radius=radius, queries=queries * passes, **shared),
    }
    points = {name: attack(network, x, y, generator, lengths=lengths) for name, attack in tried.items()}
    clean = case.excess(x, passes, batch)
    after = {name: case.excess(point, passes, batch) for name, point in points.items()}
    after["noise"] = _after_noise(case, many, draws)
    accuracy = {name: float((high <= 0).double().mean()) for name, high in after.items()}
    gain = {name: float((high - clean).clamp(min=0).mean()) for name, high in after.items()}
    slack = max(slack, 1.5 / max(len(x), 1))
    zeros, zero_numbers = _zero_gradients(case, passes, batch)
    return (
        Sign(
            name="black box beats white box",
            holds=accuracy["black box"] < accuracy["many"] - slack,
            numbers={"white box": accuracy["many"], "black box": accuracy["black box"]},
            meaning="accuracy: who may look at gradients can do all that a search without them does",
        ),
        Sign(
            name="one step beats many",
            holds=accuracy["one"] < accuracy["many"] - slack,
            numbers={"one": accuracy["one"], "many": accuracy["many"]},
            meaning="accuracy: many steps should find what one does, unless gradients lead astray",
        ),
        Sign(
            name="a huge radius leaves accuracy",
            holds=accuracy["far"] > slack,
            numbers={"radius": max(far, radius), "accuracy": accuracy["far"]},
            meaning="accuracy in a ball that holds samples of all classes: there it should be 0",
        ),
        Sign(
            name="gradients are zero",
            holds=zeros > slack,
            numbers={"samples": zeros, "numbers": zero_numbers},
            meaning="shares of samples whose gradient is exactly 0 everywhere, and of all its numbers",
        ),
        Sign(
            name="more steps do not help",
            holds=gain["many"] * _ALIKE <= gain["few"] and accuracy["many"] > slack,
            numbers={"gain of few": gain["few"], "gain of many": gain["many"]},
            meaning="mean rise of the excess: a climb that has not arrived rises with more steps",
            weak=True,
        ),
        Sign(
            name="noise does as well",
            holds=gain["noise"] >= _ALIKE * gain["many"] and accuracy["many"] > slack,
            numbers={"gain of noise": gain["noise"], "gain of attack": gain["many"]},
            meaning="mean rise of the excess: a gradient should show better directions than chance does",
        ),
    )


def _after_noise(case: Case, attack: APGD, draws: int) -> Tensor:
    """The largest excess at points drawn from the ball."""
    highest = torch.full_like(case.x[:, 0, 0], -torch.inf)
    for offsets in even_offsets(case, draws, attack.norm).to(case.x.dtype).unbind(1):
        near = projection(case.x + attack.radius * offsets, case.x, attack.radius, attack.norm)
        highest = torch.maximum(highest, case.excess(attack._inside(case, near), attack.passes, attack.batch))
    return highest


def _zero_gradients(case: Case, passes: int, batch: int | None) -> tuple[float, float]:
    """Share of the samples whose gradient is 0, and of the numbers of all gradients that are; without padding."""
    samples = numbers = 0.0
    for piece in case.pieces(batch):
        part = case.part(piece)
        zero = gradient(part.logits, part.x, part.y, passes=passes)[0] == 0
        if part.valid is not None:
            zero = zero | ~part.valid
        padding = zero.numel() - int(part.steps.sum()) * part.x.shape[2]
        samples += float(zero.flatten(1).all(dim=1).sum())
        numbers += float(zero.sum()) - padding
    return samples / max(len(case), 1), numbers / max(int(case.steps.sum()) * case.x.shape[2], 1)


def _width(case: Case) -> float:
    """From the smallest to the largest number of the samples."""
    valid = case.x if case.valid is None else case.x[case.valid.expand_as(case.x)]
    return float(valid.max() - valid.min())
