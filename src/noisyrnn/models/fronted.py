"""The setting of a network for series: front end, model, readout; ``build`` makes it for channels and classes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from noisyrnn.models.presets import Model
from noisyrnn.rnn.front_end import FrontEnd, stride_rule
from noisyrnn.rnn.fronted import FrontedClassifier
from noisyrnn.setting import Setting

Features = Annotated[int, Field(ge=1, le=2**12)]
Width = Annotated[int, Field(ge=1, le=2**20)]


class FrontEndSetting(Setting):
    """Setting of :class:`noisyrnn.rnn.FrontEnd`.

    >>> FrontEndSetting.for_length(500)
    FrontEndSetting(features=32, stride=8, width=35, causal=False)
    """

    features: Features = 32
    stride: Width = 1
    width: Width = 7
    causal: bool = False

    @classmethod
    def for_length(cls, steps: int, *, causal: bool = False) -> FrontEndSetting:
        """Stride and width by the rule for series of ``steps`` instants."""
        stride, width = stride_rule(steps)
        return cls(stride=stride, width=width, causal=causal)

    def build(self, inputs: int) -> FrontEnd:
        """The front end for this many channels."""
        return FrontEnd(inputs, self.features, stride=self.stride, width=self.width, causal=self.causal)


class FrontedSetting(Setting):
    """Front end, model and readout as one value; the model's ``pooling`` says what is read out.

    >>> from noisyrnn.models.tanh import Noisy
    >>> setting = FrontedSetting(front_end=FrontEndSetting(stride=2), model=Noisy(hidden=16))
    >>> setting.build(inputs=1, classes=3).classes
    3
    """

    front_end: FrontEndSetting | None = None
    model: Model
    normalised: bool = True

    def build(self, inputs: int, classes: int) -> FrontedClassifier:
        """The network, with fresh weights from torch's global generator."""
        front = None if self.front_end is None else self.front_end.build(inputs)
        layer = self.model.layer(inputs if front is None else front.features)
        return FrontedClassifier(
            layer, classes, front_end=front, pooling=self.model.pooling, normalised=self.normalised
        )
