r"""The tanh family in eager torch, faster: one matrix product a step, no graph of the loop, gradients by hand.

Every member of the family, in every noise convention, is the affine step

    h_{m+1} = h_m + alpha_m * (A h_m + tanh(W h_m + u_m)) + beta_m

    noise off         alpha = dt                            beta = 0
    Ito convention    alpha = dt + sqrt(dt) sigma_2 xi      beta = sqrt(dt) sigma_1 xi
    released          alpha = dt (1 - m + m U)              beta = s xi

so the step sizes get their gradients through alpha and beta by ordinary autograd. The backward pass stores its local
gradients and makes the weight gradient one large product. Second derivatives recompute the loop with a graph.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def affine_loop(
    u: Tensor, h: Tensor, A: Tensor | None, W: Tensor, alpha: Tensor, beta: Tensor, gate: Tensor | None = None
) -> Tensor:
    """States h_1 .. h_T of the step above, (time, batch, units), with a graph that can be differentiated twice.

    With ``gate``, a drive v, the tanh is multiplied by sigmoid(W h + v).
    """
    outputs = []
    for time in range(u.shape[0]):
        recurrent = h @ W.mT
        drift = torch.tanh(recurrent + u[time])
        if gate is not None:
            drift = torch.sigmoid(recurrent + gate[time]) * drift
        if A is not None:
            drift = h @ A.mT + drift
        h = h + alpha[time] * drift + beta[time]
        outputs.append(h)
    return torch.stack(outputs) if outputs else u


def affine_scan(u: Tensor, h: Tensor, A: Tensor | None, W: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """The same states, without a graph of the loop; alpha and beta are (time, ...), broadcastable to the states."""
    return _AffineScan.apply(u, h, A, W, alpha, beta)


class _AffineScan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, h: Tensor, A: Tensor | None, W: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
        steps, batch, units = u.shape
        joined = _joined(A, W)
        differentiated = any(ctx.needs_input_grad)
        states = u.new_empty(steps + 1, batch, units)
        states[0] = h
        slots = steps if differentiated else 1
        tanhs = u.new_empty(slots, batch, units)
        drifts = u.new_empty(slots if ctx.needs_input_grad[4] else 1, batch, units)
        product = u.new_empty(batch, joined.shape[1])
        for time in range(steps):
            old, new = states[time], states[time + 1]
            squashed = tanhs[time if differentiated else 0]
            torch.mm(old, joined, out=product)
            torch.add(product[:, -units:], u[time], out=squashed)
            torch.tanh(squashed, out=squashed)
            drift = squashed
            if A is not None:
                drift = torch.add(product[:, :units], squashed, out=drifts[time if drifts.shape[0] == steps else 0])
            torch.addcmul(old, drift, alpha[time].expand_as(old), out=new)
            new += beta[time]
        if differentiated:
            ctx.save_for_backward(u, h, A, W, alpha, beta, states, tanhs, drifts)
        return states[1:]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        u, h, A, W, alpha, beta, states, tanhs, drifts = ctx.saved_tensors
        (outer,) = gradients
        if torch.is_grad_enabled():
            return _differentiable(ctx, outer, (u, h, A, W, alpha, beta))
        steps, batch, units = u.shape
        joined = _joined(A, W).mT.contiguous()
        local = u.new_empty(steps, batch, joined.shape[0])
        adjoints = u.new_empty(steps, batch, units)
        later = torch.zeros_like(h)
        for time in reversed(range(steps)):
            adjoint = torch.add(later, outer[time], out=adjoints[time])
            into_drift = local[time][:, :units]
            torch.mul(adjoint, alpha[time].expand_as(adjoint), out=into_drift)
            squashed = tanhs[time]
            slope = torch.addcmul(into_drift, into_drift * squashed, squashed, value=-1)
            local[time][:, -units:] = slope
            later = torch.addmm(adjoint, local[time], joined)
        product = local.reshape(steps * batch, -1).mT @ states[:-1].reshape(steps * batch, units)
        drift = tanhs if A is None else drifts
        return (
            local[..., -units:],
            later,
            None if A is None else product[:units],
            product[-units:],
            (adjoints * drift).sum_to_size(alpha.shape) if ctx.needs_input_grad[4] else None,
            adjoints.sum_to_size(beta.shape) if ctx.needs_input_grad[5] else None,
        )


def _joined(A: Tensor | None, W: Tensor) -> Tensor:
    return (W if A is None else torch.cat((A, W))).mT.contiguous()


def _differentiable(ctx: Any, outer: Tensor, inputs: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """Gradients as a graph of their own, for second derivatives."""
    states = affine_loop(*inputs)  # type: ignore[arg-type]
    asked = [value for value, needed in zip(inputs, ctx.needs_input_grad, strict=True) if needed]
    found = iter(torch.autograd.grad(states, asked, outer, create_graph=True, allow_unused=True))  # type: ignore[arg-type]
    return tuple(next(found) if needed else None for needed in ctx.needs_input_grad)
