r"""Randomised smoothing: an l_2 certificate with stated confidence, for any classifier at any length.

    g(x) = argmax_c P(network(x + sigma eps) = c),   eps ~ N(0, I);        radius = sigma Phi^-1(p),  p <= P(... = g(x))

(Cohen, Rosenfeld, Kolter 2019, Theorem 1 and algorithms PREDICT and CERTIFY.) The statement is about the *smoothed*
classifier g, which votes over noisy copies of the input, not about the network itself; a network trained with noise is
the one whose votes agree. p is the exact one-sided Clopper-Pearson bound, so the radius is wrong with probability at
most ``alpha`` for each input separately; where p <= 1/2 it abstains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import scipy  # its parts are loaded where they are used: together they take a second
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from noisyrnn.types import Sequence

ABSTAIN = -1
"""Label of an input on which the smoothed classifier does not commit itself."""

Classifier = Callable[[Sequence], Float[Tensor, "batch classes"]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Smoothed:
    """Label (-1: abstained), certified l_2 radius and lower bound of the winning class's probability, by input."""

    label: Int[Tensor, " batch"]
    radius: Float[Tensor, " batch"]
    probability: Float[Tensor, " batch"]
    sigma: float
    alpha: float
    draws: int

    @property
    def abstained(self) -> Bool[Tensor, " batch"]:
        return self.label == ABSTAIN

    def certified_accuracy(self, y: Int[Tensor, " batch"], radius: float) -> float:
        """Share of the inputs whose smoothed label is y within ``radius``."""
        return float(((self.label == y) & (self.radius >= radius)).double().mean())

    def __str__(self) -> str:
        return (
            f"Randomised smoothing at sigma = {self.sigma:g} with {self.draws} draws: median radius "
            f"{float(self.radius.median()):.3g}, {int(self.abstained.sum())} of {len(self.label)} inputs abstained; "
            f"each radius holds for the smoothed classifier with confidence {1 - self.alpha:g}."
        )


def smoothing(
    network: Classifier,
    x: Sequence,
    *,
    sigma: float,
    generator: torch.Generator,
    alpha: float = 0.001,
    select: int = 100,
    draws: int = 1000,
    chunk: int = 1024,
) -> Smoothed:
    """sigma Phi^-1(p): certified l_2 radii, each with confidence 1 - alpha.

    Parameters
    ----------
    network, x
        Any function from inputs to logits, and its inputs.
    sigma
        Standard deviation of the smoothing noise; about the radius that one cares for.
    generator
        Of the noise.
    alpha
        Probability of a wrong radius, for each input separately: for all of them together divide it by their number.
    select
        Draws that choose the class.
    draws
        Independent draws that bound its probability.
    chunk
        Noisy inputs that go through the network at once.

    Returns
    -------
    Smoothed

    Examples
    --------
    >>> sign = lambda x: torch.stack((x.sum((1, 2)), -x.sum((1, 2))), -1)
    >>> result = smoothing(sign, torch.ones(1, 1, 1), sigma=0.5, generator=torch.Generator().manual_seed(0))
    >>> 0.7 < result.radius.item() < 1.0  # the true radius is 1
    True
    """
    _check_settings(sigma, alpha, select, draws, chunk)
    label = _votes(network, x, sigma, select, generator, chunk).argmax(-1)
    votes = _votes(network, x, sigma, draws, generator, chunk).gather(-1, label.unsqueeze(-1)).squeeze(-1)
    p = lower_confidence(votes, draws, alpha)
    sure = p > 0.5
    radius = torch.where(sure, sigma * torch.special.ndtri(p), torch.zeros_like(p))
    return Smoothed(
        label=torch.where(sure, label, ABSTAIN), radius=radius, probability=p, sigma=sigma, alpha=alpha, draws=draws
    )


def smoothed_label(
    network: Classifier,
    x: Sequence,
    *,
    sigma: float,
    generator: torch.Generator,
    alpha: float = 0.001,
    draws: int = 1000,
    chunk: int = 1024,
) -> Int[Tensor, " batch"]:
    """g(x) with confidence 1 - alpha, or -1: the two best classes must differ by a two-sided binomial test.

    Parameters
    ----------
    network, x, sigma, generator, draws, chunk
        As for :func:`smoothing`.
    alpha
        Probability of a wrong label, for each input separately.

    Returns
    -------
    Tensor
        Labels (batch,), -1 where the vote is too close.

    Examples
    --------
    >>> sign = lambda x: torch.stack((x.sum((1, 2)), -x.sum((1, 2))), -1)
    >>> smoothed_label(sign, torch.tensor([[[1.0]], [[0.0]]]), sigma=0.5, generator=torch.Generator().manual_seed(0))
    tensor([ 0, -1])
    """
    _check_settings(sigma, alpha, 1, draws, chunk)
    votes, labels = _votes(network, x, sigma, draws, generator, chunk).topk(2, dim=-1)
    tests = [scipy.stats.binomtest(first, first + second).pvalue for first, second in votes.tolist()]
    return torch.where(torch.tensor(tests, device=labels.device) <= alpha, labels[:, 0], ABSTAIN)


def lower_confidence(successes: Int[Tensor, " batch"], draws: int, alpha: float) -> Float[Tensor, " batch"]:
    """p with P(Binomial(draws, p) >= successes) = alpha: the one-sided Clopper-Pearson bound.

    >>> lower_confidence(torch.tensor([1000]), 1000, 0.001).item()  # alpha ** (1 / draws)
    0.99311604...
    """
    k = successes.cpu().double().numpy()
    bound = torch.as_tensor(scipy.stats.beta.ppf(alpha, k.clip(min=1), draws - k + 1), device=successes.device)
    return torch.where(successes == 0, torch.zeros_like(bound), bound)


def _votes(
    network: Classifier, x: Sequence, sigma: float, draws: int, generator: torch.Generator, chunk: int
) -> Int[Tensor, "batch classes"]:
    """How often each class wins over ``draws`` noisy copies of each input."""
    rows = []
    with torch.no_grad():
        for one in x:
            counts: Tensor | None = None
            for start in range(0, draws, chunk):
                size = (min(chunk, draws - start), *one.shape)
                noise = torch.randn(size, generator=generator, dtype=x.dtype, device=generator.device)
                logits = network(one + sigma * noise.to(x.device))
                won = torch.bincount(logits.argmax(-1), minlength=logits.shape[-1])
                counts = won if counts is None else counts + won
            rows.append(counts)
    return torch.stack([row for row in rows if row is not None])


def _check_settings(sigma: float, alpha: float, select: int, draws: int, chunk: int) -> None:
    if not 0 < sigma < float("inf"):
        raise ValueError(f"Smoothing needs a positive finite sigma, got {sigma}; use about the radius you care for.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is the probability of a wrong radius and must lie in (0, 1), got {alpha}.")
    if min(select, draws, chunk) < 1:
        raise ValueError(
            f"Smoothing needs at least 1 draw in each stage, got select={select}, draws={draws}, chunk={chunk}."
        )
