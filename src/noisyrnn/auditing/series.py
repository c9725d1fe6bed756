"""Series as people have them, and as classifiers want them: (case, time), (case, channel, time), or a list."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
import torch
from torch import Tensor


class Form(StrEnum):
    """How a classifier takes its series."""

    FLAT = "(case, time)"
    CHANNELS = "(case, channel, time)"
    LIST = "list of (channel, time)"
    TIME = "(case, time, channel)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Series:
    """x (case, time, channel) with ``lengths`` where they differ, and the form in which somebody gave them."""

    x: Tensor
    lengths: Tensor | None
    form: Form

    def __len__(self) -> int:
        return len(self.x)

    @property
    def channels(self) -> int:
        return self.x.shape[2]

    def part(self, index: Any) -> Series:
        """Some of the series."""
        return replace(self, x=self.x[index], lengths=None if self.lengths is None else self.lengths[index])

    def with_x(self, x: Tensor) -> Series:
        """Other values in place of these."""
        return replace(self, x=x)

    @property
    def fingerprint(self) -> str:
        """sha256 of all values and lengths."""
        digest = hashlib.sha256(repr((tuple(self.x.shape), str(self.x.dtype))).encode())
        digest.update(self.x.contiguous().numpy().tobytes())
        if self.lengths is not None:
            digest.update(self.lengths.numpy().tobytes())
        return digest.hexdigest()

    def forms(self) -> list[Form]:
        """The forms in which these series can be given, the one in which they came first; time before channel last."""
        if self.lengths is not None:
            possible = [Form.LIST, Form.TIME]
        else:
            possible = [Form.CHANNELS, Form.FLAT, Form.LIST, Form.TIME]
        return sorted(possible, key=lambda form: form is not self.form)

    def given(self, form: Form) -> Any:
        """As an array or a list of numpy, in a form."""
        x = self.x.numpy()
        if form is Form.TIME:
            return x
        if form is Form.LIST:
            ends = [x.shape[1]] * len(x) if self.lengths is None else self.lengths.tolist()
            return [np.ascontiguousarray(one[:end].T) for one, end in zip(x, ends, strict=True)]
        turned = np.ascontiguousarray(x.transpose(0, 2, 1))
        return turned.reshape(len(x), -1) if form is Form.FLAT else turned


def read_series(X: Any, *, what: str = "X") -> Series:
    """X as (case, time), (case, channel, time) or a list of (channel, time) or (time,), numpy or torch.

    >>> read_series([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).form.value
    '(case, time)'
    >>> series = read_series([np.ones((2, 5)), np.ones((2, 3))])
    >>> tuple(series.x.shape), series.lengths.tolist()
    ((2, 5, 2), [5, 3])
    """
    if isinstance(X, Series):
        return X
    if isinstance(X, Sequence) and len({np.shape(one) for one in X}) > 1:
        return _ragged(X, what)
    array = X.detach().cpu().numpy() if isinstance(X, Tensor) else np.asarray(X)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{what} must hold numbers, got {array.dtype}: convert it, or give a list of arrays.")
    array = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    if array.ndim not in (2, 3) or not array.size:
        raise ValueError(
            f"{what} must be (case, time), (case, channel, time) or a list of (channel, time), got shape {array.shape}."
        )
    form = Form.FLAT if array.ndim == 2 else Form.LIST if isinstance(X, Sequence) else Form.CHANNELS
    x = array[:, :, None] if array.ndim == 2 else array.transpose(0, 2, 1)
    return _checked(torch.from_numpy(np.ascontiguousarray(x)), None, form, what)


def _ragged(X: Sequence[Any], what: str) -> Series:
    each = [np.atleast_2d(np.asarray(one, dtype=np.float64)) for one in X]
    channels = {one.shape[0] for one in each}
    if len(channels) > 1 or any(one.ndim != 2 for one in each):
        raise ValueError(f"{what} mixes series of {sorted(channels)} channels: every series is (channel, time).")
    lengths = [one.shape[1] for one in each]
    if min(lengths) == 0:
        raise ValueError(f"{what}[{lengths.index(0)}] is empty: remove it.")
    x = np.zeros((len(each), max(lengths), channels.pop()))
    for row, one in zip(x, each, strict=True):
        row[: one.shape[1]] = one.T
    return _checked(torch.from_numpy(x), torch.tensor(lengths), Form.LIST, what)


def _checked(x: Tensor, lengths: Tensor | None, form: Form, what: str) -> Series:
    if not bool(torch.isfinite(x).all()):
        case, time, channel = (~torch.isfinite(x)).nonzero()[0].tolist()
        raise ValueError(
            f"{what}: case {case}, channel {channel}, instant {time} is {float(x[case, time, channel])}: "
            "fill or remove what is missing; series of unequal length go into a list."
        )
    return Series(x=x, lengths=lengths, form=form)
