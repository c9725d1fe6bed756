"""Routes through a sequence: the same numbers to rounding, chosen for speed.

``SCAN`` is the reference loop and runs every cell; ``EAGER`` runs the tanh family in torch with gradients by hand;
``NATIVE`` runs the paper's models by the compiled kernel, where it was compiled. ``AUTO`` takes the fastest that fits.
Choose by an argument of the layer's call, or for a stretch of code:

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
from noisyrnn.rnn.cell import Cell, Sequenced, States
from noisyrnn.rnn.family import by_eager, by_kernel, tanh_family
from noisyrnn.rnn.scan import scan_built
from noisyrnn.sde.brownian import Key


class Route(StrEnum):
    """How a sequence is run."""

    AUTO = "auto"
    NATIVE = "native"
    EAGER = "eager"
    SCAN = "scan"


_chosen: ContextVar[Route] = ContextVar("route", default=Route.AUTO)


def chosen() -> Route:
    """The route in force."""
    return _chosen.get()


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
    *,
    key: Key | None = None,
    dt: Tensor | None = None,
    lengths: Tensor | None = None,
    route: Route | None = None,
    outputs: bool = True,
    chunk: int | None = None,
) -> Sequenced:
    """Outputs (time, batch, units), or None where they are not asked for, and last states.

    Noise is on where a ``key`` is given. With ``chunk`` the kernel keeps every chunk-th state only and computes the
    rest again in its backward pass.
    """
    route = chosen() if route is None else route
    built = cell.built(noisy=key is not None)
    family = tanh_family(built, dt)
    found: Sequenced | None = None
    if x.shape[0] > 0 and route in (Route.AUTO, Route.NATIVE) and _suits_kernel(x, route):
        if family is not None:
            found = by_kernel(family, x, states, key, dt, lengths, outputs, chunk)
        else:
            found = built.by_kernel(x, states, dt=dt, lengths=lengths, outputs=outputs, chunk=chunk)
    if found is None and route is Route.NATIVE:
        raise ValueError(f"The native route does not run this {type(cell).__name__}; use Route.AUTO.")
    if found is None and chunk is not None:
        raise ValueError(
            "chunk needs the native kernel and one of its models; leave it out, or see noisyrnn --version."
        )
    if found is None and family is not None and x.shape[0] > 0 and route is not Route.SCAN:
        found = by_eager(family, x, states, key, dt, lengths)
    if found is not None:
        return found
    if route is Route.EAGER:
        raise ValueError(f"The eager route runs the tanh family only, not this {type(cell).__name__}; use Route.SCAN.")
    path = None if key is None else cell.path(key, x.shape[1], x.shape[0], x)
    return scan_built(built, x, states, path=path, dt=dt, lengths=lengths)


def _suits_kernel(x: Tensor, route: Route) -> bool:
    suited = native.available() and x.device.type == "cpu" and x.dtype in (torch.float32, torch.float64)
    if route is Route.NATIVE and not suited:
        reason = (
            native.status() if not native.available() else f"it takes float32 and float64 on the CPU, not {x.dtype}."
        )
        raise ValueError(f"The native route is not open here: {reason}")
    return suited
