"""Many instants: cells, the reference scan, faster routes, layers like torch.nn.RNN, classifiers."""

from noisyrnn.rnn.cell import Call, Cell, FastPath, NoisePath
from noisyrnn.rnn.faulty_layer import faulty
from noisyrnn.rnn.front_end import FrontEnd, stride_rule
from noisyrnn.rnn.fronted import FrontedClassifier
from noisyrnn.rnn.gain import Gain, NoGain
from noisyrnn.rnn.layer import Layer
from noisyrnn.rnn.mode import evaluating
from noisyrnn.rnn.network import Classifier
from noisyrnn.rnn.pooling import Pooling
from noisyrnn.rnn.readout import EqualRows
from noisyrnn.rnn.reference import held, integrate, interpolated, scan
from noisyrnn.rnn.routes import Route, chosen, routed
from noisyrnn.rnn.sde_cell import SDECell
from noisyrnn.rnn.state_faults import (
    AnyFault,
    FlippedUnits,
    HardwareFault,
    Scale,
    StateFault,
    StateNoise,
    StateRounding,
    StuckUnits,
    WeightFault,
    WeightNoise,
    WeightRounding,
)
from noisyrnn.rnn.stream import Stream

__all__ = [
    "AnyFault",
    "Call",
    "Cell",
    "Classifier",
    "EqualRows",
    "FastPath",
    "FlippedUnits",
    "FrontEnd",
    "FrontedClassifier",
    "Gain",
    "HardwareFault",
    "Layer",
    "NoGain",
    "NoisePath",
    "Pooling",
    "Route",
    "SDECell",
    "Scale",
    "StateFault",
    "StateNoise",
    "StateRounding",
    "Stream",
    "StuckUnits",
    "WeightFault",
    "WeightNoise",
    "WeightRounding",
    "chosen",
    "evaluating",
    "faulty",
    "held",
    "integrate",
    "interpolated",
    "routed",
    "scan",
    "stride_rule",
]
