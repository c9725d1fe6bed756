"""What every model's setting has: a size, a stack, and ``build``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any

from pydantic import Field
from torch import nn

from noisyrnn.rnn.network import Classifier
from noisyrnn.rnn.pooling import Pooling
from noisyrnn.setting import Added, Setting

Size = Annotated[int, Field(ge=1, le=2**14)]
"""Units of a layer: the largest takes a gigabyte for each of its matrices."""
Layers = Annotated[int, Field(ge=1, le=64)]
Substeps = Annotated[int, Field(ge=1, le=1000)]
Count = Annotated[int, Field(ge=1, le=2**31)]

_OF_THE_CLASSIFIER = ("kind", "hidden", "pooling", "temperature")
"""Fields that are no option of the layer."""


class ModelSetting(Setting, ABC):
    """A model as a value: how many units and layers, and what its own paper lets one choose."""

    kind: str
    hidden: Size = 128
    num_layers: Layers = 1
    dropout: float = 0.0
    bidirectional: bool = False
    pooling: Annotated[Pooling, Added("0.2")] = Pooling.LAST
    """What is read out: the last valid state, or a summary of the outputs over time."""

    @abstractmethod
    def layer(self, inputs: int) -> nn.Module:
        """The recurrent layer for this many input features."""

    def build(self, inputs: int, classes: int) -> Classifier:
        """A classifier: layer and readout, with fresh weights from torch's global generator."""
        return Classifier(self.layer(inputs), classes, pooling=self.pooling)

    def options(self) -> dict[str, Any]:
        """The setting as keyword arguments of its layer; batches come first, as in all public arrays."""
        own = {name: getattr(self, name) for name in type(self).model_fields if name not in _OF_THE_CLASSIFIER}
        return {**own, "batch_first": True}
