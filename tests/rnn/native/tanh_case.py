"""A tanh recurrence of a given size beside its loop, and the kinds of noise it may have."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from loops import KEY, assert_close, numbers, tanh_loop
from torch import Tensor

from noisyrnn.rnn import native
from noisyrnn.sde import Convention, NoiseLaw

ITO: dict[str, Any] = {"convention": Convention.ITO, "additive": 0.3, "multiplicative": 0.2, "key": KEY}
ITO_ADDITIVE: dict[str, Any] = {"convention": Convention.ITO, "additive": 0.3, "key": KEY}
RELEASED: dict[str, Any] = {"convention": Convention.RELEASED, "additive": 0.1, "multiplicative": 0.3, "key": KEY}
RELEASED_ADDITIVE: dict[str, Any] = {"convention": Convention.RELEASED, "additive": 0.1, "key": KEY}
NOISES = {
    "none": {},
    "ito": ITO,
    "ito additive": ITO_ADDITIVE,
    "released": RELEASED,
    "released additive": RELEASED_ADDITIVE,
}
noises = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES.keys())


class Case:
    """Tensors of a tanh recurrence of a given size, all with gradients."""

    def __init__(
        self,
        steps: int,
        batch: int,
        units: int,
        inputs: int | None = 1,
        *,
        dtype: torch.dtype = torch.float64,
        linear: bool = True,
        gated: bool = False,
        dt: str = "scalar",
    ) -> None:
        scale = 0.7 / units**0.5
        shape = {"scalar": (), "unit": (units,), "step": (steps, 1, 1), "sample": (steps, batch, 1)}[dt]
        self.tensors: dict[str, Any] = {
            "sequence": numbers((steps, batch, units if inputs is None else inputs), 0, dtype),
            "h0": numbers((batch, units), 1, dtype),
            "A": numbers((units, units), 2, dtype, scale) if linear and not gated else None,
            "W": numbers((units, units), 3, dtype, scale),
            "U": None if inputs is None else numbers((units, inputs), 4, dtype),
            "b": None if inputs is None else numbers((units,), 5, dtype),
            "gate": numbers((steps, batch, units), 6, dtype) if gated else None,
            "dt": 0.05 + 0.1 * numbers(shape, 7, dtype).abs(),
        }
        for tensor in self.tensors.values():
            if tensor is not None:
                tensor.requires_grad_()
        self.weights = numbers((steps, batch, units), 8, dtype)
        self.last_weights = numbers((batch, units), 9, dtype)

    def scan(self, **settings: Any) -> native.Scan:
        gate = self.tensors["gate"]
        rest = [self.tensors[name] for name in ("sequence", "h0", "A", "W", "U", "b", "dt")]
        law = {name: settings.pop(name) for name in ("convention", "additive", "multiplicative") if name in settings}
        return native.tanh_scan(*rest, noise=NoiseLaw(**law) if law else None, gate=gate, **settings)

    def gradients(self, loss: Tensor) -> dict[str, Tensor]:
        live = {name: t for name, t in self.tensors.items() if t is not None}
        found = torch.autograd.grad(loss, list(live.values()), allow_unused=True)
        return {name: torch.zeros_like(t) if g is None else g for (name, t), g in zip(live.items(), found, strict=True)}

    def assert_equals_the_loop(self, **settings: Any) -> None:
        noise = {k: v for k, v in settings.items() if k not in ("chunk", "states", "reference")}
        expected = tanh_loop(**self.tensors, **noise)
        last = expected[-1] if len(expected) else self.tensors["h0"]
        assert last is not None
        found = self.scan(**settings)
        assert_close(found.last, last, "last")
        loss, wanted = (found.last * self.last_weights).sum(), (last * self.last_weights).sum()
        if found.states is not None:
            assert_close(found.states, expected, "states")
            loss, wanted = (
                loss + (found.states * self.weights).sum(),
                wanted + (expected * self.weights).sum(),
            )
        ours, theirs = self.gradients(loss), self.gradients(wanted)
        for name in ours:
            assert_close(ours[name], theirs[name], f"gradient of {name}")
