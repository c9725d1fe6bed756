"""[z'; y] = maxmin(K z + u) over a whole sequence: the kernel's two passes, and the loop that defines them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from noisyrnn.rnn.native.kernel import empty, module, threads

_BLOCK = 16  # units whose pairs share a byte


def maxmin(v: Tensor) -> Tensor:
    """Each pair of neighbours in order, the larger first.

    >>> maxmin(torch.tensor([1.0, 2.0, 4.0, 3.0]))
    tensor([2., 1., 4., 3.])
    """
    pairs = v.unflatten(-1, (-1, 2))
    # By a choice rather than by a maximum, whose gradient torch divides between equals.
    return torch.where(pairs[..., :1] < pairs[..., 1:], pairs.flip(-1), pairs).flatten(-2)


class Wanted(NamedTuple):
    """What is asked for besides the last z and y: outputs, their sum over the valid steps, states."""

    outputs: bool
    total: bool
    states: bool
    lengths: Tensor | None


class Made(NamedTuple):
    """Outputs (time, batch, p), their sum (batch, p), the last z and y; z of all steps and moved pairs, as bits."""

    outputs: Tensor | None
    total: Tensor | None
    last_z: Tensor
    last_y: Tensor
    kept: Tensor | None
    moved: Tensor | None


def moved_bytes(rows: int) -> int:
    """Bytes that say which pairs of a step were exchanged.

    >>> moved_bytes(16), moved_bytes(18)
    (1, 2)
    """
    return -(-rows // _BLOCK)


def forward(wanted: Wanted, tensors: Sequence[Any], *, keep: bool) -> Made:
    """The scan by the kernel; with ``keep`` also what its backward pass needs."""
    sequence, z0, y0, K, U, b = (_plain(t) for t in tensors)
    steps, batch, dtype = len(sequence), len(z0), z0.dtype
    made = Made(
        outputs=empty((steps, *y0.shape), dtype) if wanted.outputs else None,
        total=torch.empty_like(y0) if wanted.total else None,
        last_z=torch.empty_like(z0),
        last_y=torch.empty_like(y0),
        kept=empty((steps, *z0.shape), dtype) if keep or wanted.states else None,
        moved=torch.empty((steps, batch, moved_bytes(len(K))), dtype=torch.uint8) if keep else None,
    )
    module().maxmin_forward(_common(wanted, sequence, U, b), z0=z0, y0=y0, K=K, **made._asdict())
    return made


def backward(
    wanted: Wanted,
    tensors: Sequence[Any],
    kept: Tensor,
    moved: Tensor,
    need: Sequence[bool],
    gradients: Sequence[Tensor | None],
) -> list[Tensor | None]:
    """Gradients of the tensors that need one, given those of outputs, total, last z and last y."""
    plain = [_plain(t) for t in tensors]
    sequence, z0, y0, K, U, b = plain
    found = [empty(t.shape, t.dtype) if needed else None for t, needed in zip(plain, need, strict=True)]
    g_sequence, g_z0, g_y0, g_K, g_U, g_b = found
    g_outputs, g_total, g_last_z, g_last_y = (_plain(g) for g in gradients)
    into = module().InputGradients(**{"drive" if U is None else "x": g_sequence, "U": g_U, "b": g_b})
    module().maxmin_backward(
        _common(wanted, sequence, U, b), z0=z0, y0=y0, K=K, kept=kept, moved=moved, g_outputs=g_outputs,
        g_total=g_total, g_last_z=g_last_z, g_last_y=g_last_y, gradients=into, g_z0=g_z0, g_y0=g_y0, g_K=g_K,
    )  # fmt: skip
    return found


def loop(tensors: Sequence[Any], lengths: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Outputs, their sum over the valid steps, last z and y, step by step in torch: for second derivatives."""
    sequence, z, y, K, U, b = tensors
    drives = sequence if U is None else torch.nn.functional.linear(sequence, U, b)
    outputs, total = [], torch.zeros_like(y)
    for step in range(len(sequence)):
        w = maxmin(z @ K.mT + drives[step])
        if lengths is None:
            z, y = w[:, : z.shape[1]], w[:, z.shape[1] :]
            total = total + y
        else:
            valid = (step < lengths).unsqueeze(1)
            z, y = torch.where(valid, w[:, : z.shape[1]], z), torch.where(valid, w[:, z.shape[1] :], y)
            total = total + y * valid
        outputs.append(y)
    return torch.stack(outputs) if outputs else y.new_zeros(0, *y.shape), total, z, y


def _common(wanted: Wanted, sequence: Tensor, U: Tensor | None, b: Tensor | None) -> Any:
    given = {"drive": sequence} if U is None else {"x": sequence, "U": U, "b": b}
    return module().Common(**given, lengths=wanted.lengths, chunk=0, threads=threads())


def _plain(tensor: Tensor | None) -> Any:
    return None if tensor is None else tensor.detach().contiguous()
