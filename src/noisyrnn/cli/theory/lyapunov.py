"""``noisyrnn theory lyapunov``: how fast neighbouring states part, proved and measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noisyrnn.cli.checks import refuse_ignored
from noisyrnn.cli.theory.answer import Answer, Value, check_format
from noisyrnn.cli.theory.options import Additive, Data, Json, Model, Multiplicative, Out, Seed
from noisyrnn.cli.theory.source import check_choice, samples, saved_model, sde_cell, step_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from noisyrnn.theory.known.demonstrations import Demonstration
    from noisyrnn.theory.stability import Exponents

_PROBLEMS = ("growing-line", "provable", "chaotic", "antisymmetric")


def lyapunov(
    model: Model = None,
    problem: Annotated[str | None, typer.Option(help=f"One of {', '.join(_PROBLEMS)}.")] = None,
    data: Data = None,
    count: Annotated[
        int, typer.Option("--samples", min=1, max=100_000, help="Paths; for a model, test samples that drive it.")
    ] = 32,
    exponents: Annotated[int, typer.Option(min=1, max=100_000, help="How many, from the top, for a model.")] = 5,
    steps: Annotated[
        int | None, typer.Option(min=1, max=1_000_000, help="Length of a path; for a model, data repeat as needed.")
    ] = None,
    additive: Additive = None,
    multiplicative: Multiplicative = None,
    common: Annotated[
        float | None,
        typer.Option(min=0, max=1e6, help="Suppose noise s h with one Brownian motion for all units: its s."),
    ] = None,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Theorem 3: the interval that contains the Lyapunov exponent, and estimates along noisy paths.

    Example: noisyrnn theory lyapunov --problem antisymmetric --out lyapunov.svg
    """
    check_format(out)
    check_choice(model, problem, _PROBLEMS)
    if problem is not None:
        noise = ("--additive", "--multiplicative", "--common")
        refuse_ignored("with --problem, which has its own", "--data", "--exponents", "--seed", *noise)
    if problem is not None:
        answer = _demonstration(problem, steps, count)
    elif model is not None:
        answer = _network(model, data, count, exponents, steps, (additive, multiplicative, common), seed)
    answer.give(out=out, as_json=as_json)


def _demonstration(problem: str, steps: int | None, paths: int) -> Answer:
    from noisyrnn.theory.known import demonstrations

    shown: dict[str, Any] = {
        "growing-line": demonstrations.growing_line,
        "provable": demonstrations.provable_network,
        "chaotic": demonstrations.chaotic_network,
        "antisymmetric": demonstrations.antisymmetric_network,
    }
    options = {} if steps is None else {"steps": steps}
    found = shown[problem](samples=paths, **options)
    truth = [None] * len(found.strengths) if found.truth is None else found.truth.tolist()
    columns = (found.strengths, found.lower, found.upper, found.printed_upper, found.estimates, found.errors)
    rows: list[dict[str, Value]] = [
        {
            "s": s, "interval from": lo, "to": hi, "printed upper bound": printed, "estimate": top,
            "standard error": error, "exact": exact,
        }
        for s, lo, hi, printed, top, error, exact in zip(*(c.tolist() for c in columns), truth, strict=True)
    ]  # fmt: skip
    beyond = int((found.estimates - 5 * found.errors > found.printed_upper).sum())
    remarks = ["Top Lyapunov exponent against noise strength s, per unit of time."]
    if beyond:
        remarks.append(f"At {beyond} strengths the estimate lies above the printed upper bound by 5 standard errors.")
    return Answer(title=found.title, rows=rows, remarks=remarks, figure=lambda: _demonstration_figure(found))


def _demonstration_figure(found: Demonstration) -> Figure:
    from noisyrnn.theory.known.figures import exponent_figure

    return exponent_figure(found)


def _network(
    model: Path, data: str | None, count: int, exponents: int, steps: int | None,
    noise: tuple[float | None, float | None, float | None], seed: int,
) -> Answer:  # fmt: skip
    import torch

    from noisyrnn.sde import SDE, CommonNoise, DriftNoise, Key, euler_maruyama
    from noisyrnn.theory import exponent_interval, lipschitz_rnn_condition, lyapunov_spectrum

    found = saved_model(model, data)
    cell = sde_cell(found.network)
    x, _ = samples(found.splits.test, count)
    sde, scheme = cell.sde, cell.scheme
    additive, multiplicative, common = noise
    if common is not None and (additive is not None or multiplicative is not None):
        raise ValueError("Suppose one kind of noise: either --common, or --additive and --multiplicative.")
    if common is not None:
        sde, scheme = SDE(sde.drift, CommonNoise(common)), euler_maruyama
    elif additive is not None or multiplicative is not None:
        sde, scheme = SDE(sde.drift, DriftNoise(additive or 0.0, multiplicative or 0.0)), euler_maruyama
    with torch.no_grad():
        spectrum = lyapunov_spectrum(
            sde, x.double().repeat_interleave(cell.substeps, dim=1), dt=step_size(cell), steps=steps,
            count=min(exponents, cell.units), scheme=scheme, key=Key(value=seed),
        )  # fmt: skip
        condition = lipschitz_rnn_condition(sde.drift)
        interval = exponent_interval(sde) if scheme is euler_maruyama else None
    unit = "step" if spectrum.dt is None else "unit of time"
    facts: dict[str, Value] = {
        "units": cell.units, "steps": spectrum.steps, "paths": len(x), "scheme": scheme.name,
        "interval from": None if interval is None else interval.lo,
        "to": None if interval is None else interval.hi,
        "Lipschitz RNN condition holds": condition.holds, "by": condition.margin, "rate it proves": condition.rate,
    }  # fmt: skip
    rows: list[dict[str, Value]] = [
        {"exponent": i, "value": float(value), "standard error": float(error)}
        for i, (value, error) in enumerate(zip(spectrum.values, spectrum.errors, strict=True), start=1)
    ]
    remarks = [f"Exponents per {unit}, along the paths that test data drive; over so many steps, not in the limit."]
    if interval is None:
        remarks.append("The interval is about Euler-Maruyama networks; this one's own noise is of another kind.")
    elif spectrum.dt is None:
        remarks.append("The interval is per unit of the equation's time, the exponents are per step of each unit.")
    return Answer(
        title=f"Theorem 3 on {found.name}", facts=facts, rows=rows, remarks=remarks,
        figure=lambda: _figure(spectrum, found.name, unit),
    )  # fmt: skip


def _figure(spectrum: Exponents, name: str, unit: str) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    numbers = range(1, len(spectrum.values) + 1)
    axes.errorbar(numbers, spectrum.values, yerr=3 * spectrum.errors, fmt="o", markersize=4, capsize=3)
    axes.axhline(0, color="grey", linewidth=0.8)
    axes.set(
        xlabel="number, from the top", ylabel=f"exponent per {unit}",
        title=f"Lyapunov exponents, ± 3 standard errors: {name}",
    )  # fmt: skip
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3, linewidth=0.5)
    return figure
