r"""One equation, three papers: dh = (A h + a(W h + U x + b)) dt + noise, A and W skew plus decay.

noisy RNN (Lim, Erichson, Hodgkinson, Mahoney 2021)           as it stands
Lipschitz RNN (Erichson, Azencot, Queiruga, Mahoney 2021)     noise off
antisymmetric RNN (Chang, Chen, Haber, Chi 2019)              noise off, A left out, W purely skew
"""

from __future__ import annotations

from typing import Literal, Unpack

from noisyrnn.models.model import ModelSetting
from noisyrnn.models.skew import Convention, Initialisation, SkewDrift, noisy_cell
from noisyrnn.rnn.cell import SDECell
from noisyrnn.rnn.stack import Stack, StackedLayer
from noisyrnn.sde.activation import Activation, ActivationName
from noisyrnn.sde.schemes import Scheme, SchemeName


class NoisyRNN(StackedLayer):
    """h + dt f(h, x) + noise, f = A h + a(W h + U x + b): noise in ``train()``, none in ``eval()``.

    The defaults are the paper's for pixel-by-pixel MNIST, in the released convention.

    >>> import torch
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
        additive: float = 0.02,
        multiplicative: float = 0.02,
        convention: Convention = Convention.RELEASED,
        dt: float = 0.01,
        learned_step: bool | None = None,
        beta: float = 0.75,
        beta_w: float | None = None,
        gamma_a: float = 1e-3,
        gamma_w: float = 1e-3,
        activation: Activation | ActivationName = ActivationName.TANH,
        scheme: Scheme | SchemeName = SchemeName.EULER_MARUYAMA,
        substeps: int = 1,
        initialisation: Initialisation = Initialisation.RELEASED,
        init_scale: float = 0.1,
        **stack: Unpack[Stack],
    ) -> None:
        def cell(inputs: int) -> SDECell:
            drift = SkewDrift(
                inputs, hidden_size, beta_a=beta, beta_w=beta if beta_w is None else beta_w,
                gamma_a=gamma_a, gamma_w=gamma_w, activation=_activation(activation),
                initialisation=initialisation, init_scale=init_scale,
            )  # fmt: skip
            return noisy_cell(
                drift, additive=additive, multiplicative=multiplicative, convention=convention, dt=dt,
                learned_step=learned_step, scheme=scheme, substeps=substeps,
            )  # fmt: skip

        super().__init__(cell, input_size, hidden_size, num_layers, **stack)


class LipschitzRNN(NoisyRNN):
    """h + dt (A h + a(W h + U x + b)): the Ito-convention noisy RNN with the noise off.

    >>> import torch
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
        dt: float = 0.03,
        learned_step: bool | None = None,
        beta: float = 0.75,
        beta_w: float | None = None,
        gamma_a: float = 1e-3,
        gamma_w: float = 1e-3,
        activation: Activation | ActivationName = ActivationName.TANH,
        scheme: Scheme | SchemeName = SchemeName.EULER_MARUYAMA,
        substeps: int = 1,
        initialisation: Initialisation = Initialisation.RELEASED,
        init_scale: float = 0.1,
        **stack: Unpack[Stack],
    ) -> None:
        super().__init__(
            input_size, hidden_size, num_layers, additive=0.0, multiplicative=0.0, convention=Convention.ITO, dt=dt,
            learned_step=learned_step, beta=beta, beta_w=beta_w, gamma_a=gamma_a, gamma_w=gamma_w,
            activation=activation, scheme=scheme, substeps=substeps, initialisation=initialisation,
            init_scale=init_scale, **stack,
        )  # fmt: skip


class AntisymmetricRNN(StackedLayer):
    """h + dt a(W h + U x + b), W = C - C^T - gamma I: the Lipschitz RNN without A; ``gated`` adds Chang's gate.

    >>> import torch
    >>> AntisymmetricRNN(1, 8, gated=True)(torch.randn(5, 2, 1))[1].shape
    torch.Size([1, 2, 8])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        gated: bool = False,
        dt: float = 0.01,
        gamma: float = 1e-3,
        activation: Activation | ActivationName = ActivationName.TANH,
        scheme: Scheme | SchemeName = SchemeName.EULER_MARUYAMA,
        substeps: int = 1,
        initialisation: Initialisation = Initialisation.RELEASED,
        init_scale: float = 0.1,
        **stack: Unpack[Stack],
    ) -> None:
        def cell(inputs: int) -> SDECell:
            drift = SkewDrift(
                inputs, hidden_size, linear=False, gated=gated, beta_a=1.0, beta_w=1.0, gamma_a=0.0, gamma_w=gamma,
                activation=_activation(activation), initialisation=initialisation, init_scale=init_scale,
            )  # fmt: skip
            return noisy_cell(
                drift, additive=0.0, multiplicative=0.0, convention=Convention.ITO, dt=dt, scheme=scheme,
                substeps=substeps,
            )  # fmt: skip

        super().__init__(cell, input_size, hidden_size, num_layers, **stack)


class TanhSetting(ModelSetting):
    """What the three settings share: the step, how it is made, and the initial weights."""

    dt: float = 0.01
    activation: ActivationName = ActivationName.TANH
    scheme: SchemeName = SchemeName.EULER_MARUYAMA
    substeps: int = 1
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


def _activation(chosen: Activation | ActivationName) -> Activation:
    return chosen.activation if isinstance(chosen, ActivationName) else chosen
