r"""One equation, three papers: dh = (A h + a(W h + U x + b)) dt + noise, A and W skew plus decay.

noisy RNN (Lim, Erichson, Hodgkinson, Mahoney 2021)           as it stands
Lipschitz RNN (Erichson, Azencot, Queiruga, Mahoney 2021)     noise off
antisymmetric RNN (Chang, Chen, Haber, Chi 2019)              noise off, A left out, W purely skew

Each default is written once, in the setting; the layer beside it takes it from there.
"""

from __future__ import annotations

from typing import Any, Literal

import torch

from noisyrnn.models.model import ModelSetting, Substeps
from noisyrnn.models.skew import Initialisation, SkewDrift, noisy_cell
from noisyrnn.rnn.sde_cell import SDECell
from noisyrnn.rnn.stack import StackedLayer
from noisyrnn.sde.activations import Activation, ActivationName
from noisyrnn.sde.convention import Convention
from noisyrnn.sde.schemes import Scheme, SchemeName


class TanhSetting(ModelSetting):
    """What the three settings share: the step, how it is made, and the initial weights."""

    dt: float = 0.01
    activation: ActivationName = ActivationName.TANH
    scheme: SchemeName = SchemeName.EULER_MARUYAMA
    substeps: Substeps = 1
    initialisation: Initialisation = Initialisation.RELEASED
    init_scale: float = 0.1


class SkewSetting(TanhSetting):
    """What the settings with a linear term A h share: the shape of A and W, and whether the step is learned."""

    learned_step: bool | None = None
    beta: float = 0.75
    beta_w: float | None = None
    gamma_a: float = 1e-3
    gamma_w: float = 1e-3


class Noisy(SkewSetting):
    """h + dt (A h + tanh(W h + U x + b)) + noise: setting of :class:`NoisyRNN`.

    >>> import torch
    >>> network = Noisy(hidden=16, additive=0.05).build(inputs=1, classes=10)
    >>> network(torch.zeros(2, 7, 1)).shape
    torch.Size([2, 10])
    """

    kind: Literal["noisy"] = "noisy"
    additive: float = 0.02
    multiplicative: float = 0.02
    convention: Convention = Convention.RELEASED

    def layer(self, inputs: int) -> NoisyRNN:
        return NoisyRNN(inputs, self.hidden, **self.options())


class Lipschitz(SkewSetting):
    """The same without noise: setting of :class:`LipschitzRNN`."""

    kind: Literal["lipschitz"] = "lipschitz"
    dt: float = 0.03

    def layer(self, inputs: int) -> LipschitzRNN:
        return LipschitzRNN(inputs, self.hidden, **self.options())


class Antisymmetric(TanhSetting):
    """The same without noise and without A: setting of :class:`AntisymmetricRNN`."""

    kind: Literal["antisymmetric"] = "antisymmetric"
    gated: bool = False
    gamma: float = 1e-3

    def layer(self, inputs: int) -> AntisymmetricRNN:
        return AntisymmetricRNN(inputs, self.hidden, **self.options())


_NOISY, _LIPSCHITZ, _ANTISYMMETRIC = Noisy(), Lipschitz(), Antisymmetric()


