r"""The network that the theorems speak of: an Euler-Maruyama chain and a linear readout, given by formulas.

    h_{m+1} = h_m + dt_m f(h_m, x_m) + eps sqrt(dt_m) g(h_m, x_m) xi_m,   m = 0 .. M-1,      logits = V h_M + c

(Lim et al. 2021, equation 7 with the rescaling of Section 4.) eps is applied once: the paper puts it inside sigma in
Section 3 and in front of it in Section 4. The noise that the paper's authors released,

    h_{m+1} = h_m + dt (1 - m + m U) f(h_m, x_m) + s xi_m,     U uniform on [0, 1) for each unit,

has covariance Sigma = s^2 I + diag((m dt f)^2) / 12 in one step, and the mean -(m / 2) dt f, which no theorem has.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from noisyrnn.rnn.pooling import Pooling
from noisyrnn.sde import Coupling, Diffusion, Drift, Scheme, Silence, StateStep, StepSize, euler_maruyama
from noisyrnn.sde.drift_factor import UniformFactor
from noisyrnn.theory.system.loss import CrossEntropy
from noisyrnn.theory.system.noise_factor import NoiseFactor
from noisyrnn.types import Sequence, State


@dataclass(frozen=True, kw_only=True)
class Released:
    """dt (1 - m + m U) f + s xi: the released noise, with m = ``multiplicative`` and s from the diffusion.

    ``centred`` takes the mean out, dt (1 + m (U - 1/2)) f: see :meth:`Network.centred`.
    """

    multiplicative: float
    centred: bool = False

    def __post_init__(self) -> None:
        UniformFactor(self.multiplicative)


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """h' = h + dt f + noise, logits = V h_M + c, from explicit matrices.

    Parameters
    ----------
    drift, diffusion
        f and g; without a diffusion there is no noise.
    dt
        Step sizes, anything that broadcasts to (batch, time, units): a number, one per unit (units,), one per input
        (time, 1), or one per sample and input (batch, time, 1).
    V, c
        Readout (classes, units) and its offset (classes,); needed wherever classes are.
    h0
        Start, (units,) or (batch, units); zero by default.
    released
        The noise that the paper's authors released, in place of Euler-Maruyama's.

    Examples
    --------
    >>> from noisyrnn.sde import TanhDrift
    >>> drift = TanhDrift(A=-torch.eye(2), W=torch.eye(2), U=torch.ones(2, 1), b=torch.zeros(2))
    >>> Network(drift=drift, dt=0.5, V=torch.eye(2)).logits(torch.ones(1, 3, 1))
    tensor([[0.7786, 0.7786]])
    """

    drift: Drift
    dt: Tensor | float
    diffusion: Diffusion = field(default_factory=Silence)
    V: Tensor | None = None
    c: Tensor | None = None
    h0: Tensor | None = None
    released: Released | None = None

    def __post_init__(self) -> None:
        coupling = self.diffusion.coupling
        if self.released is not None and coupling not in Coupling.SILENT | Coupling.ADDITIVE:
            raise ValueError(
                f"The released noise adds s xi with a constant s, got {type(self.diffusion).__name__} with "
                f"{coupling.name} coupling; use AdditiveNoise, or leave released out."
            )
        rooted, steps = self.released is None and coupling is not Coupling.SILENT, torch.as_tensor(self.dt)
        if rooted and bool((steps <= 0).any()):
            raise ValueError(
                "Euler-Maruyama noise takes the square root of dt, which needs dt > 0, got "
                f"{int((steps <= 0).sum())} of {steps.numel()} steps at or below 0, the smallest {steps.min():g}; use "
                "positive steps, diffusion=Silence(), or noise without the root, released=Released(multiplicative=0)."
            )

    @classmethod
    def of(
        cls,
        sde: Any,
        *,
        step: StepSize | Tensor | float,
        readout: nn.Linear | None = None,
        scheme: Scheme = euler_maruyama,
        h0: Tensor | None = None,
    ) -> Network:
        """The network of a cell's parts, with the history of its matrices: a regulariser can be trained through them.

        Parameters
        ----------
        sde
            The cell's drift and diffusion.
        step
            Its step size, which must not depend on the state.
        readout
            The linear layer behind it.
        scheme
            ``euler_maruyama``, or the scheme of the released noise.
        h0
            Start, zero by default.

        Returns
        -------
        Network

        Examples
        --------
        >>> from noisyrnn.sde import SDE, TanhDrift
        >>> drift = TanhDrift(A=-torch.eye(2), W=torch.eye(2), U=torch.ones(2, 1), b=torch.zeros(2))
        >>> Network.of(SDE(drift), step=0.5).units
        2
        """
        factor = scheme.drift_factor
        if scheme is not euler_maruyama and not isinstance(factor, UniformFactor):
            raise ValueError(
                f"The theorems are about Euler-Maruyama steps (and the released noise), got {scheme.name}; "
                "use noise_laplacian, which differentiates any path of any scheme."
            )
        if isinstance(step, StateStep):
            raise ValueError(
                "The theorems need steps that do not depend on the state, got StateStep; use ConstantStep, LearnedStep "
                "or a tensor of step sizes."
            )
        built = sde.built()
        return cls(
            drift=built.drift,
            diffusion=built.diffusion,
            dt=step(torch.empty(0), lambda: torch.empty(0)) if isinstance(step, StepSize) else step,
            V=None if readout is None else readout.weight,
            c=None if readout is None else readout.bias,
            h0=h0,
            released=Released(multiplicative=factor.multiplicative) if isinstance(factor, UniformFactor) else None,
        )

    @classmethod
    def of_classifier(cls, model: Any) -> Network:
        """The network of a trained classifier: one layer of an SDE cell, in one direction, with its readout.

        >>> from noisyrnn.models.tanh import NoisyRNN
        >>> from noisyrnn.rnn.network import Classifier
        >>> model = Classifier(NoisyRNN(1, 8), classes=3).eval()
        >>> x = torch.randn(2, 5, 1)
        >>> bool(torch.allclose(Network.of_classifier(model).logits(x), model(x), atol=1e-6))
        True
        """
        if model.pooling is not Pooling.LAST:
            raise ValueError(
                f"The theorems are about a readout of the last state, but this classifier pools by "
                f"{model.pooling.value}; use pooling=Pooling.LAST (smoothing certifies any model)."
            )
        layer = model.layer
        cell = layer.cells[0] if len(getattr(layer, "cells", ())) == 1 else None
        sde = getattr(cell, "sde", None)
        if cell is None or sde is None:
            raise ValueError(
                f"The theorems are about one layer of an SDE cell in one direction, got {type(layer).__name__}; "
                "use a single noisy, Lipschitz or antisymmetric layer (smoothing certifies any model)."
            )
        if cell.substeps > 1:
            raise ValueError(
                f"The theorems count one step per input, got substeps={cell.substeps}; use Network.of with "
                "dt / substeps and repeat each input as often."
            )
        return cls.of(sde, step=cell.step_size, readout=model.readout, scheme=cell.scheme)

    @property
    def units(self) -> int:
        return self.drift.units

    def centred(self) -> Network:
        """The same released noise about its own mean: dt -> (1 - m/2) dt, m -> m / (1 - m/2), without bias.

        Expanding about this network leaves an error of fourth order, about the noise-free one of second order.

        >>> from noisyrnn.sde import TanhDrift
        >>> drift = TanhDrift(A=None, W=torch.eye(1), U=torch.ones(1, 1), b=torch.zeros(1))
        >>> Network(drift=drift, dt=0.5, released=Released(multiplicative=1.0)).centred().dt
        0.25
        """
        if self.released is None or self.released.centred:
            return self
        mean = 1 - self.released.multiplicative / 2
        if mean == 0:
            raise ValueError(
                "Released noise with multiplicative = 2 has a drift of mean zero, which has no centred form; "
                "use a smaller strength."
            )
        centred = Released(multiplicative=abs(self.released.multiplicative / mean), centred=True)
        return replace(self, dt=self.dt * mean, released=centred)

    def part(self, samples: slice) -> Network:
        """The network as these samples of a batch see it: steps and starts given per sample are cut to them."""
        dt = self.dt[samples] if isinstance(self.dt, Tensor) and self.dt.ndim == 3 and len(self.dt) > 1 else self.dt
        h0 = self.h0[samples] if self.h0 is not None and self.h0.ndim == 2 and len(self.h0) > 1 else self.h0
        return replace(self, dt=dt, h0=h0)

    def start(self, x: Sequence) -> State:
        """h_0 for each sample of x."""
        if self.h0 is None:
            return x.new_zeros(x.shape[0], self.units)
        return self.h0.expand(x.shape[0], self.units)

    def steps(self, x: Sequence) -> Float[Tensor, "time batch units"]:
        """dt for each step, sample and unit, time first."""
        return self._broadcast(torch.as_tensor(self.dt, dtype=x.dtype, device=x.device), x)

    def root_steps(self, x: Sequence) -> Float[Tensor, "time batch units"]:
        """sqrt(dt) in the same shape, each distinct root taken once."""
        return self._broadcast(torch.as_tensor(self.dt, dtype=x.dtype, device=x.device).sqrt(), x)

    def _broadcast(self, dt: Tensor, x: Sequence) -> Tensor:
        batch, time, _ = x.shape
        try:
            return dt.broadcast_to(batch, time, self.units).transpose(0, 1)
        except RuntimeError:
            raise ValueError(
                f"dt must broadcast to (batch, time, units) = {(batch, time, self.units)}, got {tuple(dt.shape)}; "
                "give one step per input as a column, (time, 1)."
            ) from None

    def readout(self, h: State) -> Float[Tensor, "*batch classes"]:
        """z = V h + c."""
        if self.V is None:
            raise ValueError("This network has no readout; give Network(..., V=matrix).")
        return nn.functional.linear(h, self.V, self.c)

    def cross_entropy(self, y: Int[Tensor, " batch"]) -> CrossEntropy:
        """-log softmax(V h + c)_y as a loss of the hidden state."""
        if self.V is None:
            raise ValueError("This network has no readout; give Network(..., V=matrix).")
        return CrossEntropy(V=self.V, c=self.c, y=y)

    def logits(self, x: Sequence) -> Float[Tensor, "batch classes"]:
        """V hbar_M + c, the noise-free network's answer."""
        h = self.start(x)
        for u, dt in zip(self.drift.encode(x).unbind(1), self.steps(x), strict=True):
            h = h + dt * self.drift(h, u)
        return self.readout(h)

    def noise(self, h: State, f: State, dt: Tensor, xi: Tensor, uniforms: Tensor | None = None) -> State:
        """What the noise adds to h in one step: sqrt(dt) g xi, or s xi - m (1 - U) dt f as released."""
        if self.released is None:
            return dt.sqrt() * self.diffusion(h, f, xi)
        kick = self.diffusion(h, f, xi)
        m = self.released.multiplicative
        if m == 0:
            return kick
        if uniforms is None:
            raise ValueError("Released multiplicative noise needs uniform numbers; pass uniforms=uniform(...).")
        return kick + m * (uniforms - (0.5 if self.released.centred else 1.0)) * dt * f

    def bias(self, f: State, dt: Tensor) -> State:
        """Mean of the noise of one step: -(m / 2) dt f as released, else 0."""
        if self.released is None or self.released.centred:
            return torch.zeros_like(f)
        return -0.5 * self.released.multiplicative * dt * f

    def noise_factor(self, h: State, f: State, dt: Tensor) -> NoiseFactor:
        """N with N N^T = covariance of the noise of one step."""
        if self.released is None:
            root = dt.sqrt() if self.diffusion.coupling is not Coupling.SILENT else dt
            if self.diffusion.diagonal:
                return NoiseFactor(root * self.diffusion(h, f, torch.ones_like(h)), diagonal=True)
            return NoiseFactor(root.unsqueeze(-1) * self.diffusion.matrix(h, f), diagonal=False)
        factor = self.released.multiplicative / 12**0.5 * dt * f
        if self.diffusion.diagonal or self.diffusion.coupling is Coupling.SILENT:
            s = self.diffusion(h, f, torch.ones_like(h))
            return NoiseFactor((s.square() + factor.square()).sqrt(), diagonal=True)
        dense = self.diffusion.matrix(h, f).expand(*h.shape, -1)
        return NoiseFactor(torch.cat((dense, torch.diag_embed(factor.expand_as(h))), dim=-1), diagonal=False)
