r"""The tanh family in eager torch, faster: one matrix product per step, no graph of the loop, gradients by hand.

Every member of the family, in every noise convention, is the affine step

    h_{m+1} = h_m + alpha_m * (A h_m + tanh(W h_m + u_m)) + beta_m

    noise off         alpha = dt                            beta = 0
    Ito convention    alpha = dt + sqrt(dt) sigma_2 xi      beta = sqrt(dt) sigma_1 xi
    released          alpha = dt (1 - m + m U)              beta = s xi

The backward pass collects the factors of the weight gradient over all steps and multiplies them at once: whoever calls
it takes as many steps as stay near at hand. Second derivatives recompute the loop with a graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from noisyrnn.sde.convention import NoiseLaw


@dataclass(frozen=True)
class StepLaw:
    """alpha and beta of the step above, from the step size and the noise of that step.

    ``factors`` are 1 - m + m U of all steps; ``valid`` (time, batch, 1) is false beyond a sequence's end, where alpha
    and beta are zero.
    """

    noise: NoiseLaw
    xi: Tensor | None = None
    factors: Tensor | None = None
    valid: Tensor | None = None

    @classmethod
    def of(cls, noise: NoiseLaw, xi: Tensor | None, uniforms: Tensor | None, valid: Tensor | None) -> StepLaw:
        """From the numbers that were drawn."""
        if not noise.released or uniforms is None:
            return cls(noise, xi, None, valid)
        return cls(noise, xi, uniforms * noise.multiplicative + (1 - noise.multiplicative), valid)

    def alpha(self, time: int, dt: Tensor) -> Tensor:
        """Factor of the drift."""
        size = dt
        if self.factors is not None:
            size = dt * self.factors[time]
        elif self.xi is not None and self._spread:
            size = torch.addcmul(dt, dt.sqrt() * self.noise.multiplicative, self.xi[time])
        return size if self.valid is None else size * self.valid[time]

    def beta(self, time: int, dt: Tensor) -> Tensor | None:
        """What is added to the state, if anything."""
        additive = self.noise.additive
        if self.xi is None or additive is None:
            return None
        strength = additive if self.noise.released else dt.sqrt() * additive
        added = self.xi[time] * strength
        return added if self.valid is None else added * self.valid[time]

    def add_beta(self, state: Tensor, time: int, dt: Tensor) -> None:
        """The same, added in place, in one operation where the strength is a number."""
        additive = self.noise.additive
        if self.noise.released and self.valid is None and self.xi is not None and isinstance(additive, float):
            state.add_(self.xi[time], alpha=additive)
        elif (beta := self.beta(time, dt)) is not None:
            state += beta

    def slope(self, time: int, dt: Tensor, drift: Tensor) -> Tensor:
        """Derivative of the next state in the step size."""
        additive = self.noise.additive
        if self.noise.released:
            found = drift if self.factors is None else drift * self.factors[time]
        elif self.xi is not None and additive is not None:
            found = drift + (additive + self.noise.multiplicative * drift) * self.xi[time] / (2 * dt.sqrt())
        else:
            found = drift
        return found if self.valid is None else found * self.valid[time]

    @property
    def _spread(self) -> bool:
        """Whether Gaussian noise multiplies the drift, as in the Ito convention."""
        law = self.noise
        used = isinstance(law.multiplicative, Tensor) or law.multiplicative != 0
        return not law.released and law.additive is not None and used


def affine_loop(
    u: Tensor, h: Tensor, A: Tensor | None, W: Tensor, dt: Tensor, law: StepLaw, gate: Tensor | None = None
) -> Tensor:
    """States h_1 .. h_T of the step above, (time, batch, units), with a graph that can be differentiated twice.

    ``dt`` is (time, 1 or batch, 1 or units). With ``gate``, a drive v, the tanh is multiplied by sigmoid(W h + v).
    """
    outputs = []
    for time in range(u.shape[0]):
        recurrent = h @ W.mT
        drift = torch.tanh(recurrent + u[time])
        if gate is not None:
            drift = torch.sigmoid(recurrent + gate[time]) * drift
        if A is not None:
            drift = h @ A.mT + drift
        beta = law.beta(time, dt[time])
        h = h + law.alpha(time, dt[time]) * drift
        h = h if beta is None else h + beta
        outputs.append(h)
    return torch.stack(outputs) if outputs else u


def affine_scan(u: Tensor, h: Tensor, A: Tensor | None, W: Tensor, dt: Tensor, law: StepLaw) -> tuple[Tensor, Tensor]:
    """The same states, and the last of them, without a graph of the loop."""
    states, last = _AffineScan.apply(u, h, A, W, dt, law)
    return states, last


class _AffineScan(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, u: Tensor, h: Tensor, A: Tensor | None, W: Tensor, dt: Tensor, law: StepLaw
    ) -> tuple[Tensor, Tensor]:
        steps, batch, units = u.shape
        joined = _joint_matrix(A, W)
        wanted, dt_wanted = any(ctx.needs_input_grad), ctx.needs_input_grad[4]
        states = u.new_empty(steps + 1, batch, units)
        states[0] = h
        tanhs = u.new_empty(steps if wanted else 1, batch, units)
        # Without A the drift is the tanh.
        drifts = u.new_empty(steps if dt_wanted else 1, batch, units) if A is not None else tanhs
        product = u.new_empty(batch, joined.shape[1])
        for time in range(steps):
            old, new = states[time], states[time + 1]
            squashed, drift = tanhs[time % len(tanhs)], drifts[time % len(drifts)]
            torch.mm(old, joined, out=product)
            torch.add(product[:, -units:], u[time], out=squashed).tanh_()
            if A is not None:
                torch.add(product[:, :units], squashed, out=drift)
            torch.addcmul(old, drift, law.alpha(time, dt[time]), out=new)
            law.add_beta(new, time, dt[time])
        if wanted:
            ctx.save_for_backward(u, h, A, W, dt, states, tanhs, drifts)
            ctx.law = law
        ctx.set_materialize_grads(False)
        return states[1:], states[-1].clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        u, h, A, W, dt, states, tanhs, drifts = ctx.saved_tensors
        law: StepLaw = ctx.law
        if torch.is_grad_enabled():
            return (*_differentiable(ctx, gradients, u, h, A, W, dt), None)
        of_states, of_last = gradients
        steps, batch, units = u.shape
        joined = _joint_matrix(A, W).mT.contiguous()
        constant = _constant(dt)
        g_dt = torch.zeros_like(dt) if ctx.needs_input_grad[4] and not constant else None
        sloped = torch.zeros_like(h) if ctx.needs_input_grad[4] and constant else None
        # Gradients of what is multiplied by A and of what is added to W h, side by side: the latter are those of u.
        local = u.new_empty(steps, batch, joined.shape[0])
        g_u = local[..., -units:]
        adjoint = torch.zeros_like(h) if of_last is None else of_last
        for time in reversed(range(steps)):
            if of_states is not None:
                adjoint = adjoint + of_states[time]
            into_drift = local[time, :, :units] if A is not None else torch.empty_like(adjoint)
            torch.mul(adjoint, law.alpha(time, dt[time]), out=into_drift)
            squashed = tanhs[time]
            torch.addcmul(into_drift, into_drift * squashed, squashed, value=-1, out=g_u[time])
            if sloped is not None:
                sloped.addcmul_(law.slope(time, dt[time], drifts[time]), adjoint)
            elif g_dt is not None:
                g_dt[time] = (law.slope(time, dt[time], drifts[time]) * adjoint).sum_to_size(dt.shape[1:])
            adjoint = torch.addmm(adjoint, local[time], joined)
        product = local.reshape(steps * batch, -1).mT @ states[:-1].reshape(steps * batch, units)
        if sloped is not None:
            # The caller's view of one step sums over time, which the first has for all.
            first = sloped.sum_to_size(dt.shape[1:])
            g_dt = torch.cat((first.unsqueeze(0), first.new_zeros(()).expand(steps - 1, *first.shape)))
        return g_u, adjoint, None if A is None else product[:units], product[-units:], g_dt, None


def _constant(dt: Tensor) -> bool:
    """Whether every step has the same size: a view of one."""
    return dt.stride(0) == 0


def _joint_matrix(A: Tensor | None, W: Tensor) -> Tensor:
    return (W if A is None else torch.cat((A, W))).mT.contiguous()


def _differentiable(
    ctx: Any, gradients: tuple[Tensor | None, ...], u: Tensor, h: Tensor, A: Tensor | None, W: Tensor, dt: Tensor
) -> tuple[Tensor | None, ...]:
    """Gradients as a graph of their own, for second derivatives."""
    states = affine_loop(u, h, A, W, dt, ctx.law)
    given = [(o, g) for o, g in zip((states, states[-1]), gradients, strict=True) if g is not None]
    inputs = (u, h, A, W, dt)
    needed = ctx.needs_input_grad[: len(inputs)]
    asked = [value for value, wanted in zip(inputs, needed, strict=True) if wanted and value is not None]
    outputs, outer = [o for o, _ in given], [g for _, g in given]
    found = iter(torch.autograd.grad(outputs, asked, outer, create_graph=True, allow_unused=True))
    return tuple(next(found) if wanted else None for wanted in needed)
