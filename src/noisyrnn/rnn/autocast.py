"""Automatic mixed precision: a recurrence stays in the precision of its weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


def in_full_precision(layer: nn.Module, x: Tensor, h_0: Tensor | tuple[Tensor, ...] | None, **call: Any) -> Any:
    """``layer(x, h_0)`` outside ``torch.autocast``, inputs brought up to the precision of the weights.

    A state that hundreds of small steps are added to loses them in half precision, and the noise with them.

    >>> import noisyrnn
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     noisyrnn.NoisyRNN(2, 4)(torch.zeros(3, 1, 2, dtype=torch.bfloat16))[0].dtype
    torch.float32
    """
    kind = next((weight.dtype for weight in layer.parameters()), x.dtype)
    states = h_0 if isinstance(h_0, tuple) or h_0 is None else (h_0,)
    raised = None if states is None else tuple(state.to(kind) for state in states)
    with torch.autocast(x.device.type, enabled=False):
        return layer(x.to(kind), raised, **call)
