"""Routes through a sequence: the same numbers to rounding, chosen for speed.

``SCAN`` is the reference loop and runs every cell; ``EAGER`` runs the tanh family in torch with gradients by hand;
``NATIVE`` runs the paper's models by the compiled kernel, where it was compiled. ``AUTO`` takes the fastest that fits.
Choose by an argument where a network is called, or for a stretch of code:

>>> with routed(Route.SCAN):
...     chosen()
<Route.SCAN: 'scan'>
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum

import torch
from torch import Tensor

from noisyrnn.rnn import native
from noisyrnn.rnn.cell import Call, Cell, Sequenced, States
from noisyrnn.rnn.lengths import zero_beyond
from noisyrnn.rnn.pooling import mean_over_time
from noisyrnn.rnn.reference import scan_built


class Route(StrEnum):
    """How a sequence is run."""

    AUTO = "auto"
    NATIVE = "native"
    EAGER = "eager"
    SCAN = "scan"


_chosen: ContextVar[Route] = ContextVar("route", default=Route.AUTO)


def chosen() -> Route:
    """The route in force; a compiled program keeps the one that was in force when it was compiled."""
    return _chosen.get()


# What torch.compiler.assume_constant_result does, without its import of the compiler, which takes a second.
vars(chosen)["_dynamo_marked_constant"] = True


@contextmanager
def routed(route: Route) -> Iterator[None]:
    """Run every layer inside the ``with`` block by ``route``."""
    token = _chosen.set(route)
    try:
        yield
    finally:
        _chosen.reset(token)


def run(
    cell: Cell,
    x: Tensor,
    states: States,
    call: Call,
    *,
    route: Route | None = None,
) -> Sequenced:
    """Outputs (time, batch, outputs), or None where they are not asked for, and last states."""
    route = chosen() if route is None else route
    built, steps = cell.built(noisy=call.key is not None), x.shape[0]
    fast = built.fast_path(call.dt) if steps > 0 and route is not Route.SCAN else None
    if steps > 0 and route in (Route.AUTO, Route.NATIVE) and suits_kernel(x, route) and fast is not None:
        found = fast.by_kernel(x, states, call)
        if found is not None:
            return found
    if route is Route.NATIVE:
        raise ValueError(f"The native route does not run this {type(cell).__name__}; use Route.AUTO.")
    if call.chunk is not None:
        raise ValueError(
            "chunk needs the native kernel and one of its models; leave it out, or see noisyrnn --version."
        )
    found = None if fast is None else fast.by_eager(x, states, call)
    if found is not None:
        return _averaged(found, call)
    if route is Route.EAGER:
        raise ValueError(f"The eager route runs the tanh family only, not this {type(cell).__name__}; use Route.SCAN.")
    path = None if call.key is None else cell.path(call.key, x.shape[1], steps, x)
    return _averaged(scan_built(built, x, states, path=path, dt=call.dt, lengths=call.lengths), call)


def _averaged(found: Sequenced, call: Call) -> Sequenced:
    """The same, with the mean of the outputs in place of all of them where the call asks for it."""
    outputs, states = found
    if outputs is None or not call.mean:
        return found
    return mean_over_time(zero_beyond(outputs, call.lengths), call.lengths).unsqueeze(0), states


def suits_kernel(x: Tensor, route: Route) -> bool:
    """Whether the kernel takes such inputs; refused where it does not and the route is no other."""
    suited = native.available() and x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
    if route is Route.NATIVE and not suited:
        reason = (
            native.status() if not native.available() else f"it takes float32 and float64 on the CPU, not {x.dtype}."
        )
        raise ValueError(f"The native route is not open here: {reason}")
    return suited
