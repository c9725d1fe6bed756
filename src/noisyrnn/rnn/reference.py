"""The reference loop, h_{m+1} = step(h_m, u_m, dt_m, xi_m): the definition of correct for every faster path.

Time first inside. The noise is an argument, so that any two implementations can be compared on the same path.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from noisyrnn.rnn.cell import Cell, NoisePath, States
from noisyrnn.rnn.lengths import zero_beyond
from noisyrnn.rnn.sde_cell import SDECell
from noisyrnn.sde.schemes import Scheme
from noisyrnn.sde.system import SDE

SILENT = NoisePath(None, None)


def scan(
    cell: Cell,
    x: Tensor,
    states: States,
    *,
    path: NoisePath | None = None,
    dt: Tensor | None = None,
    lengths: Tensor | None = None,
) -> tuple[Tensor, States]:
    """Outputs (time, batch, outputs) and last states, for x (time, batch, inputs).

    Noise is on where ``path`` is given. ``dt`` is (time, 1 or batch, 1). Beyond its length a sample's state is held.
    """
    return scan_built(cell.built(noisy=path is not None), x, states, path=path, dt=dt, lengths=lengths)


def scan_built(
    cell: Cell,
    x: Tensor,
    states: States,
    *,
    path: NoisePath | None = None,
    dt: Tensor | None = None,
    lengths: Tensor | None = None,
) -> tuple[Tensor, States]:
    """The same for a cell whose matrices are built already."""
    drive = cell.encode(zero_beyond(x, lengths))
    noise = SILENT if path is None else path
    outputs = []
    for time, u in enumerate(drive):
        before = states
        for part in range(cell.substeps):
            xi, uniforms = noise.at(time * cell.substeps + part)
            states = cell.step(states, u, None if dt is None else dt[time], xi, uniforms)
        if lengths is not None:
            valid = (time < lengths).unsqueeze(-1)
            states = tuple(torch.where(valid, new, old) for new, old in zip(states, before, strict=True))
        outputs.append(cell.observe(states))
    return torch.stack(outputs) if outputs else x.new_zeros(0, x.shape[1], cell.outputs), states


def integrate(
    sde: SDE,
    scheme: Scheme,
    h0: Tensor,
    signal: Callable[[Tensor], Tensor],
    *,
    duration: float,
    xi: Tensor | None = None,
    steps: int | None = None,
    uniforms: Tensor | None = None,
) -> Tensor:
    """States (steps + 1, batch, units) of the driven system on [0, duration], at equal steps.

    Parameters
    ----------
    sde, scheme, h0
        The system, how it is advanced, and the states (batch, units) it starts from.
    signal
        Times -> inputs (steps, batch, inputs) at the left ends of the steps.
    duration
        End of the interval.
    xi
        Noise path (steps, batch, noises); without it noise is off, and ``steps`` says how many there are.
    uniforms
        Uniform numbers (steps, batch, units), for schemes that take them.

    Examples
    --------
    The number of steps is the length of the noise path, so that one path, coarsened, is seen at several step sizes:

    >>> from noisyrnn.sde import AdditiveNoise, Key, TanhDrift, coarsen, draw, euler_maruyama
    >>> drift = TanhDrift(A=-torch.eye(1), W=torch.eye(1), U=torch.ones(1, 1), b=torch.zeros(1))
    >>> sde, h0 = SDE(drift, AdditiveNoise(0.3)), torch.zeros(1, 1)
    >>> wave = lambda t: torch.sin(t).reshape(-1, 1, 1)
    >>> fine = draw(Key(value=0), samples=1, steps=4096, units=1)
    >>> ends = [integrate(sde, euler_maruyama, h0, wave, duration=1.0, xi=coarsen(fine, k))[-1].item() for k in (1, 64)]
    >>> abs(ends[0] - ends[1]) < 0.01
    True
    """
    count = steps if xi is None else xi.shape[0]
    if count is None or count < 1:
        raise ValueError("integrate needs a noise path xi or a number of steps of at least 1.")
    if steps is not None and steps != count:
        raise ValueError(f"The noise path has {count} steps but steps={steps}; give one of the two.")
    cell = SDECell(
        sde.drift, sde.diffusion if xi is not None else None, dt=duration / count, scheme=scheme, calculus=sde.calculus
    )
    times = torch.arange(count, dtype=h0.dtype, device=h0.device) * (duration / count)
    x = signal(times).expand(count, h0.shape[0], -1)
    path = None if xi is None and uniforms is None else NoisePath(xi, uniforms)
    outputs, _ = scan(cell.to(h0), x, (h0,), path=path)
    return torch.cat((h0.unsqueeze(0), outputs))


def held(values: Tensor, interval: float) -> Callable[[Tensor], Tensor]:
    """The signal that holds each input (time, batch, inputs) for ``interval``: what a recurrent network sees.

    >>> held(torch.tensor([[[1.0]], [[2.0]]]), 0.5)(torch.tensor([0.0, 0.25, 0.5])).flatten()
    tensor([1., 1., 2.])
    """

    def signal(times: Tensor) -> Tensor:
        # The nudge keeps a time that rounding put just below a boundary on its right side.
        index = torch.floor(times / interval * (1 + 1e-9) + 1e-9).long().clamp(0, values.shape[0] - 1)
        return values[index]

    return signal


def interpolated(values: Tensor, interval: float) -> Callable[[Tensor], Tensor]:
    """The signal that joins the inputs (time, batch, inputs) by straight lines: Lipschitz in time.

    >>> interpolated(torch.tensor([[[1.0]], [[2.0]]]), 0.5)(torch.tensor([0.0, 0.25, 0.5])).flatten()
    tensor([1.0000, 1.5000, 2.0000])
    """

    def signal(times: Tensor) -> Tensor:
        position = (times / interval).clamp(0, values.shape[0] - 1)
        left = position.floor().long().clamp(max=max(0, values.shape[0] - 2))
        weight = (position - left).reshape(-1, *[1] * (values.ndim - 1))
        right = (left + 1).clamp(max=values.shape[0] - 1)
        return (1 - weight) * values[left] + weight * values[right]

    return signal
