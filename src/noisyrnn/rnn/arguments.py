"""What a layer is called with: inputs and states to begin from, or one sentence that says what is wrong with them."""

from __future__ import annotations

from torch import Tensor

from noisyrnn.rnn.cell import States


def check_input(x: Tensor, inputs: int, weight: Tensor | None, *, batch_first: bool) -> None:
    """Nothing, if a layer of that many ``inputs`` and with that ``weight`` can take x; else what is wrong."""
    order = "(batch, time, inputs)" if batch_first else "(time, batch, inputs)"
    if x.ndim not in (2, 3):
        raise ValueError(
            f"Input must have axes {order}, or (time, inputs) for one sequence; got shape {tuple(x.shape)}."
        )
    if x.shape[-1] != inputs:
        raise ValueError(
            f"Input has {x.shape[-1]} features on its last axis but this layer takes {inputs}; axes are {order}."
        )
    if weight is not None and x.dtype != weight.dtype:
        raise ValueError(
            f"Input is {x.dtype} but the layer's weights are {weight.dtype}; convert one of them, "
            f"for example x.to({weight.dtype})."
        )


def given_states(
    h_0: Tensor | tuple[Tensor, ...], widths: tuple[int, ...], cells: int, batch: int | None
) -> list[States]:
    """The states of each cell from h_0, (cells, batch, width) for each of the ``widths``; no batch for one sequence."""
    parts = h_0 if isinstance(h_0, tuple) else (h_0,)
    if len(parts) != len(widths):
        raise ValueError(f"h_0 must be {len(widths)} tensor{'s' if len(widths) > 1 else ''}, got {len(parts)}.")
    for part, width in zip(parts, widths, strict=True):
        shape = (cells, width) if batch is None else (cells, batch, width)
        if tuple(part.shape) != shape:
            raise ValueError(
                f"h_0 must have shape {shape} (layers x directions, batch, units), got {tuple(part.shape)}."
            )
    whole = [part.unsqueeze(1) for part in parts] if batch is None else parts
    return [tuple(part[index] for part in whole) for index in range(cells)]
