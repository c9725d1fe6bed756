"""``noisyrnn theory margin``: certificates beside attacks."""

from __future__ import annotations

from typing import Annotated

import typer

from noisyrnn.cli.checks import refuse_ignored
from noisyrnn.cli.theory.answer import Answer, Value, check_format
from noisyrnn.cli.theory.options import Data, Json, Model, Out, Seed
from noisyrnn.cli.theory.source import PROBLEMS, check_choice, example, samples, saved_model

_METHODS = ("adjoint", "ball", "global", "gain")
_RMS = (0.01, 0.02, 0.05, 0.1)
_SHARES = (0.5, 1.0, 2.0)  # radii, in strengths of the smoothing noise, at which certified accuracy is told


def margin(
    model: Model = None,
    problem: Annotated[str | None, typer.Option(help=f"One of {', '.join(PROBLEMS)}.")] = None,
    data: Data = None,
    count: Annotated[int, typer.Option("--samples", min=1, max=100_000, help="Test samples.")] = 50,
    certificates: Annotated[
        str, typer.Option(help="Of adjoint (sharpest, much memory), ball, global, or gain (certified networks).")
    ] = "ball,global",
    norm: Annotated[str, typer.Option(help="How perturbations are measured: l2 or linf.")] = "l2",
    sigma: Annotated[
        float | None, typer.Option("--smoothing", help="Also smooth the classifier with input noise of this strength.")
    ] = None,
    draws: Annotated[int, typer.Option(min=1, max=1_000_000, help="Noisy copies of each sample for smoothing.")] = 1000,
    steps: Annotated[int, typer.Option(min=1, max=10_000, help="Of the attack.")] = 30,
    restarts: Annotated[int, typer.Option(min=1, max=1000, help="Of the attack.")] = 2,
    label: Annotated[int | None, typer.Option(help="True class of the reference problem; it answers 2.")] = None,
    seed: Seed = 0,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Theorem 2: radii within which the class is proved not to change, beside the radii at which PGD changes it.

    Exit code 1 if any certificate exceeds an attack.

    A network of CertifiedRNN has one certificate, --certificates gain: it holds at any length and costs one pass.

    Example: noisyrnn theory margin --model checkpoint.safetensors --samples 200 --smoothing 0.25 --out margin.svg
    """
    check_format(out)
    check_choice(model, problem, PROBLEMS)
    if problem is not None:
        refuse_ignored("with --problem, which brings its samples", "--data")
    if problem in ("reference", "two-classes"):
        refuse_ignored(f"with --problem {problem}, which brings its samples", "--samples")
    if problem != "reference":
        refuse_ignored("without --problem reference", "--label")
    if sigma is None:
        refuse_ignored("without --smoothing", "--draws")
    import torch

    from noisyrnn import theory
    from noisyrnn.evaluate.margins import ATTACK, compared, margin_figure
    from noisyrnn.setting import Norm

    wanted = [name.strip() for name in certificates.split(",")]
    for name in wanted:
        if name not in _METHODS:
            raise ValueError(f"There is no certificate {name!r}; choose from {', '.join(_METHODS)}.")
    by_gain = wanted == ["gain"]
    if "gain" in wanted and (not by_gain or problem is not None):
        raise ValueError(
            "The certificate by gain is about saved networks of CertifiedRNN, which have no other: give "
            "--certificates gain alone, with a saved model."
        )
    if norm not in [*Norm]:
        raise ValueError(f"Perturbations are measured in {' or '.join(Norm)}, got {norm!r}.")
    attack = ATTACK.model_copy(update={"norm": Norm(norm), "steps": steps, "restarts": restarts})
    generator, measure = torch.Generator().manual_seed(seed), Norm(norm)
    facts: dict[str, Value] = {}
    if problem is not None:
        P = example(problem, label=label, count=count, seed=seed)
        network, x, y, title = P.network, P.x, P.y, problem
        answers, precision = network.logits, torch.float64
        suprema = theory.sampled_suprema(network, x)
        facts["printed gamma, least"] = float(theory.margin_as_printed(network, x, y, suprema).min())
        facts["sharper form on logits, least"] = float(theory.logit_margin(network, x, y, suprema).min())
        facts["first-order distance, least"] = float(theory.first_order_distance(network, x, y, norm=measure).min())
    elif model is not None:
        found = saved_model(model, data)
        answers, title = found.network, found.name
        if not by_gain:
            network = theory.Network.of_classifier(found.network)
        x, y = samples(found.splits.test, count)
        precision = torch.float32
    methods = {
        "adjoint": theory.adjoint_certificate,
        "ball": theory.ball_certificate,
        "global": theory.global_certificate,
    }
    if by_gain:
        proved = theory.gain_certificate(found.network, x)
        certified = {"gain": proved.radius if measure is Norm.L2 else proved.linf}
        # The certified predictor is the network in double precision.
        answers, x = found.network.double(), x.double()
        facts["certified RMS, median"] = float(proved.rms.median())
        facts["certified in single precision, median"] = float(proved.single.median())
        for radius in _RMS:
            facts[f"certified to RMS {radius:g}, %"] = 100 * proved.certified_accuracy(y, radius)
    else:
        certified = {name: methods[name](network, x, y, norm=measure, precision=precision).radius for name in wanted}
    margins = compared(answers, x, y, certified, generator=generator, attack=attack)
    smoothed = {}
    if sigma is not None:
        with torch.no_grad():
            votes = theory.smoothing(answers, x, sigma=sigma, generator=generator, draws=draws)
        smoothed[f"noise {sigma:g}"] = torch.where(votes.label == y, votes.radius, -torch.ones_like(votes.radius))
        for radius in (0.0, *(share * sigma for share in _SHARES)):
            facts[f"smoothed classifier: certified to {radius:g}, %"] = 100 * votes.certified_accuracy(y, radius)
        facts["smoothed classifier: median radius"] = float(votes.radius.median())
    reached = margins.attacked[margins.correct]
    facts = {
        "samples": len(x), "classified correctly": int(margins.correct.sum()),
        "attacked radius, median": float(reached.median()) if len(reached) else None, **facts,
    }  # fmt: skip
    rows: list[dict[str, Value]] = [
        {
            "certificate": name,
            "median radius": float(radius[margins.correct].median()) if len(reached) else None,
            "mean certified / attacked": margins.ratio(name) if len(reached) else None,
            "largest": float((radius / margins.attacked)[margins.correct].max()) if len(reached) else None,
            "violations": margins.violations(name),
        }
        for name, radius in margins.certified.items()
    ]
    remarks = [
        f"Radii are {norm} lengths over the whole sequence; an attacked radius is that of the nearest wrong answer "
        f"found by PGD ({steps} steps, {restarts} restarts), so a ratio of 1 cannot be exceeded by a sound certificate."
    ]
    if sigma is not None:
        remarks.append("The smoothed classifier is another classifier: each of its radii holds with confidence 0.999.")
    Answer(
        title=f"Theorem 2 on {title}", facts=facts, rows=rows, remarks=remarks,
        figure=lambda: margin_figure(margins, smoothed=smoothed, title=f"Certified beside attacked: {title}"),
    ).give(out=out, as_json=as_json)  # fmt: skip
    if broken := [name for name in wanted if margins.violations(name)]:
        raise ValueError(
            f"An attack succeeded inside the radius of {', '.join(broken)}, which refutes the certificate: please "
            "report this with the model."
        )
