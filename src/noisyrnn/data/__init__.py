"""Data sets: a setting in, verified tensors (batch, time, feature) out.

>>> from noisyrnn.data import Digits, load
>>> tuple(load(Digits()).test.x.shape)
(397, 64, 1)
"""

from noisyrnn.data.catalogue import DataSet, Entry, available, fetch, load, named
from noisyrnn.data.digits import Digits
from noisyrnn.data.drawing import fingerprint, stratified
from noisyrnn.data.errors import DataError
from noisyrnn.data.grid import Columns
from noisyrnn.data.images import Permutation, Reading, Scale
from noisyrnn.data.mnist import MNIST, Convention, FashionMNIST, PermutedMNIST
from noisyrnn.data.reading import read
from noisyrnn.data.sequences import Sequences
from noisyrnn.data.split import Drawing, Provenance, Split, Splits
from noisyrnn.data.table import Table
from noisyrnn.data.ucr import ECG5000, UCR, Pool

__all__ = [
    "ECG5000",
    "MNIST",
    "UCR",
    "Columns",
    "Convention",
    "DataError",
    "DataSet",
    "Digits",
    "Drawing",
    "Entry",
    "FashionMNIST",
    "Permutation",
    "PermutedMNIST",
    "Pool",
    "Provenance",
    "Reading",
    "Scale",
    "Sequences",
    "Split",
    "Splits",
    "Table",
    "available",
    "fetch",
    "fingerprint",
    "load",
    "named",
    "read",
    "stratified",
]
