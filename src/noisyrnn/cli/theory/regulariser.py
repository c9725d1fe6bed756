"""``noisyrnn theory regulariser``: Theorem 1 beside the mean loss of noisy passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from noisyrnn.cli.checks import refuse_ignored
from noisyrnn.cli.theory.answer import Answer, check_format
from noisyrnn.cli.theory.options import Additive, Data, Json, Model, Multiplicative, Out, Seed
from noisyrnn.cli.theory.source import PROBLEMS, check_choice, example, samples, saved_model, theory_network

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

    from noisyrnn.theory import CrossEntropy, Network

_SCALES = (0.25, 0.5, 0.75, 1.0)
_ROOM = 2**22  # numbers of one bundle of noisy paths


def regulariser(
    model: Model = None,
    problem: Annotated[str | None, typer.Option(help=f"One of {', '.join(PROBLEMS)}.")] = None,
    data: Data = None,
    count: Annotated[int, typer.Option("--samples", min=1, max=100_000, help="Test samples.")] = 8,
    draws: Annotated[
        int, typer.Option(min=2, max=1_000_000, help="Pairs of noisy passes for each sample and strength.")
    ] = 500,
    additive: Additive = None,
    multiplicative: Multiplicative = None,
    activation: Annotated[str, typer.Option(help="Activation of the problem.")] = "tanh",
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Theorem 1: E loss = loss + eps^2/2 (Q + R), beside noisy passes and the Q that the paper prints.

    Example: noisyrnn theory regulariser --problem reference --out regulariser.svg
    """
    check_format(out)
    check_choice(model, problem, PROBLEMS)
    refuse_options(problem)
    import torch

    from noisyrnn.sde import Coupling
    from noisyrnn.theory import Q_as_printed
    from noisyrnn.theory import regulariser as theorem

    if problem is not None:
        # Label 1, on which the reference's numbers are pinned, is not the class that it answers with.
        P = example(
            problem, additive=additive, multiplicative=multiplicative, label=1, activation=activation, count=count,
            seed=seed,
        )  # fmt: skip
        network, x, y, name = P.network, P.x, P.y, problem
    elif model is not None:
        found = saved_model(model, data)
        network = theory_network(found.network, additive=additive, multiplicative=multiplicative)
        x, y = samples(found.splits.test, count)
        x, name = x.double(), found.name
    released = network.released is not None and network.released.multiplicative > 0
    if network.diffusion.coupling is Coupling.SILENT and not released:
        raise ValueError("This network has no noise, so Q = R = 0: suppose some with --additive or --multiplicative.")
    loss = network.cross_entropy(y)
    with torch.no_grad():
        right, printed = theorem(network, x, loss), Q_as_printed(network, x, loss)
        rows = []
        for scale in _SCALES:
            mean, error = _noisy_loss(network, x, loss, scale, draws, seed)
            plain = float(right.loss.mean()) + scale * float(right.bias.mean())
            half = scale**2 / 2
            rows.append(
                {
                    "eps": scale,
                    "noisy passes": mean,
                    "standard error": error,
                    "Q + R": plain + half * float(right.total.mean()),
                    "R alone": plain + half * float(right.R.mean()),
                    "printed Q + R": plain + half * float((printed + right.R).mean()),
                }
            )
    facts = {
        "loss": float(right.loss.mean()),
        "Q": float(right.total.mean() - right.R.mean()),
        "Q as printed": float(printed.mean()),
        "R": float(right.R.mean()),
        "variance": float(right.variance.mean()),
        "bias": float(right.bias.mean()),
        "samples": len(x),
    }
    remarks = ["Mean loss of noisy passes, and what the expansion predicts for it; it leaves out O(eps^4)."]
    if released:
        remarks.append("The released noise has a mean of its own: it appears as the bias, at first order in eps.")
    Answer(
        title=f"Theorem 1 on {name}", facts={**facts}, rows=[{**row} for row in rows], remarks=remarks,
        figure=lambda: _figure(rows, facts, name),
    ).give(out=out, as_json=as_json)  # fmt: skip


def refuse_options(problem: str | None) -> None:
    """Refuse what the problem, or the model, leaves nothing to."""
    if problem is None:
        refuse_ignored("with a saved model, which has its own", "--activation")
        return
    refuse_ignored("with --problem, which brings its samples", "--data")
    if problem != "random":
        refuse_ignored(f"with --problem {problem}, which brings its samples", "--samples")
    if problem == "two-classes":
        refuse_ignored("with --problem two-classes", "--additive", "--multiplicative", "--activation")


def _noisy_loss(
    network: Network, x: Tensor, loss: CrossEntropy, scale: float, pairs: int, seed: int
) -> tuple[float, float]:
    """Mean loss over noisy passes with its standard error; a path and its mirror image count as one draw.

    The mirror takes out what is odd in the noise, which is most of the spread and none of the mean.
    """
    import torch

    from noisyrnn.theory import CrossEntropy, noisy_states

    generator = torch.Generator().manual_seed(seed)
    batch, steps, _ = x.shape
    noises = network.diffusion.noises(network.units)
    together = max(1, _ROOM // (batch * (steps + 1) * network.units))
    means = []
    for first in range(0, pairs, together):
        copies = min(together, pairs - first)
        many = x.repeat(copies, 1, 1)
        labels = CrossEntropy(V=loss.V, c=loss.c, y=loss.y.repeat(copies))
        xi = torch.randn(steps, len(many), noises, generator=generator, dtype=x.dtype)
        uniforms = torch.rand(steps, len(many), network.units, generator=generator, dtype=x.dtype)
        both = [
            labels.value(noisy_states(network, many, sign * xi, drawn, epsilon=scale)[:, -1])
            for sign, drawn in ((1, uniforms), (-1, 1 - uniforms))
        ]
        means.append(((both[0] + both[1]) / 2).reshape(copies, batch).mean(1))
    values = torch.cat(means)
    return float(values.mean()), float(values.std() / len(values) ** 0.5)


def _figure(rows: list[dict[str, float]], facts: dict[str, float], name: str) -> Figure:
    """(E loss - loss - eps bias) / (eps^2 / 2) against eps: it tends to Q + R."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    printed, Q, R = facts["Q as printed"], facts["Q"], facts["R"]
    for level, label, style in ((Q + R, "Q + R", "-"), (R, "R alone", "--"), (printed + R, "printed Q + R", ":")):
        axes.axhline(level, linestyle=style, linewidth=1.5, label=label, color="black" if style == "-" else "tab:red")
    scales = [row["eps"] for row in rows]
    gained = [(row["noisy passes"] - facts["loss"] - row["eps"] * facts["bias"]) * 2 / row["eps"] ** 2 for row in rows]
    bars = [3 * row["standard error"] * 2 / row["eps"] ** 2 for row in rows]
    axes.errorbar(
        scales, gained, yerr=bars, fmt="o", markersize=4, capsize=3, label="noisy passes, ± 3 standard errors"
    )
    axes.set(
        xlim=(0, 1.05 * max(scales)), xlabel="noise scale eps", ylabel="growth of the mean loss / (eps² / 2)",
        title=f"Theorem 1: {name}",
    )  # fmt: skip
    axes.grid(alpha=0.3, linewidth=0.5)
    axes.legend(frameon=False, fontsize="small")
    return figure
