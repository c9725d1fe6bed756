"""``noisyrnn theory generalisation``: the bound from margins, with all that it takes for granted."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from noisyrnn.cli.checks import refuse_ignored
from noisyrnn.cli.theory.answer import Answer, Value, check_format
from noisyrnn.cli.theory.options import Data, Json, Model, Out
from noisyrnn.cli.theory.source import check_choice, example, samples, saved_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

    from noisyrnn.theory import Network
    from noisyrnn.theory.margin import Generalisation

_PROBLEMS = ("pinned", "two-classes", "random")


def generalisation(
    model: Model = None,
    problem: Annotated[
        str | None, typer.Option(help="pinned (gamma 0.1 in a plane, 60000 samples), two-classes or random.")
    ] = None,
    data: Data = None,
    count: Annotated[
        int, typer.Option("--samples", min=1, max=100_000, help="Training samples whose margins are certified.")
    ] = 200,
    dimension: Annotated[
        int | None,
        typer.Option(min=1, max=10**9, help="Of the subspace of the inputs; by default the rank of the samples."),
    ] = None,
    correct: Annotated[
        bool, typer.Option("--correct", help="Leave out misclassified samples, and say so, instead of refusing.")
    ] = False,
    delta: Annotated[float, typer.Option(help="Probability that the bound may fail.")] = 0.05,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Generalisation bound from certified margins: in one root, as printed in two, and what both assume.

    Example: noisyrnn theory generalisation --problem pinned --out generalisation.svg
    """
    check_format(out)
    check_choice(model, problem, _PROBLEMS)
    if problem is not None:
        refuse_ignored("with --problem, which brings its samples", "--data")
    if problem == "pinned":
        refuse_ignored("with --problem pinned, whose margin is given", "--samples", "--correct")
    if problem == "two-classes":
        refuse_ignored("with --problem two-classes, which brings its samples", "--samples")
    from noisyrnn.theory import generalisation_bound, subspace_complexity

    remarks = []
    if problem == "pinned":
        margin, k, complexity, classes, total = 0.1, dimension or 2, 1.0, 10, 60000
        dependent, name = False, "the pinned example"
    else:
        if problem is not None:
            P = example(problem, count=count)
            network, x, y, name, total = P.network, P.x, P.y, problem, len(P.x)
        elif model is not None:
            found = saved_model(model, data)
            name, network, total = found.name, _certifiable(found.network), len(found.splits.train)
            x, y = samples(found.splits.train, count)
        margin, left_out = _least_margin(network, x, y, correct)
        if left_out:
            remarks.append(
                f"{left_out} of {len(x)} samples are misclassified and were left out: the bound's hypothesis fails, "
                "so this number says what it would be, not what is."
            )
        k = _rank(x) if dimension is None else dimension
        largest = float(x.double().flatten(1).norm(dim=1).max())
        complexity, classes = subspace_complexity(largest, dimension=k), 1 if network.V is None else len(network.V)
        dependent = True
        if len(x) < total:
            remarks.append(f"The least margin is that of {len(x)} of {total} training samples.")

    def bound_from(samples: int) -> Generalisation:
        return generalisation_bound(
            margin=margin, dimension=k, complexity=complexity, classes=classes, samples=samples,
            delta=delta, data_dependent=dependent,
        )  # fmt: skip

    bound = bound_from(total)
    facts: dict[str, Value] = {
        "margin": margin, "dimension": k, "complexity": complexity, "classes": classes, "samples": total,
        "margin used": bound.margin, "cells K": bound.cells, "bound": bound.bound,
        "bound as printed": bound.as_printed, "vacuous": bound.vacuous,
    }  # fmt: skip
    remarks += ["It assumes that", *(f"- {assumption}" for assumption in bound.assumptions)]
    Answer(
        title=f"Generalisation bound for {name}", facts=facts, remarks=remarks,
        figure=lambda: _figure(bound_from, total, f"Margin {margin:.3g} in {k} dimensions: {name}"),
    ).give(out=out, as_json=as_json)  # fmt: skip


def _certifiable(model: object) -> Network:
    from noisyrnn.theory import Network

    return Network.of_classifier(model)


def _least_margin(network: Network, x: Tensor, y: Tensor, correct: bool) -> tuple[float, int]:
    """The least certified radius, and how many misclassified samples were left out for it."""
    from noisyrnn.theory import ball_certificate

    certificate = ball_certificate(network, x, y)
    wrong = int((~certificate.correct).sum())
    if wrong and not correct:
        raise ValueError(
            f"The bound needs every training sample classified correctly, but {wrong} of {len(x)} are not: train "
            "longer, or leave them out with --correct."
        )
    if wrong == len(x):
        raise ValueError("Every sample is misclassified, so there is no margin: give a network that has learned.")
    return float(certificate.radius[certificate.correct].min()), wrong


def _rank(x: Tensor) -> int:
    """Dimension of the span of the samples."""
    import torch

    return int(torch.linalg.matrix_rank(x.double().flatten(1)))


def _figure(bound_from: Callable[[int], Generalisation], samples: int, title: str) -> Figure:
    from matplotlib.figure import Figure

    numbers = [samples * 10 ** (step / 8) for step in range(-16, 33)]
    bounds = [bound_from(max(1, round(n))) for n in numbers]
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(numbers, [bound.bound for bound in bounds], linewidth=1.5, label="one root")
    axes.plot(numbers, [bound.as_printed for bound in bounds], "--", linewidth=1.5, label="as printed, two roots")
    axes.axhline(1, color="grey", linewidth=1, label="vacuous from here up")
    axes.axvline(samples, color="grey", linestyle=":", linewidth=1, label="samples at hand")
    axes.set(xscale="log", yscale="log", xlabel="training samples", ylabel="generalisation error, at most", title=title)
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.legend(frameon=False, fontsize="small")
    return figure
