"""Data sets: a setting in, verified tensors (batch, time, feature) out.

>>> from noisyrnn.data import Digits, load
>>> tuple(load(Digits()).test.x.shape)
(397, 64, 1)
"""

from noisyrnn.data.catalogue import DataSet, Entry, available, fetch, load, named
from noisyrnn.data.digits import Digits
from noisyrnn.data.errors import DataError
from noisyrnn.data.formats import read
from noisyrnn.data.grid import Columns
from noisyrnn.data.images import Permutation, Reading, Scale
from noisyrnn.data.mnist import MNIST, FashionMNIST, PermutedMNIST, SplitConvention
from noisyrnn.data.sampling import fingerprint, stratified
from noisyrnn.data.sequences import Sequences
from noisyrnn.data.split import Drawing, Provenance, Split, Splits
from noisyrnn.data.table import Table
from noisyrnn.data.ucr import ECG5000, UCR, Pool

__all__ = [
    "ECG5000",
    "MNIST",
    "UCR",
    "Columns",
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
    "SplitConvention",
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
