"""``noisyrnn theory hessian``: the paper's Figure 3, curvature of the training loss."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from noisyrnn.cli.checks import refuse_ignored
from noisyrnn.cli.theory.answer import Answer, Value, check_format
from noisyrnn.cli.theory.options import Data, Json, Out, Seed
from noisyrnn.cli.theory.source import check_choice, samples, saved_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from noisyrnn.theory import Hessian
    from noisyrnn.theory.curvature import Density, Landscape

_PROBLEMS = ("least-squares",)


def hessian(
    models: Annotated[list[Path] | None, typer.Argument(help="One or more checkpoints, drawn side by side.")] = None,
    problem: Annotated[str | None, typer.Option(help="least-squares, whose curvature is known.")] = None,
    data: Data = None,
    count: Annotated[
        int, typer.Option("--samples", min=1, max=100_000, help="Training samples that the loss is over.")
    ] = 500,
    top: Annotated[int, typer.Option(min=2, max=1000, help="Eigenvalues, from the largest.")] = 5,
    probes: Annotated[int, typer.Option(min=2, max=100_000, help="Random vectors for the trace.")] = 16,
    lanczos: Annotated[int, typer.Option(min=2, max=10_000, help="Lanczos steps for the density.")] = 40,
    points: Annotated[int, typer.Option(min=3, max=1000, help="Points of the landscape along each direction.")] = 15,
    radius: Annotated[float, typer.Option(min=0, max=1e6, help="Half the width of the landscape.")] = 0.5,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """The paper's Figure 3: top eigenvalues, trace and spectral density of the Hessian, and the loss around.

    Example: noisyrnn theory hessian plain.safetensors noisy.safetensors --out figure-3.svg
    """
    check_format(out)
    check_choice(models, problem, _PROBLEMS)
    if problem is not None:
        refuse_ignored("with --problem, which brings its samples", "--data", "--samples")
    from noisyrnn.theory.curvature import landscape, spectral_density, top_eigenpairs, xtrace

    operators = {"least squares": _least_squares()} if problem else _operators(models or [], data, count)
    rows: list[dict[str, Value]] = []
    densities, surfaces = {}, {}
    for name, H in operators.items():
        pairs = top_eigenpairs(H, min(top, H.size), seed=seed)
        trace = xtrace(H, min(probes, H.size), seed=seed)
        densities[name] = spectral_density(H, steps=lanczos, seed=seed)
        surfaces[name] = landscape(H, directions=pairs.vectors[:, :2], radius=radius, points=points)
        rows.append(
            {
                "network": name,
                "loss": float(surfaces[name].loss[points // 2, points // 2]) if points % 2 else None,
                "parameters": H.size,
                "trace": trace.value,
                "standard error": trace.standard_error,
                **{f"λ{i}": float(value) for i, value in enumerate(pairs.values, start=1)},
                "least seen": float(densities[name].nodes.min()),
            }
        )
    remarks = [
        "Of the mean cross entropy over training samples, with the noise off; the trace is by XTrace, the least "
        "eigenvalue seen is the smallest Lanczos node. The standard error is over random vectors only: a few hard "
        "samples can carry most of it, so try other numbers of --samples."
    ]
    if problem:
        remarks.append("Exact here: eigenvalues 18, 8, 2, 0.5 and trace 28.5.")
    Answer(
        title="Curvature of the training loss", rows=rows, remarks=remarks,
        figure=lambda: _figure(densities, surfaces, rows),
    ).give(out=out, as_json=as_json)  # fmt: skip


def _operators(models: list[Path], data: str | None, count: int) -> dict[str, Hessian]:
    from noisyrnn.theory import Hessian

    operators: dict[str, Hessian] = {}
    for path in models:
        found = saved_model(path, data)
        x, y = samples(found.splits.train, count)
        kind = found.name.split(" ")[0]
        name = kind if kind not in operators else f"{kind}, {path.parent.name or path.stem}"
        operators[name if name not in operators else f"{name} ({len(operators) + 1})"] = Hessian(
            found.network, x, y, batch=250
        )
    return operators


def _least_squares() -> Hessian:
    """Mean of (p . x - y)^2 with x along the axes: eigenvalues 2 s_i^2 / 4 for lengths s_i."""
    import torch
    from torch import nn

    from noisyrnn.theory import Hessian

    network = nn.Linear(4, 1, bias=False)
    nn.init.zeros_(network.weight)
    x = torch.diag(torch.tensor([6.0, 4.0, 2.0, 1.0]))
    return Hessian(network, x, torch.zeros(4, 1), loss=lambda net, x, y: (net(x) - y).square().mean())


def _figure(densities: dict[str, Density], surfaces: dict[str, Landscape], rows: list[dict[str, Value]]) -> Figure:
    from matplotlib.figure import Figure

    from noisyrnn.theory.curvature.figures import density_figure, landscape_figure

    figure = Figure(figsize=(max(4.6 * len(densities), 6.0), 7.6), layout="constrained")
    above, below = figure.subfigures(2, 1, squeeze=False).flat
    told = {
        f"{name}: trace {row['trace']:.3g} ± {row['standard error']:.2g}, top {row['λ1']:.3g}": density
        for (name, density), row in zip(densities.items(), rows, strict=True)
    }
    density_figure(told, inside=above)
    landscape_figure(surfaces, inside=below)
    return figure
