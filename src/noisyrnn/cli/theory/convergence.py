"""``noisyrnn theory convergence``: strong orders of schemes, measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisyrnn.cli.checks import refuse_ignored
from noisyrnn.cli.theory.answer import Answer, Value, check_format
from noisyrnn.cli.theory.options import Additive, Data, Json, Model, Multiplicative, Out, Seed
from noisyrnn.cli.theory.source import check_choice, samples, saved_model, sde_cell, step_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

    from noisyrnn.sde import Scheme
    from noisyrnn.theory.convergence import Order

_PROBLEMS = ("geometric-brownian-motion", "additive", "network")


def convergence(
    model: Model = None,
    problem: Annotated[str | None, typer.Option(help=f"One of {', '.join(_PROBLEMS)}.")] = None,
    data: Data = None,
    scheme: Annotated[
        str | None, typer.Option(help="euler-maruyama, milstein, heun, tamed or increment-tamed; all that fit if none.")
    ] = None,
    paths: Annotated[int, typer.Option(min=2, max=100_000, help="Brownian paths.")] = 200,
    additive: Additive = None,
    multiplicative: Multiplicative = None,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Strong order of convergence: error at the horizon against step size, under the same Brownian paths.

    Example: noisyrnn theory convergence --problem additive --out convergence.svg
    """
    check_format(out)
    check_choice(model, problem, _PROBLEMS)
    if problem is not None:
        refuse_ignored("with --problem, which has its own", "--data", "--additive", "--multiplicative")
    from noisyrnn.sde import Key
    from noisyrnn.sde.schemes import SchemeName
    from noisyrnn.theory import strong_order

    if scheme is not None and scheme not in [*SchemeName]:
        raise ValueError(f"There is no scheme {scheme!r}; choose from {', '.join(SchemeName)}.")
    asked = None if scheme is None else SchemeName(scheme).scheme
    if problem is not None:
        tried, name = _problem(problem, asked), problem
    elif model is not None:
        tried, name = _network(model, data, asked, additive, multiplicative)
    orders = [
        replace(strong_order(**one, paths=paths, key=Key(value=seed)), label=label) for label, one in tried.items()
    ]
    rows: list[dict[str, Value]] = [
        {
            "scheme": order.label,
            "order": order.order,
            "standard error": order.standard_error,
            "stated": order.expected,
            "coarsest error": order.errors[0],
            "finest error": order.errors[-1],
        }
        for order in orders
    ]
    remarks = [
        "The error is (E ||h_M - h(T)||^2)^(1/2); a scheme without a stated order does not converge to its equation."
    ]
    Answer(title=f"Strong convergence: {name}", rows=rows, remarks=remarks, figure=lambda: _figure(orders)).give(
        out=out, as_json=as_json
    )


def _figure(orders: list[Order]) -> Figure:
    from noisyrnn.theory.convergence.figures import order_figure

    return order_figure(orders)


def _problem(problem: str, asked: Scheme | None) -> dict[str, dict[str, Any]]:
    import torch

    from noisyrnn.sde import (
        SDE,
        AdditiveNoise,
        DriftNoise,
        StateNoise,
        TanhDrift,
        euler_maruyama,
        milstein,
        tamed,
        tamed_as_printed,
    )  # fmt: skip

    one = torch.ones(1, 1, dtype=torch.float64)
    line = TanhDrift(-0.5 * one, 0 * one, 0 * one, 0 * one[0])
    s = torch.tensor(0.8, dtype=torch.float64)

    def grown(times: Tensor, brownian: Tensor) -> Tensor:
        return torch.exp((-0.5 - 0.32) * times[-1] + 0.8 * brownian[-1])

    def reverted(times: Tensor, brownian: Tensor) -> Tensor:
        weights = torch.exp(-0.5 * (times[-1] - (times[1:] + times[:-1]) / 2))
        return torch.exp(-0.5 * times[-1]) + 0.8 * (weights[:, None, None] * brownian.diff(dim=0)).sum(0)

    match problem:
        case "geometric-brownian-motion":
            setting = {"sde": SDE(line, StateNoise(s)), "h0": one[0], "exact": grown, "refinement": 1}
            fits = {"Euler-Maruyama": euler_maruyama, "Milstein": milstein}
        case "additive":
            steps = {"steps": (16, 32, 64, 128)}
            setting = {"sde": SDE(line, AdditiveNoise(s)), "h0": one[0], "exact": reverted, **steps}
            printed = tamed_as_printed(0.5, 1.0)
            fits = {"Euler-Maruyama": euler_maruyama, "tamed": tamed, "tamed as printed": printed}
        case _:
            A = torch.tensor([[-1.0, 0.7], [-0.3, -0.5]], dtype=torch.float64)
            W = torch.tensor([[0.9, -1.2], [1.1, 0.4]], dtype=torch.float64)
            drift = TanhDrift(A, W, torch.ones(2, 1, dtype=torch.float64), A[0])
            noises = {"additive noise": DriftNoise(0.5), "the paper's noise": DriftNoise(0.0, 1.0)}
            signal = {"x": lambda t: torch.sin(5 * t)[:, None], "steps": (16, 32, 64, 128)}
            return {
                label: {"sde": SDE(drift, noise), "h0": A[0], "scheme": asked or euler_maruyama, **signal}
                for label, noise in noises.items()
            }
    if asked is not None:
        fits = {asked.name: asked}
    return {label: {**setting, "scheme": found} for label, found in fits.items()}


def _network(
    model: Path, data: str | None, asked: Scheme | None, additive: float | None, multiplicative: float | None
) -> tuple[dict[str, dict[str, Any]], str]:
    import torch

    from noisyrnn.sde import SDE, DriftNoise, euler_maruyama

    found = saved_model(model, data)
    cell = sde_cell(found.network)
    sde, scheme, dt = cell.sde, asked or cell.scheme, step_size(cell) * cell.substeps
    if additive is not None or multiplicative is not None:
        sde, scheme = SDE(sde.drift, DriftNoise(additive or 0.0, multiplicative or 0.0)), asked or euler_maruyama
    elif not cell.scheme.rooted:
        raise ValueError(
            "The released noise does not scale with the step, so no equation is approached: suppose noise with "
            "--additive or --multiplicative."
        )
    if dt.ndim:
        raise ValueError("Convergence needs one step for all units, but this network learned one for each.")
    x, _ = samples(found.splits.test, 1)
    signal = x[0].double()
    setting = {
        "sde": sde, "scheme": scheme, "h0": torch.zeros(cell.units, dtype=torch.float64), "x": signal,
        "horizon": float(dt) * len(signal), "steps": tuple(len(signal) * factor for factor in (1, 2, 4)),
        "refinement": 4,
    }  # fmt: skip
    return {f"{scheme.name}, {str(sde.diffusion.coupling.name).lower()} noise": setting}, found.name
