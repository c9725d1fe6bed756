r"""Certified RNN: a recurrent network that cannot enlarge a change of its inputs, whatever its weights.

    [z'; y] = phi(K [z; g u] + b),    K^T K = I (or K K^T = I),    phi 1-Lipschitz as a map of vectors

n states z go on to the next step, p outputs y to the readout. For two inputs from one start, step by step,
|dz'|^2 + |dy|^2 <= |dz|^2 + g^2 |du|^2, and summed over a whole sequence

    |dz_T|^2 + sum_t |dy_t|^2  <=  g^2 sum_t |du_t|^2.

So the whole sequence of outputs changes by at most g times as much as the whole sequence of inputs, at any length
(docs/certified.md). K is a part of an orthogonal matrix made as the exponential RNN makes its own. The default phi
sorts neighbours, (a, b) -> (max, min) (Anil, Lucas and Grosse 2019): a permutation in pieces, which loses no energy.
Noise is added before phi; of one key it is the same for both inputs, and the differences do not see it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import nn

from noisyrnn.models.certified_cell import CertifiedCell, Contraction
from noisyrnn.models.matrices import Orthogonal, Parametrisation
from noisyrnn.models.model import Count, ModelSetting, Size
from noisyrnn.rnn.layer import Layer
from noisyrnn.rnn.network import Classifier
from noisyrnn.rnn.pooling import Pooling
from noisyrnn.setting import Added

Strength = Annotated[float, Field(gt=0, le=1e6)]


class Certified(ModelSetting):
    """A network that carries its own proof, [z'; y] = phi(K [z; g u] + b): setting of :class:`CertifiedRNN`.

    ``hidden`` counts the states z, ``outputs`` the outputs y. Certified radii are the logit gaps divided by ``gain``: a
    small one asks the network for large differences. ``temperature`` is the length of the readout's rows: a small one
    makes training care for margins, a large one for accuracy. ``memory`` is how many steps the slowest states keep what
    they have at the start of training; None is a random orthogonal matrix, which forgets in a few.
    """

    kind: Literal["certified"] = "certified"
    outputs: Size = 64
    gain: Strength = 1.0
    activation: Contraction = Contraction.MAXMIN
    parametrisation: Parametrisation = Parametrisation.CAYLEY
    rebase: Count | None = 100
    polish: Count = 100
    additive: float = Field(default=0.0, ge=0)
    temperature: Strength = 30.0
    memory: Annotated[float | None, Field(ge=2, le=1e9), Added("0.2")] = None
    pooling: Annotated[Pooling, Added("0.2")] = Pooling.MEAN

    def layer(self, inputs: int) -> CertifiedRNN:
        return CertifiedRNN(inputs, self.hidden, **self.options())

    def build(self, inputs: int, classes: int) -> Classifier:
        return Classifier(self.layer(inputs), classes, pooling=self.pooling, norm=self.temperature)


_DEFAULT = Certified()


class CertifiedRNN(Layer):
    """[z'; y] = phi(K [z; g u] + b): the outputs of a sequence change by at most g times the change of its inputs.

    Parameters
    ----------
    input_size, num_layers, batch_first, dropout, bidirectional, device, dtype
        As in ``torch.nn.RNN``.
    hidden_size, outputs
        States z of each layer, and outputs y; h_n is the pair (z, y).
    gain
        g of the whole stack, in both directions together; one number, or one for each input channel.
    activation
        phi, one of the maps that are 1-Lipschitz in l2.
    parametrisation, rebase, polish
        How K is made from free parameters, as in :class:`~noisyrnn.models.ExpRNN`; Cayley's map is the fastest.
    additive
        Strength of the noise that is added before phi in training.
    memory
        Steps that the slowest states remember at the start of training, for long sequences; None: a random start.

    Examples
    --------
    >>> layer = CertifiedRNN(1, 8, outputs=4)
    >>> layer(torch.randn(5, 2, 1))[0].shape
    torch.Size([5, 2, 4])
    >>> round(layer.gain().total, 6)
    1.0
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        *,
        outputs: int = _DEFAULT.outputs,
        gain: float | tuple[float, ...] = _DEFAULT.gain,
        activation: Contraction = _DEFAULT.activation,
        parametrisation: Parametrisation = _DEFAULT.parametrisation,
        rebase: int | None = _DEFAULT.rebase,
        polish: int = _DEFAULT.polish,
        additive: float = _DEFAULT.additive,
        memory: float | None = _DEFAULT.memory,
        batch_first: bool = False,
        dropout: float = _DEFAULT.dropout,
        bidirectional: bool = _DEFAULT.bidirectional,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if num_layers < 1:
            raise ValueError(f"num_layers must be at least 1, got {num_layers}.")
        directions = 2 if bidirectional else 1
        # Two directions that both saw u would show |u|^2 twice. Gains of layers multiply: the first has all of g.
        share = directions**-0.5
        gains = (gain,) * input_size if isinstance(gain, (int, float)) else tuple(gain)
        layers = [(input_size, tuple(share * one for one in gains))]
        layers += [(directions * outputs, (share,) * (directions * outputs))] * (num_layers - 1)
        cells = [
            CertifiedCell(
                inputs, hidden_size, outputs, gains=own, activation=activation, parametrisation=parametrisation,
                rebase=rebase, polish=polish, additive=additive, memory=memory,
            )
            for inputs, own in layers
            for _ in range(directions)
        ]  # fmt: skip
        super().__init__(cells, batch_first=batch_first, dropout=dropout, bidirectional=bidirectional)
        self.to(device=device, dtype=dtype)

    def orthogonal_parameters(self) -> list[nn.Parameter]:
        """The parameters behind the orthogonal matrices, which may be trained at a rate of their own."""
        return [module.A for module in self.modules() if isinstance(module, Orthogonal)]
