r"""Drifts f(h, u) of dh = f dt + g dB. The paper's own (its equation 3): f(h, x) = A h + a(W h + U x + b).

a is an activation: a function of one number whose slopes are known, tanh by default (``sde.activations``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn

from noisyrnn.sde.activations import TANH, Activation
from noisyrnn.types import Drive, State


class Drift(nn.Module, ABC):
    """f(h, u): where the state goes, given the drive u that an input exerts.

    An own drift needs ``units`` and ``forward``. Override ``encode`` for what depends on the input alone (it is applied
    to a whole sequence at once) and ``built`` for what depends on neither (it is called once per sequence).

    >>> class Cubic(Drift):
    ...     def forward(self, h, u):
    ...         return h - h**3 + u
    >>> Cubic(units=1)(torch.tensor([[2.0]]), torch.tensor([[1.0]]))
    tensor([[-5.]])
    """

    def __init__(self, units: int) -> None:
        super().__init__()
        if units < 1:
            raise ValueError(f"A drift needs at least 1 unit, got units={units}.")
        self.units = units

    def encode(self, x: Tensor) -> Tensor:
        """Drive u of the input x; a sequence is encoded at once."""
        return x

    def built(self) -> Drift:
        """The same drift with its matrices built, for the length of one sequence.

        A model may make A and W from other parameters that are learned; it does so here, and not at every step.
        """
        return self

    @abstractmethod
    def forward(self, h: State, u: Drive) -> State: ...

    def lipschitz(self) -> float:
        """A constant L_f with ||f(h, u) - f(h', u)|| <= L_f ||h - h'||, where the drift knows one."""
        raise ValueError(f"{type(self).__name__} states no Lipschitz constant; override its lipschitz().")


class TanhDrift(Drift):
    r"""f(h, x) = A h + a(W h + U x + b), from explicit matrices; A = None leaves the linear term out.

    The name is the paper's default; ``activation`` may be any other Lipschitz one.

    >>> drift = TanhDrift(A=-torch.eye(2), W=torch.eye(2), U=torch.ones(2, 1), b=torch.zeros(2))
    >>> h, x = torch.zeros(1, 2), torch.zeros(1, 1)
    >>> drift(h, drift.encode(x))
    tensor([[0., 0.]])
    >>> drift.lipschitz()
    2.0
    """

    A: Tensor | None
    W: Tensor
    U: Tensor
    b: Tensor

    def __init__(self, A: Tensor | None, W: Tensor, U: Tensor, b: Tensor, activation: Activation = TANH) -> None:
        units = W.shape[0]
        super().__init__(units)
        _check_shape("W", W, (units, units))
        _check_shape("U", U, (units, U.shape[-1]))
        _check_shape("b", b, (units,))
        if A is not None:
            _check_shape("A", A, (units, units))
        for name, matrix in {"A": A, "W": W, "U": U, "b": b}.items():
            hold(self, name, matrix)
        self.activation = activation

    @property
    def inputs(self) -> int:
        return self.U.shape[1]

    def encode(self, x: Tensor) -> Tensor:
        """u = U x + b."""
        return nn.functional.linear(x, self.U, self.b)

    def forward(self, h: State, u: Drive) -> State:
        return self.linear(h) + self.activation(self.preactivation(h, u))

    def linear(self, h: State) -> State:
        """A h."""
        return torch.zeros_like(h) if self.A is None else h @ self.A.mT

    def preactivation(self, h: State, u: Drive) -> State:
        """z = W h + u."""
        return h @ self.W.mT + u

    def jacobian(self, h: State, u: Drive) -> Tensor:
        """f'(h) = A + diag(a'(z)) W."""
        slopes = self.activation.slope(self.preactivation(h, u)).unsqueeze(-1) * self.W
        return slopes if self.A is None else self.A + slopes

    def lipschitz(self) -> float:
        """||A|| + L_a ||W||, in spectral norms."""
        norm_A = 0.0 if self.A is None else float(torch.linalg.matrix_norm(self.A.detach(), 2))
        return norm_A + self.activation.lipschitz * float(torch.linalg.matrix_norm(self.W.detach(), 2))


class GatedDrift(Drift):
    r"""f(h, x) = sigmoid(W h + V x + c) * a(W h + U x + b): the gate shares W, as in Chang et al. (2019).

    >>> drift = GatedDrift(W=torch.eye(1), U=torch.ones(1, 1), b=torch.zeros(1), V=torch.ones(1, 1), c=torch.zeros(1))
    >>> drift(torch.zeros(1, 1), drift.encode(torch.zeros(1, 1)))
    tensor([[0.]])
    """

    W: Tensor
    U: Tensor
    b: Tensor
    V: Tensor
    c: Tensor

    def __init__(self, W: Tensor, U: Tensor, b: Tensor, V: Tensor, c: Tensor, activation: Activation = TANH) -> None:
        units = W.shape[0]
        super().__init__(units)
        shapes = {
            "W": (units, units),
            "U": tuple(V.shape),
            "b": (units,),
            "V": (units, V.shape[-1]),
            "c": (units,),
        }
        for name, matrix in {"W": W, "U": U, "b": b, "V": V, "c": c}.items():
            _check_shape(name, matrix, shapes[name])
            hold(self, name, matrix)
        self.activation = activation

    def encode(self, x: Tensor) -> Tensor:
        """(U x + b, V x + c), one after the other."""
        return nn.functional.linear(x, torch.cat((self.U, self.V)), torch.cat((self.b, self.c)))

    def forward(self, h: State, u: Drive) -> State:
        content, gate = u.chunk(2, dim=-1)
        recurrent = h @ self.W.mT
        return torch.sigmoid(recurrent + gate) * self.activation(recurrent + content)


def hold(module: nn.Module, name: str, value: Any) -> None:
    """Keep a tensor so that it moves with the module: a Parameter as parameter, any other tensor as buffer."""
    # Past the checks of `register_parameter` and `register_buffer`, which take long beside a short sequence.
    kept = module._parameters if isinstance(value, nn.Parameter) or value is None else module._buffers
    kept[name] = value


def _check_shape(name: str, matrix: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(matrix.shape) != shape:
        raise ValueError(f"{name} must have shape {shape}, got {tuple(matrix.shape)}.")
