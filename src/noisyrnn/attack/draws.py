"""Random numbers of samples: uniform in [0, 1), the same however a batch is split."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor


class Draws(ABC):
    """Where the random numbers of some samples come from."""

    @abstractmethod
    def uniform(self, count: int) -> Tensor:
        """The next ``count`` numbers of each sample, (batch, count), in double precision."""

    @abstractmethod
    def part(self, index: Tensor) -> Draws:
        """The same for some of the samples, which go on where they stand."""


class InTurn(Draws):
    """Sample after sample from one generator: for those who ask once, so that all numbers of a sample lie together."""

    def __init__(self, generator: torch.Generator, samples: int) -> None:
        self.generator, self.samples = generator, samples

    def uniform(self, count: int) -> Tensor:
        shape = (self.samples, count)
        return torch.rand(shape, generator=self.generator, device=self.generator.device, dtype=torch.float64)

    def part(self, index: Tensor) -> Draws:
        return InTurn(self.generator, len(index))


class Own(Draws):
    """A generator for each sample, from a seed of its own: for those who ask often, or not for all samples.

    >>> seeds = torch.tensor([3, 7])
    >>> both, second = Own(seeds), Own(seeds[1:])
    >>> torch.equal(both.uniform(4)[1:], second.uniform(4))
    True
    """

    def __init__(self, seeds: Tensor, generators: list[torch.Generator] | None = None) -> None:
        self.seeds = seeds
        self._generators = generators or [torch.Generator().manual_seed(seed) for seed in seeds.tolist()]

    def uniform(self, count: int) -> Tensor:
        rows = [torch.rand(count, generator=own, dtype=torch.float64) for own in self._generators]
        return torch.stack(rows) if rows else torch.empty((0, count), dtype=torch.float64)

    def part(self, index: Tensor) -> Own:
        return Own(self.seeds[index.cpu()], [self._generators[number] for number in index.tolist()])

    def again(self) -> Own:
        """The same numbers from their beginning."""
        return Own(self.seeds)


def fresh_seeds(generator: torch.Generator, samples: int) -> Tensor:
    """One seed for each sample; a generator gives equal seeds to all who ask it from the same state."""
    drawn = torch.rand(samples, generator=generator, device=generator.device, dtype=torch.float64)
    return (drawn * 2**53).long().cpu()
