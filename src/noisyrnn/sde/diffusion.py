r"""Diffusions g of dh = f dt + g dB: how noise enters the state.

Each states its coupling, the one fact that decides which schemes (formulas of one step, ``sde.schemes``) are right for
it: of which coordinates of h does a column of g depend? The paper's class (its equation 4) is
g = eps (sigma_1 I + sigma_2 diag f), with a common level eps; it is COUPLED because f_i depends on all of h.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Flag, auto

import torch
from torch import Tensor, nn

from noisyrnn.sde.convention import Strength
from noisyrnn.sde.drift import hold
from noisyrnn.types import Noise, State


class Coupling(Flag):
    """How g depends on the state; a scheme says which couplings it handles, joined by ``|``."""

    SILENT = auto()
    """g = 0."""
    ADDITIVE = auto()
    """g does not depend on h."""
    DIAGONAL = auto()
    """g is diagonal and g_i depends on h_i alone."""
    COMMON = auto()
    """One Brownian motion drives all units."""
    COUPLED = auto()
    """Anything else, the paper's own noise among it."""

    @classmethod
    def any(cls) -> Coupling:
        return cls.SILENT | cls.ADDITIVE | cls.DIAGONAL | cls.COMMON | cls.COUPLED


class Diffusion(nn.Module, ABC):
    """g(h) xi, given the drift f(h) that the scheme has at hand anyway.

    An own diffusion needs ``coupling`` and ``forward``; ``noises`` too if it has not one Brownian motion per unit.

    >>> class Logistic(Diffusion):
    ...     coupling, diagonal = Coupling.DIAGONAL, True
    ...     def forward(self, h, f, xi):
    ...         return 0.1 * h * (1 - h) * xi
    >>> Logistic().matrix(torch.tensor([[0.5, 1.0]]), torch.zeros(1, 2))
    tensor([[[0.0250, 0.0000],
             [0.0000, 0.0000]]])
    """

    coupling: Coupling
    diagonal: bool = False
    """Whether g is a diagonal matrix, on whatever its entries depend."""

    def noises(self, units: int) -> int:
        """Number r of Brownian motions for ``units`` units."""
        return units

    @abstractmethod
    def forward(self, h: State, f: State, xi: Noise) -> State: ...

    def matrix(self, h: State, f: State) -> Tensor:
        """g(h) as a matrix, (..., units, noises)."""
        noises = self.noises(h.shape[-1])
        basis = torch.eye(noises, dtype=h.dtype, device=h.device)
        columns = [self(h, f, column.expand(*h.shape[:-1], noises)).expand_as(h) for column in basis]
        return torch.stack(columns, dim=-1) if columns else h.new_zeros(*h.shape, 0)

    def strengths(self) -> tuple[Strength | None, Strength] | None:
        """(sigma_1, sigma_2) where g = sigma_1 I + sigma_2 diag f, else None; sigma_1 is None where g = 0."""
        return None

    def lipschitz(self, drift: float) -> float:
        """L_g with ||g(h) - g(h')||_F <= L_g ||h - h'||, given the drift's own constant."""
        raise ValueError(f"{type(self).__name__} states no Lipschitz constant; override its lipschitz().")


class Silence(Diffusion):
    """g = 0: the deterministic network. Noise off means this, not xi = 0."""

    coupling = Coupling.SILENT

    def noises(self, units: int) -> int:
        return 0

    def forward(self, h: State, f: State, xi: Noise) -> State:
        return torch.zeros_like(h)

    def strengths(self) -> tuple[Strength | None, Strength]:
        return None, 0.0

    def lipschitz(self, drift: float) -> float:
        return 0.0


