"""Many instants: cells, the reference scan, faster routes, layers like torch.nn.RNN, classifiers."""

from noisyrnn.rnn.cell import Call, Cell, FastPath, NoisePath
from noisyrnn.rnn.gain import Gain, NoGain
from noisyrnn.rnn.layer import Layer
from noisyrnn.rnn.mode import evaluating
from noisyrnn.rnn.network import Classifier
from noisyrnn.rnn.pooling import Pooling
from noisyrnn.rnn.readout import EqualRows
from noisyrnn.rnn.reference import held, integrate, interpolated, scan
from noisyrnn.rnn.routes import Route, chosen, routed
from noisyrnn.rnn.sde_cell import SDECell
from noisyrnn.rnn.stream import Stream

__all__ = [
    "Call",
    "Cell",
    "Classifier",
    "EqualRows",
    "FastPath",
    "Gain",
    "Layer",
    "NoGain",
    "NoisePath",
    "Pooling",
    "Route",
    "SDECell",
    "Stream",
    "chosen",
    "evaluating",
    "held",
    "integrate",
    "interpolated",
    "routed",
    "scan",
]
