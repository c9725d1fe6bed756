r"""The loss around a trained network, along two directions of its parameters: L(p + a d_1 + b d_2).

Along the top eigenvectors of the Hessian the loss bends most; near the middle it is L + (lambda_1 a^2 + lambda_2 b^2)/2
plus the gradient's part. This is the paper's Figure 3, there drawn for a noisy and a deterministic network.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from noisyrnn.theory.curvature.hessian import Hessian, top_eigenpairs


@dataclass(frozen=True, kw_only=True)
class Landscape:
    """loss[i, j] = L(p + a_i d_1 + b_j d_2)."""

    a: Tensor
    b: Tensor
    loss: Tensor
    curvatures: tuple[float, float] | None
    """Eigenvalues along the two directions, where they are eigenvectors."""


@torch.no_grad()
def landscape(
    H: Hessian, *, directions: Tensor | None = None, radius: float = 1.0, points: int = 21, seed: int = 0
) -> Landscape:
    """L on a square grid around the parameters, which are put back bit for bit.

    Parameters
    ----------
    H
        The Hessian, which knows network, data and loss.
    directions
        d_1 and d_2 as columns, (size, 2); by default the two top eigenvectors of H.
    radius
        Half the width of the grid: |a|, |b| <= radius.
    points
        Points of the grid along each direction.
    seed
        Of the search for the eigenvectors.

    Returns
    -------
    Landscape

    Examples
    --------
    >>> from torch import nn
    >>> x, y = torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.zeros(2, 1)
    >>> network = nn.Linear(2, 1, bias=False)
    >>> H = Hessian(network, x, y, loss=lambda net, x, y: (net(x) - y).square().mean())
    >>> surface = landscape(H, points=3)
    >>> bend = (surface.loss[0, 1] - 2 * surface.loss[1, 1] + surface.loss[2, 1])
    >>> round(float(bend), 4), round(surface.curvatures[0], 4)
    (4.0, 4.0)
    """
    if points < 2 or radius <= 0:
        raise ValueError(f"A landscape needs points >= 2 and radius > 0, got {points=}, {radius=}.")
    curvatures = None
    if directions is None:
        with torch.enable_grad():
            pairs = top_eigenpairs(H, 2, seed=seed)
        directions, curvatures = pairs.vectors, (float(pairs.values[0]), float(pairs.values[1]))
    if directions.shape != (H.size, 2):
        raise ValueError(f"directions must be ({H.size}, 2), one column each, got {tuple(directions.shape)}.")
    grid = torch.linspace(-radius, radius, points, dtype=torch.float64)
    parameters = list(H.parameters.values())
    kept = [parameter.clone() for parameter in parameters]
    first, second = (column.split([p.numel() for p in parameters]) for column in directions.to(parameters[0]).unbind(1))
    values = torch.empty(points, points, dtype=torch.float64)
    try:
        for i, a in enumerate(grid.tolist()):
            for j, b in enumerate(grid.tolist()):
                for parameter, middle, one, other in zip(parameters, kept, first, second, strict=True):
                    parameter.copy_(middle + (a * one + b * other).view_as(middle))
                values[i, j] = H.mean_loss()
    finally:
        for parameter, middle in zip(parameters, kept, strict=True):
            parameter.copy_(middle)
    return Landscape(a=grid, b=grid.clone(), loss=values, curvatures=curvatures)