class DriftNoise(Diffusion):
    r"""g = eps (sigma_1 I + sigma_2 diag f(h, x)): additive, multiplicative and mixed noise, as the paper prints it.

    >>> mixed = DriftNoise(additive=0.4, multiplicative=0.6)
    >>> mixed(torch.zeros(1, 1), torch.tensor([[2.0]]), torch.tensor([[1.0]]))
    tensor([[1.6000]])
    >>> DriftNoise(additive=0.4).coupling
    <Coupling.ADDITIVE: 2>
    """

    diagonal = True
    additive: Strength
    multiplicative: Strength

    def __init__(self, additive: Strength = 0.0, multiplicative: Strength = 0.0, *, epsilon: float = 1.0) -> None:
        super().__init__()
        if epsilon < 0:
            raise ValueError(f"Noise level epsilon must be at least 0, got {epsilon}.")
        self.epsilon = epsilon
        self.coupling = _level_coupling(additive, multiplicative, epsilon)
        _hold_strength(self, "additive", additive)
        _hold_strength(self, "multiplicative", multiplicative)

    def forward(self, h: State, f: State, xi: Noise) -> State:
        return self.epsilon * (self.additive + self.multiplicative * f) * xi

    def strengths(self) -> tuple[Strength | None, Strength]:
        coupled = self.coupling is Coupling.COUPLED
        return self.epsilon * self.additive, self.epsilon * self.multiplicative if coupled else 0.0

    def lipschitz(self, drift: float) -> float:
        """eps sigma_2 L_f, because ||diag f - diag f'||_F = ||f - f'||."""
        return self.epsilon * _largest(self.multiplicative) * drift


class AdditiveNoise(DriftNoise):
    """g = sigma I: the same noise wherever the state is.

    >>> AdditiveNoise(0.1)(torch.zeros(1, 1), torch.zeros(1, 1), torch.ones(1, 1))
    tensor([[0.1000]])
    """

    def __init__(self, sigma: Strength) -> None:
        super().__init__(additive=sigma)


class StateNoise(Diffusion):
    """g = sigma diag(h): noise proportional to the state, one Brownian motion per unit."""

    coupling = Coupling.DIAGONAL
    diagonal = True
    sigma: Strength

    def __init__(self, sigma: Strength) -> None:
        super().__init__()
        _hold_strength(self, "sigma", sigma)

    def forward(self, h: State, f: State, xi: Noise) -> State:
        return self.sigma * h * xi

    def lipschitz(self, drift: float) -> float:
        return _largest(self.sigma)


class CommonNoise(StateNoise):
    """g = sigma h: noise proportional to the state, one Brownian motion for all units together."""

    coupling = Coupling.COMMON
    diagonal = False

    def noises(self, units: int) -> int:
        return 1


class DenseNoise(Diffusion):
    """g = S, a constant d x r matrix: additive noise that is correlated between units.

    >>> DenseNoise(torch.tensor([[1.0], [2.0]]))(torch.zeros(1, 2), torch.zeros(1, 2), torch.tensor([[3.0]]))
    tensor([[3., 6.]])
    """

    coupling = Coupling.ADDITIVE
    S: Tensor

    def __init__(self, S: Tensor) -> None:
        super().__init__()
        if S.ndim != 2:
            raise ValueError(f"DenseNoise needs a matrix (units, noises), got shape {tuple(S.shape)}.")
        hold(self, "S", S)

    def noises(self, units: int) -> int:
        if units != self.S.shape[0]:
            raise ValueError(
                f"DenseNoise has {self.S.shape[0]} rows but the drift has {units} units; give one row per unit."
            )
        return self.S.shape[1]

    def forward(self, h: State, f: State, xi: Noise) -> State:
        return xi @ self.S.mT

    def lipschitz(self, drift: float) -> float:
        return 0.0


def _hold_strength(module: nn.Module, name: str, value: Strength) -> None:
    if isinstance(value, nn.Parameter):
        module.register_parameter(name, value)
        return
    tensor = _tensor(value)
    if not bool(torch.isfinite(tensor).all()) or bool((tensor < 0).any()):
        raise ValueError(f"Noise strength {name} must be finite and at least 0, got {value}.")
    if isinstance(value, Tensor):
        # A setting, not something learned: it must not travel in a state_dict and overrule another model's setting.
        module.register_buffer(name, value, persistent=False)
    else:
        setattr(module, name, float(value))


def _largest(strength: Strength) -> float:
    return float(_tensor(strength).detach().abs().max())


def _level_coupling(additive: Strength, multiplicative: Strength, epsilon: float) -> Coupling:
    def present(value: Strength) -> bool:
        return epsilon > 0 and (isinstance(value, nn.Parameter) or bool((_tensor(value) != 0).any()))

    if present(multiplicative):
        return Coupling.COUPLED
    return Coupling.ADDITIVE if present(additive) else Coupling.SILENT


def _tensor(strength: Strength) -> Tensor:
    """The strength as a tensor with a value, also while a network is laid out on the meta device."""
    return strength if isinstance(strength, Tensor) else torch.as_tensor(strength, device="cpu")