class NoisyRNN(StackedLayer):
    """h + dt f(h, x) + noise, f = A h + a(W h + U x + b): noise in ``train()``, none in ``eval()``.

    The defaults are the paper's for pixel-by-pixel MNIST, in the released convention.

    Parameters
    ----------
    input_size, hidden_size, num_layers, batch_first, dropout, bidirectional, device, dtype
        As in ``torch.nn.RNN``.
    additive, multiplicative
        Strengths of the noise: sigma_1 and sigma_2 of the printed equation, or s and m of the released code.
    convention
        Which of the two they are: ``Convention.ITO`` or ``Convention.RELEASED``.
    dt
        Step size, the initial one where it is learned.
    learned_step
        Whether each unit learns its own step; by default as the convention's authors have it: released yes, Ito no.
    beta, beta_w
        Weight of the skew part of A and of W against the symmetric one, in [0, 1]; ``beta_w`` is ``beta`` by default.
    gamma_a, gamma_w
        Decay that is taken off the diagonals of A and of W.
    activation
        a: a member of ``ActivationName``, or an own ``Activation``.
    scheme, substeps
        How a step is made: a member of ``SchemeName`` or an own ``Scheme``, in one piece or in several.
    initialisation, init_scale
        Law of the initial matrices, and its scale.

    Examples
    --------
    >>> layer = NoisyRNN(1, 128, additive=0.05, multiplicative=0.02)
    >>> output, h_n = layer(torch.randn(784, 2, 1))
    >>> output.shape, h_n.shape
    (torch.Size([784, 2, 128]), torch.Size([1, 2, 128]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        additive: float = _NOISY.additive,
        multiplicative: float = _NOISY.multiplicative,
        convention: Convention = _NOISY.convention,
        dt: float = _NOISY.dt,
        learned_step: bool | None = _NOISY.learned_step,
        beta: float = _NOISY.beta,
        beta_w: float | None = _NOISY.beta_w,
        gamma_a: float = _NOISY.gamma_a,
        gamma_w: float = _NOISY.gamma_w,
        activation: Activation | ActivationName = _NOISY.activation,
        scheme: Scheme | SchemeName = _NOISY.scheme,
        substeps: int = _NOISY.substeps,
        initialisation: Initialisation = _NOISY.initialisation,
        init_scale: float = _NOISY.init_scale,
        batch_first: bool = False,
        dropout: float = _NOISY.dropout,
        bidirectional: bool = _NOISY.bidirectional,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        def cell(inputs: int) -> SDECell:
            drift = SkewDrift(
                inputs, hidden_size, beta_a=beta, beta_w=beta if beta_w is None else beta_w, gamma_a=gamma_a,
                gamma_w=gamma_w, activation=activation, initialisation=initialisation, init_scale=init_scale,
            )  # fmt: skip
            return noisy_cell(
                drift, additive=additive, multiplicative=multiplicative, convention=convention, dt=dt,
                learned_step=learned_step, scheme=scheme, substeps=substeps,
            )  # fmt: skip

        super().__init__(
            cell, input_size, hidden_size, num_layers, batch_first=batch_first, dropout=dropout,
            bidirectional=bidirectional, device=device, dtype=dtype,
        )  # fmt: skip


class LipschitzRNN(NoisyRNN):
    """h + dt (A h + a(W h + U x + b)): the Ito-convention noisy RNN with the noise off, and its other arguments.

    >>> output, h_n = LipschitzRNN(3, 16, dt=0.03, batch_first=True)(torch.randn(2, 50, 3))
    >>> output.shape
    torch.Size([2, 50, 16])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        dt: float = _LIPSCHITZ.dt,
        learned_step: bool | None = _LIPSCHITZ.learned_step,
        beta: float = _LIPSCHITZ.beta,
        beta_w: float | None = _LIPSCHITZ.beta_w,
        gamma_a: float = _LIPSCHITZ.gamma_a,
        gamma_w: float = _LIPSCHITZ.gamma_w,
        activation: Activation | ActivationName = _LIPSCHITZ.activation,
        scheme: Scheme | SchemeName = _LIPSCHITZ.scheme,
        substeps: int = _LIPSCHITZ.substeps,
        initialisation: Initialisation = _LIPSCHITZ.initialisation,
        init_scale: float = _LIPSCHITZ.init_scale,
        batch_first: bool = False,
        dropout: float = _LIPSCHITZ.dropout,
        bidirectional: bool = _LIPSCHITZ.bidirectional,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            input_size, hidden_size, num_layers, additive=0.0, multiplicative=0.0, convention=Convention.ITO, dt=dt,
            learned_step=learned_step, beta=beta, beta_w=beta_w, gamma_a=gamma_a, gamma_w=gamma_w,
            activation=activation, scheme=scheme, substeps=substeps, initialisation=initialisation,
            init_scale=init_scale, batch_first=batch_first, dropout=dropout, bidirectional=bidirectional,
            device=device, dtype=dtype,
        )  # fmt: skip


class AntisymmetricRNN(StackedLayer):
    """h + dt a(W h + U x + b), W = C - C^T - gamma I: the Lipschitz RNN without A; ``gated`` adds Chang's gate.

    The other arguments are those of :class:`NoisyRNN`.

    >>> AntisymmetricRNN(1, 8, gated=True)(torch.randn(5, 2, 1))[1].shape
    torch.Size([1, 2, 8])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        gated: bool = _ANTISYMMETRIC.gated,
        dt: float = _ANTISYMMETRIC.dt,
        gamma: float = _ANTISYMMETRIC.gamma,
        activation: Activation | ActivationName = _ANTISYMMETRIC.activation,
        scheme: Scheme | SchemeName = _ANTISYMMETRIC.scheme,
        substeps: int = _ANTISYMMETRIC.substeps,
        initialisation: Initialisation = _ANTISYMMETRIC.initialisation,
        init_scale: float = _ANTISYMMETRIC.init_scale,
        batch_first: bool = False,
        dropout: float = _ANTISYMMETRIC.dropout,
        bidirectional: bool = _ANTISYMMETRIC.bidirectional,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        def cell(inputs: int) -> SDECell:
            drift = SkewDrift(
                inputs, hidden_size, linear=False, gated=gated, beta_w=1.0, gamma_w=gamma, activation=activation,
                initialisation=initialisation, init_scale=init_scale,
            )  # fmt: skip
            return noisy_cell(drift, dt=dt, scheme=scheme, substeps=substeps)

        super().__init__(
            cell, input_size, hidden_size, num_layers, batch_first=batch_first, dropout=dropout,
            bidirectional=bidirectional, device=device, dtype=dtype,
        )  # fmt: skip
