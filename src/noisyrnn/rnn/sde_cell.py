r"""The cell of the paper: dh = f dt + g dB, one scheme step (or several smaller ones) for each input.

If it is of the tanh family, f = A h + tanh(W h + u) with noise of either convention, it has a fast path
(``rnn.tanh_fast_path``).
"""

from __future__ import annotations

from torch import Tensor

from noisyrnn.rnn.cell import Cell, States
from noisyrnn.rnn.tanh_fast_path import TanhFastPath
from noisyrnn.sde.diffusion import Diffusion, Silence
from noisyrnn.sde.drift import Drift
from noisyrnn.sde.schemes import Scheme, euler_maruyama
from noisyrnn.sde.steps import ConstantStep, StepSize
from noisyrnn.sde.system import SDE, Calculus


class SDECell(Cell):
    r"""dh = f dt + g dB, advanced by one scheme step of size dt (or several smaller ones) for each input.

    Parameters
    ----------
    drift, diffusion
        f and g; without a diffusion g = 0.
    dt
        Step size: a number, or a rule that learns it or reads it off the state.
    scheme, calculus
        How a step is made, and in which sense dB is meant.
    substeps
        Number of smaller steps for each input, which is held meanwhile.
    inputs
        Number of input features; by default what the drift says, or else one per unit.

    Examples
    --------
    >>> import torch
    >>> from noisyrnn.sde import AdditiveNoise, TanhDrift
    >>> drift = TanhDrift(A=-torch.eye(3), W=torch.eye(3), U=torch.ones(3, 1), b=torch.zeros(3))
    >>> SDECell(drift, AdditiveNoise(0.1), dt=0.1).noises
    3

    Wrong combinations are refused here, with the remedy:

    >>> from noisyrnn.sde import DriftNoise, milstein
    >>> SDECell(drift, DriftNoise(multiplicative=0.1), scheme=milstein, dt=0.1)
    Traceback (most recent call last):
    ValueError: Scheme milstein is not right for COUPLED noise (DriftNoise): it handles SILENT, ADDITIVE, DIAGONAL,
    COMMON. Use euler_maruyama, which is right for any noise.
    """

    timed = True
    scheme: Scheme

    def __init__(
        self,
        drift: Drift,
        diffusion: Diffusion | None = None,
        *,
        dt: float | StepSize,
        scheme: Scheme = euler_maruyama,
        calculus: Calculus = Calculus.ITO,
        substeps: int = 1,
        inputs: int | None = None,
    ) -> None:
        # A drift that does not say how many inputs it takes is driven as it is, one input per unit.
        super().__init__(getattr(drift, "inputs", drift.units) if inputs is None else inputs, drift.units)
        if substeps < 1:
            raise ValueError(f"substeps must be at least 1, got {substeps}.")
        system = SDE(drift, diffusion, calculus=calculus)
        step_size = dt if isinstance(dt, StepSize) else ConstantStep(dt)
        scheme.check(system, step_size)
        self._hold(system, step_size, scheme, substeps)

    def _hold(self, system: SDE, step_size: StepSize, scheme: Scheme, substeps: int) -> None:
        self.sde = system
        # Saved networks know it by this name.
        self.length = step_size
        # A module asks of each thing that it is given what it is, which takes long beside a short sequence.
        vars(self).update(scheme=scheme, substeps=substeps, noises=system.noises, takes_uniforms=scheme.takes_uniforms)

    @property
    def step_size(self) -> StepSize:
        """dt, which a layer's call may replace where it is constant."""
        return self.length

    def encode(self, x: Tensor) -> Tensor:
        return self.sde.drift.encode(x)

    def built(self, *, noisy: bool) -> SDECell:
        return _Built(self, noisy=noisy)

    def fast_path(self, dt: Tensor | None) -> TanhFastPath | None:
        law = self.scheme.noise_law(self.sde.diffusion)
        if law is None or self.substeps != 1:
            return None
        return TanhFastPath.of(self.sde.drift, law, self.step_size if dt is None else None, self.path)

    def step(self, states: States, u: Tensor, dt: Tensor | None, xi: Tensor | None, uniforms: Tensor | None) -> States:
        (h,) = states
        size = self.step_size(h, lambda: self.sde.drift(h, u)) if dt is None else dt
        if self.substeps > 1:
            size = size / self.substeps
        return (self.scheme(self.sde, h, u, size, xi, uniforms),)

    def extra_repr(self) -> str:
        law = self.scheme.noise_law(self.sde.diffusion)
        noise = "" if law is None or law.silent else f", {law}"
        return f"inputs={self.inputs}, units={self.units}, scheme={self.scheme.name}, substeps={self.substeps}{noise}"


_SILENCE = Silence()


class _Built(SDECell):
    """The cell with its matrices built, and its noise on or off: what was checked once is not checked again."""

    def __init__(self, cell: SDECell, *, noisy: bool) -> None:
        Cell.__init__(self, cell.inputs, cell.units)
        system = SDE(cell.sde.drift.built(), cell.sde.diffusion if noisy else _SILENCE, calculus=cell.sde.calculus)
        self._hold(system, cell.step_size, cell.scheme if noisy else cell.scheme.quiet(), cell.substeps)
