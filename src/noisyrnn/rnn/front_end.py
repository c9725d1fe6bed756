r"""A front end for long series: a strided convolution that leaves a recurrent layer about 64 steps.

    z = GELU(norm(K * x)),   stride s = max(1, round(T / 64)), width 4 s + 3 (odd, at most T)

Symmetric windows and one norm over all steps by default; ``causal=True`` looks at the past only, with a norm for each
step by itself, and can be streamed. Steps beyond a series' length neither enter windows nor norms.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from noisyrnn.rnn.lengths import zero_beyond

STEPS = 64
"""About how many steps a front end leaves."""


def stride_rule(steps: int) -> tuple[int, int]:
    """(stride, width) for series of ``steps`` instants.

    >>> stride_rule(24), stride_rule(140), stride_rule(500)
    ((1, 7), (2, 11), (8, 35))
    """
    stride = max(1, round(steps / STEPS))
    return stride, max(1, min(4 * stride + 3, steps - 1 + steps % 2))


class FrontEnd(nn.Module):
    """(batch, time, inputs) -> (batch, ceil(time / stride), features), and lengths along with it.

    >>> front = FrontEnd(3, 8, stride=4, width=9)
    >>> z, lengths = front(torch.randn(2, 50, 3), torch.tensor([50, 6]))
    >>> z.shape, lengths
    (torch.Size([2, 13, 8]), tensor([13,  2]))
    """

    def __init__(self, inputs: int, features: int = 32, *, stride: int = 1, width: int = 7, causal: bool = False):
        super().__init__()
        if stride < 1 or width < 1 or width % 2 == 0:
            raise ValueError(f"A front end needs a stride of at least 1 and an odd width, got {stride} and {width}.")
        self.stride, self.width, self.causal = stride, width, causal
        self.convolution = nn.Conv1d(inputs, features, width, stride)
        self.norm: nn.Module = nn.LayerNorm(features) if causal else nn.GroupNorm(1, features)

    @property
    def features(self) -> int:
        return self.convolution.out_channels

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Features of x, and how many of their steps are valid."""
        if x.ndim != 3 or x.shape[2] != self.convolution.in_channels:
            raise ValueError(
                f"This front end takes (batch, time, {self.convolution.in_channels}), got shape {tuple(x.shape)}."
            )
        left = self.width - 1 if self.causal else self.width // 2
        turned = zero_beyond(x.transpose(0, 1), lengths).permute(1, 2, 0)
        z = self.convolution(nn.functional.pad(turned, (left, self.width - 1 - left)))
        counts = self.lengths_after(lengths)
        if self.causal:
            z = self.norm(z.mT)
        elif counts is None:
            z = self.norm(z).mT
        else:
            z = self._norm_within(z, counts).mT
        z = nn.functional.gelu(z)
        return (z if counts is None else zero_beyond(z.transpose(0, 1), counts).transpose(0, 1)), counts

    def lengths_after(self, lengths: Tensor | None) -> Tensor | None:
        """Valid steps that are left of a series of this length."""
        return None if lengths is None else torch.div(lengths + self.stride - 1, self.stride, rounding_mode="floor")

    def step_sizes(self, dt: Tensor) -> Tensor:
        """Step sizes (batch, steps left) of sizes (batch, time): the mean since the step before.

        >>> FrontEnd(1, stride=2).step_sizes(torch.tensor([[1.0, 2.0, 4.0, 1.0]])).tolist()
        [[1.0, 3.0]]
        """
        elapsed = dt.cumsum(1)[:, :: self.stride]
        return torch.cat([dt[:, :1], elapsed.diff(dim=1) / self.stride], dim=1)

    def _norm_within(self, z: Tensor, counts: Tensor) -> Tensor:
        """GroupNorm of one group over the valid steps of each series."""
        assert isinstance(self.norm, nn.GroupNorm)
        valid = (torch.arange(z.shape[2], device=z.device) < counts.unsqueeze(1)).unsqueeze(1).to(z)
        size = (counts * z.shape[1]).clamp(min=1).reshape(-1, 1, 1).to(z)
        mean = (z * valid).sum((1, 2), keepdim=True) / size
        spread = ((z - mean).square() * valid).sum((1, 2), keepdim=True) / size
        scaled = (z - mean) * torch.rsqrt(spread + self.norm.eps)
        return scaled * self.norm.weight.unsqueeze(1) + self.norm.bias.unsqueeze(1)
