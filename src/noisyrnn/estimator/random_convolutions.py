r"""Random convolutions as features of series, after MiniRocket (Dempster, Schmidt and Webb, KDD 2021), and smoothed.

    feature = share of the instants t at which  sum_c sum_i k_i x_c[t + d (i - 4)] > b

The 84 kernels k have nine weights, three of them 2 and the others -1, so that levels do not matter; dilations d grow by
half octaves until a window is as long as a series; channels c are drawn, and biases b are quantiles of the convolution
of a drawn series. All this is done for the series itself and for two smoothed copies: what noise and spikes change in
the first they change less in the others. At its ends a series goes on with its first and its last value, so that
series of any length are treated alike.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import combinations

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from noisyrnn.setting import Setting

_WEIGHTS, _HEAVY = 9, 3
_KERNELS = math.comb(_WEIGHTS, _HEAVY)
_GOLDEN = (math.sqrt(5) - 1) / 2
LONGEST = 2**20
"""Instants that dilations and widths follow at the most."""
_APART = 1e-4
_PIECE = 8  # series whose convolutions fit into a processor's cache


class RandomConvolutionsSetting(Setting):
    """Sizes, which follow the length of the training series.

    >>> setting = RandomConvolutionsSetting(steps=140)
    >>> setting.dilations, setting.widths, setting.stride, setting.biases
    ((1, 2, 4, 5, 8, 11, 16), (1, 5, 11), 1, 6)
    """

    steps: int = Field(ge=1, le=LONGEST)
    features: int = Field(default=10_000, ge=1, le=10**6)
    """About how many features there are; each dilation has a multiple of 84."""

    @property
    def dilations(self) -> tuple[int, ...]:
        octaves = math.log2(max(1.0, (self.steps - 1) / (_WEIGHTS - 1)))
        return tuple(sorted({int(2 ** (half / 2)) for half in range(int(2 * octaves) + 1)}))

    @property
    def widths(self) -> tuple[int, ...]:
        """Of the triangles that smooth; 1 is the series itself."""
        half = max(1, round(self.steps / 80))
        return 1, 2 * half + 1, 2 * (2 * half + 1) + 1

    @property
    def stride(self) -> int:
        """Instants from one that is looked at to the next."""
        return max(1, round(self.steps / 256))

    @property
    def biases(self) -> int:
        """Of each kernel, at each dilation and width."""
        return max(1, round(self.features / (_KERNELS * len(self.widths) * len(self.dilations))))


@cache
def _kernels() -> Tensor:
    """(84, 9), each of them once."""
    kernels = torch.full((_KERNELS, _WEIGHTS), -1.0, device="cpu")
    for kernel, heavy in zip(kernels, combinations(range(_WEIGHTS), _HEAVY), strict=True):
        kernel[list(heavy)] = 2.0
    return kernels


def _held(x: Tensor, lengths: Tensor | None) -> Tensor:
    """x (batch, inputs, time) that goes on with its last value beyond its length."""
    if lengths is None:
        return x
    index = torch.arange(x.shape[2], device=x.device).minimum(lengths.clamp(min=1).unsqueeze(1) - 1)
    return x.gather(2, index.unsqueeze(1).expand_as(x))


def _above(z: Tensor, biases: Tensor) -> Tensor:
    """How many values of z (batch, kernels, instants) exceed each bias (biases, kernels, 1), (batch, biases x kernels).

    An exporter is given all at once: what it needs grows with the number of operations.
    """
    if torch.compiler.is_exporting():
        return (z.unsqueeze(1) > biases).to(z.dtype).sum(3).flatten(1)
    numbers = torch.empty_like(z)  # not truth values, whose sums take ten times as long
    return torch.cat([torch.gt(z, bias, out=numbers).sum(2) for bias in biases], dim=1)


class RandomConvolutions(nn.Module):
    """(batch, time, inputs) -> (batch, features), each a share in [0, 1]; nothing in it is trained.

    >>> x = torch.randn(5, 60, 2)
    >>> convolutions = RandomConvolutions(RandomConvolutionsSetting(steps=60, features=1000), inputs=2)
    >>> convolutions.draw(x, None, torch.Generator().manual_seed(0))
    >>> convolutions(x).shape
    torch.Size([5, 1008])
    """

    def __init__(self, setting: RandomConvolutionsSetting, inputs: int) -> None:
        super().__init__()
        self.setting = setting
        sizes = (len(setting.widths), len(setting.dilations), _KERNELS)
        self.channels = nn.Buffer(torch.ones(*sizes, inputs))
        self.biases = nn.Buffer(torch.zeros(*sizes, setting.biases))

    @property
    def features(self) -> int:
        return self.biases.numel()

    @torch.no_grad()
    def draw(self, x: Tensor, lengths: Tensor | None, generator: torch.Generator) -> None:
        """Channels at random, and biases among the values of drawn series of x."""
        inputs, device = self.channels.shape[3], self.channels.device
        if inputs > 1:
            most = math.log2(min(inputs, _WEIGHTS) + 1)
            size = (2 ** (most * torch.rand(*self.channels.shape[:3], 1, generator=generator))).floor()
            rank = torch.rand(self.channels.shape, generator=generator).argsort(-1).argsort(-1)
            self.channels.copy_((rank < size).to(self.channels))
        places = _GOLDEN * torch.arange(1, self.features + 1, dtype=torch.float64)
        places = (places % 1).reshape(self.biases.shape).to(device)
        weights = self._weights()
        for width in range(len(self.setting.widths)):
            for dilation in range(len(self.setting.dilations)):
                drawn = torch.randint(len(x), (_KERNELS,), generator=generator)
                some, ends = x[drawn].to(self.biases), None if lengths is None else lengths[drawn].to(device)
                every = self._convolved(self._smoothed(some, ends, width), weights[width, dilation], dilation)
                own = every[torch.arange(_KERNELS), torch.arange(_KERNELS)]  # each kernel on a series of its own
                counts = self._counts(ends, own.shape[1], len(own), device)
                beyond = torch.arange(own.shape[1], device=device) >= counts.unsqueeze(1)
                ordered = own.masked_fill(beyond, torch.inf).sort(1).values
                index = (places[width, dilation] * (counts - 1).unsqueeze(1)).long()
                above = (index + 1).minimum(counts.unsqueeze(1) - 1)
                # Between values, and a little beyond those that come twice, such as 0 where a series stands still:
                # rounding must not decide on which side of a bias a value lies.
                self.biases[width, dilation] = (ordered.gather(1, index) + ordered.gather(1, above)) / 2 + _APART

    @torch.no_grad()
    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        if torch.compiler.is_exporting():  # the size of the batch is open
            return self._shares(x, lengths)
        pieces = [slice(first, first + _PIECE) for first in range(0, len(x), _PIECE)]
        return torch.cat([self._shares(x[one], None if lengths is None else lengths[one]) for one in pieces])

    def _shares(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        counts = self._counts(lengths, (x.shape[1] - 1) // self.setting.stride + 1, x.shape[0], x.device).unsqueeze(1)
        weights, biases, found = self._weights(), self.biases.mT.unsqueeze(-1), []
        beyond = None
        for width in range(len(self.setting.widths)):
            smoothed = self._smoothed(x, lengths, width)
            for dilation in range(len(self.setting.dilations)):
                z = self._convolved(smoothed, weights[width, dilation], dilation)
                if lengths is not None:
                    if beyond is None:
                        beyond = (torch.arange(z.shape[2], device=z.device) >= counts).unsqueeze(1)
                    z = z.masked_fill(beyond, -torch.inf)
                found.append(_above(z, biases[width, dilation]))
        return torch.cat(found, dim=1) / counts

    @property
    def _margin(self) -> int:
        """Instants that a series goes on for before its beginning and behind its end."""
        return self.setting.dilations[-1] * (_WEIGHTS // 2)

    def _weights(self) -> Tensor:
        """(widths, dilations, 84, inputs, 9)."""
        return _kernels().to(self.channels).unsqueeze(1) * self.channels.unsqueeze(-1)

    def _smoothed(self, x: Tensor, lengths: Tensor | None, width: int) -> Tensor:
        """(batch, inputs, time and a margin at both ends): a copy that holds its first and its last value there."""
        held = _held(x.mT, lengths)
        half = self.setting.widths[width] // 2
        if half:
            triangle = 1 + half - torch.arange(-half, half + 1, device=x.device).abs().to(x)
            weights = (triangle / triangle.sum()).expand(held.shape[1], 1, -1)
            padded = functional.pad(held, (half, half), mode="replicate")
            held = _held(functional.conv1d(padded, weights, groups=held.shape[1]), lengths)
        return functional.pad(held, (self._margin, self._margin), mode="replicate")

    def _convolved(self, smoothed: Tensor, weights: Tensor, dilation: int) -> Tensor:
        """(batch, 84, instants looked at)."""
        step = self.setting.dilations[dilation]
        cut = self._margin - step * (_WEIGHTS // 2)
        within = smoothed[:, :, cut:-cut] if cut else smoothed
        return functional.conv1d(within, weights, stride=self.setting.stride, dilation=step)

    def _counts(self, lengths: Tensor | None, instants: int, series: int, device: torch.device) -> Tensor:
        """How many instants of each series are looked at."""
        if lengths is None:
            return torch.full((series,), instants, device=device)
        return (lengths.clamp(min=1) + self.setting.stride - 1).div(self.setting.stride, rounding_mode="floor")
