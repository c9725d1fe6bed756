"""Many instants: cells, the reference scan, faster routes, layers like torch.nn.RNN, classifiers."""

from noisyrnn.rnn.cell import Cell, NoisePath, SDECell
from noisyrnn.rnn.fused import Route, chosen, routed
from noisyrnn.rnn.layer import Layer
from noisyrnn.rnn.network import Classifier
from noisyrnn.rnn.scan import held, integrate, interpolated, scan
from noisyrnn.rnn.stream import Stream

__all__ = [
    "Cell",
    "Classifier",
    "Layer",
    "NoisePath",
    "Route",
    "SDECell",
    "Stream",
    "chosen",
    "held",
    "integrate",
    "interpolated",
    "routed",
    "scan",
]
