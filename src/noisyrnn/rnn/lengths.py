"""Sequences of unequal length: a count of valid steps for each sample, and reversal within it."""

from __future__ import annotations

import torch
from torch import Tensor

from noisyrnn.rnn.tracing import traced


def checked_lengths(
    lengths: Tensor | None, mask: Tensor | None, *, batch: int, steps: int, device: torch.device
) -> Tensor | None:
    """Number of valid steps of each sample, from ``lengths`` (batch) or a prefix ``mask`` (batch, time).

    >>> mask = torch.tensor([[True, True, False]])
    >>> checked_lengths(None, mask, batch=1, steps=3, device=torch.device("cpu"))
    tensor([2])
    """
    if lengths is not None and mask is not None:
        raise ValueError("Give lengths or mask, not both.")
    if mask is not None:
        if mask.dtype != torch.bool or tuple(mask.shape) != (batch, steps):
            raise ValueError(
                f"mask must be boolean of shape (batch, time) = ({batch}, {steps}), "
                f"got {mask.dtype} {tuple(mask.shape)}."
            )
        lengths = mask.sum(1)
        # What depends on values is not looked at where there are none yet.
        if not traced() and not bool((mask == (torch.arange(steps, device=mask.device) < lengths.unsqueeze(1))).all()):
            raise ValueError(
                "mask must be True up to a sequence's end and False after it; "
                "for gaps inside a sequence drop those steps and pass their durations as dt."
            )
    if lengths is None:
        return None
    lengths = torch.as_tensor(lengths, device=device)
    if lengths.dtype not in (torch.int32, torch.int64) or tuple(lengths.shape) != (batch,):
        raise ValueError(
            f"lengths must be one whole number for each of the {batch} samples, "
            f"got {lengths.dtype} {tuple(lengths.shape)}."
        )
    if not traced() and (bool((lengths < 0).any()) or bool((lengths > steps).any())):
        raise ValueError(f"lengths must lie between 0 and the {steps} steps of the input, got {lengths.tolist()}.")
    return lengths.long()


def zero_beyond(x: Tensor, lengths: Tensor | None) -> Tensor:
    """x (time, batch, ...) with zeros beyond each sample's length, whatever stood there.

    What is multiplied by zero or passed over by ``torch.where`` later has a gradient of 0 times it: NaN, where it was
    not finite. So it must not be there in the first place.

    >>> zero_beyond(torch.tensor([[1.0], [torch.nan]]), torch.tensor([1]))
    tensor([[1.],
            [0.]])
    """
    if lengths is None:
        return x
    beyond = torch.arange(x.shape[0], device=x.device).unsqueeze(1) >= lengths
    return x.masked_fill(beyond.reshape(*beyond.shape, *[1] * (x.ndim - 2)), 0)


def reversed_in_time(x: Tensor, lengths: Tensor | None) -> Tensor:
    """x (time, batch, ...) backwards, each sample within its own length; what is beyond stays where it is.

    >>> reversed_in_time(torch.arange(3.0).reshape(3, 1, 1), torch.tensor([2])).flatten()
    tensor([1., 0., 2.])
    """
    if lengths is None:
        return x.flip(0)
    time = torch.arange(x.shape[0], device=x.device).unsqueeze(1)
    index = torch.where(time < lengths, lengths - 1 - time, time)
    return x.gather(0, index.reshape(*index.shape, *[1] * (x.ndim - 2)).expand_as(x))
