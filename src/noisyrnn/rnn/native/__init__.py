r"""Whole sequences by the compiled kernel: the recurrences of the paper and their gradients, noise included.

    tanh family   h' = h + dt f + noise,   f = A h + tanh(W h + u)           :func:`tanh_scan`
    coRNN         z' = z + dt (tanh(Wy y + Wz z + u) - gamma y - eps z),  y' = y + dt z'    :func:`cornn_scan`
    expRNN        h' = modrelu(Q h + u)                                      :func:`exprnn_scan`
    certified     [z'; y] = maxmin(K z + u)                                  :func:`maxmin_scan`

States are rows, sequences are time first: (time, batch, units). The noise follows
:mod:`noisyrnn.sde.brownian`, made inside the kernel and once more in its backward pass, so it is never
stored. A sample's states and its own gradients do not depend on the samples beside it, and no result depends
on the number of threads, bit for bit.

Second derivatives are not the kernel's business: when a gradient is itself to be differentiated, the backward
pass runs a differentiable loop over the same tensors, with the same noise. Under ``torch.compile``, ``torch.export``
and the transforms of ``torch.func`` the scans are operators of torch (:mod:`noisyrnn.rnn.native.operators`).
"""

from noisyrnn.rnn.native.certified import MaxminScan, maxmin_scan
from noisyrnn.rnn.native.cornn import OscillatorScan, cornn_scan
from noisyrnn.rnn.native.exprnn import exprnn_scan
from noisyrnn.rnn.native.kernel import available, instruction_sets, instructions, multiply_adds, status, threads
from noisyrnn.rnn.native.noise import gaussian, uniform
from noisyrnn.rnn.native.sequence import Scan
from noisyrnn.rnn.native.step import TanhStep
from noisyrnn.rnn.native.tanh import law_of, tanh_scan

__all__ = [
    "MaxminScan",
    "OscillatorScan",
    "Scan",
    "TanhStep",
    "available",
    "cornn_scan",
    "exprnn_scan",
    "gaussian",
    "instruction_sets",
    "instructions",
    "law_of",
    "maxmin_scan",
    "multiply_adds",
    "status",
    "tanh_scan",
    "threads",
    "uniform",
]
