r"""Theorem 2: how far an input may move before its class changes, bounded and estimated.

    o(s) = min_{j != y} sqrt2 (p_y - p_j),     gamma(s) = o(s) / (||V|| max_m ||df/dx_m|| sum_m dt_m sup ||P_{M,m+1}||)

(Lim et al. 2021, Theorem 2.) gamma is a valid lower bound for the margin, by two errors that cancel: the proof takes
||sqrt2 (e_i - e_j)|| for 1 (it is 2) and ||softmax'|| for 1 (it is at most 1/2). Its proposition o / sup ||J|| alone is
too large by exactly 2. Two conditions are missing: the suprema over the convex hull must also cover ||df/dx||, and
Phi_{M,m+1} must be read as P_{M,m+1}. On logits, with a root of squares in place of the sum over time, the bound is
always larger:

    gamma_logit = min_j (z_y - z_j) / ( ||V^T (e_y - e_j)|| sqrt(sum_m sup ||P_{M,m+1}||^2 sup ||dt_m df/dx_m||^2) )

Suprema taken over samples make both of them estimates. What is sound without any such assumption is in
:mod:`noisyrnn.theory.margin.certificate`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from noisyrnn.setting import Norm
from noisyrnn.theory.system.network import Network
from noisyrnn.theory.system.tangent import Tangent, Trajectory, trajectory, transitions
from noisyrnn.types import Sequence

Labels = Int[Tensor, " batch"]
Values = Float[Tensor, " batch"]
PerStep = Float[Tensor, " time"]


def dual(norm: Norm, slope: Float[Tensor, "... time features"]) -> Float[Tensor, "..."]:
    """max slope . dx over perturbations dx of size 1."""
    return slope.flatten(-2).norm(dim=-1) if norm is Norm.L2 else slope.abs().sum((-2, -1))


def score(logits: Float[Tensor, "batch classes"], y: Labels) -> Values:
    """o = min_{j != y} sqrt2 (p_y - p_j): positive exactly where the sample is classified correctly.

    >>> score(torch.tensor([[0.05, -0.05]], dtype=torch.float64), torch.tensor([0])).item()
    0.0706518114...
    """
    return 2**0.5 * gaps(logits.softmax(-1), y).amin(-1)


def gaps(values: Float[Tensor, "batch classes"], y: Labels) -> Float[Tensor, "batch classes"]:
    """phi_j = values_y - values_j, with infinity at j = y.

    >>> gaps(torch.tensor([[3.0, 1.0]]), torch.tensor([0]))
    tensor([[inf, 2.]])
    """
    differences = values.gather(-1, y.unsqueeze(-1)) - values
    return differences.scatter(-1, y.unsqueeze(-1), torch.inf)


def contrasts(V: Float[Tensor, "classes units"], y: Labels) -> Float[Tensor, "classes batch units"]:
    """V^T (e_y - e_j) for each class j; 0 at j = y."""
    return V[y] - V.unsqueeze(1)


def slopes(path: Trajectory, y: Labels) -> tuple[Float[Tensor, "classes batch time features"], Tensor]:
    """d phi_j / d x_m = dt_m (D_m U)^T lambda_{m+1}, and lambda_{m+1} itself, (time, classes, batch, units)."""
    tangent = Tangent(path)
    covector = contrasts(_matrix(path.network), y)
    blocks, covectors = [], []
    for m in range(path.length - 1, -1, -1):
        covectors.append(covector)
        blocks.append(torch.einsum("bdi,kbd->kbi", tangent.input_matrix(m), path.dt[m] * covector))
        covector = tangent.pull(m, covector)
    return torch.stack(blocks[::-1], dim=2), torch.stack(covectors[::-1])


@dataclass(frozen=True, eq=False)
class Suprema:
    """For each step, the largest ||P_{M,m+1}||, ||df/dx_m||, ||dt_m df/dx_m|| and dt_m, over the inputs in question."""

    transition: PerStep
    slope: PerStep
    kick: PerStep
    step: PerStep


def sampled_suprema(network: Network, x: Sequence) -> Suprema:
    """Largest norms over the samples of x: what Theorem 2's suprema are at least.

    >>> from noisyrnn.theory.known import two_classes
    >>> sampled_suprema(two_classes().network, two_classes().x).kick.item()
    1.0
    """
    path = trajectory(network, x)
    tangent = Tangent(path)
    inputs = [tangent.input_matrix(m) for m in range(path.length)]
    return Suprema(
        transition=torch.linalg.matrix_norm(transitions(network, x), 2).amax(0),
        slope=torch.stack([torch.linalg.matrix_norm(one, 2).amax() for one in inputs]),
        kick=torch.stack(
            [torch.linalg.matrix_norm(path.dt[m].unsqueeze(-1) * one, 2).amax() for m, one in enumerate(inputs)]
        ),
        step=path.dt.abs().amax((1, 2)),
    )


def margin_as_printed(network: Network, x: Sequence, y: Labels, suprema: Suprema) -> Values:
    """gamma(s) of Theorem 2: a lower bound of the margin if the suprema hold on the convex hull of all inputs.

    >>> from noisyrnn.theory.known import reference
    >>> P = reference(label=2)
    >>> margin_as_printed(P.network, P.x, P.y, sampled_suprema(P.network, P.x)).item()
    0.09017667079...
    """
    margin = score(network.logits(x), y)
    _require_classified(margin, "score")
    C = torch.linalg.matrix_norm(_matrix(network), 2) * suprema.slope.amax()
    return margin / (C * (suprema.step * suprema.transition).sum())


def logit_margin(network: Network, x: Sequence, y: Labels, suprema: Suprema) -> Values:
    """gamma_logit: the sharper closed form on logits, never below Theorem 2's bound with the same suprema.

    >>> from noisyrnn.theory.known import two_classes
    >>> P = two_classes()
    >>> logit_margin(P.network, P.x, P.y, sampled_suprema(P.network, P.x)).item()
    0.1
    """
    phi = gaps(network.logits(x), y)
    _require_classified(phi.amin(-1), "smallest logit gap")
    gain = (suprema.transition * suprema.kick).norm()
    return (phi / (contrasts(_matrix(network), y).norm(dim=-1).mT * gain)).amin(-1)


def first_order_distance(network: Network, x: Sequence, y: Labels, *, norm: Norm = Norm.L2) -> Values:
    """min_j phi_j / ||grad phi_j|| at x: the margin of the linearised network, usually above the true one.

    >>> from noisyrnn.theory.known import reference
    >>> P = reference(label=2)
    >>> first_order_distance(P.network, P.x, P.y).item()  # a PGD attack succeeds at 1.4317
    1.4872...
    """
    phi = gaps(network.logits(x), y)
    _require_classified(phi.amin(-1), "smallest logit gap")
    size = dual(norm, slopes(trajectory(network, x), y)[0])
    return (phi / size.mT).amin(-1)


def margin_estimate(
    network: Network,
    x: Sequence,
    y: Labels,
    hull: Float[Tensor, "others time features"],
    *,
    generator: torch.Generator,
    combinations: int = 100,
    norm: Norm = Norm.L2,
) -> Values:
    """min_j phi_j / max ||grad phi_j||, the maximum over ``hull`` and random convex combinations: an ESTIMATE.

    It is not a certificate: a steeper place may have been missed.

    Parameters
    ----------
    network, x, y
        The network, its inputs and their labels, all classified correctly.
    hull
        Other inputs, (others, time, features), towards which x may move.
    generator
        Of the combinations.
    combinations
        How many, each of a sample of x with one of the hull: where a straight way out of x passes.
    norm
        How perturbations are measured.

    Returns
    -------
    Tensor
        One number per sample.

    Examples
    --------
    >>> from noisyrnn.theory.known import reference
    >>> P = reference(label=2)
    >>> estimate = margin_estimate(P.network, P.x, P.y, P.x + 1, generator=torch.Generator().manual_seed(0))
    >>> bool(estimate <= first_order_distance(P.network, P.x, P.y))
    True
    """
    phi = gaps(network.logits(x), y)
    _require_classified(phi.amin(-1), "smallest logit gap")
    steepest = dual(norm, slopes(trajectory(network, x), y)[0])
    chosen = torch.randint(hull.shape[0], (combinations, x.shape[0]), generator=generator)
    weights = torch.rand(combinations, x.shape[0], 1, 1, generator=generator, dtype=x.dtype)
    for index, weight in zip(chosen, weights, strict=True):
        between = torch.lerp(x, hull[index], weight)
        steepest = torch.maximum(steepest, dual(norm, slopes(trajectory(network, between), y)[0]))
    # Samples of the hull itself are ends of those ways; their slopes are towards each sample's own label.
    for end in hull:
        steepest = torch.maximum(steepest, dual(norm, slopes(trajectory(network, end.expand_as(x)), y)[0]))
    return (phi / steepest.mT).amin(-1)


@dataclass(frozen=True, eq=False)
class InputStability:
    """The Corollary, for each sample: gain = C sum dt, the largest ||P_{M,m+1}||, and the bound of ||d p / d x||."""

    gain: Values
    transition: Values
    jacobian: Values

    @property
    def stable(self) -> Bool[Tensor, " batch"]:
        """C sum dt < 1 and all ||P|| <= 1, which imply ||d p / d x|| < 1."""
        return (self.gain < 1) & (self.transition <= 1)


def input_stability(network: Network, x: Sequence) -> InputStability:
    """||d p / d x|| <= C sum_m dt_m ||P_{M,m+1}||, C = ||V|| max ||df/dx_m||: stable states make a stable answer.

    >>> from noisyrnn.theory.known import two_classes
    >>> input_stability(two_classes().network, two_classes().x).stable
    tensor([True])
    """
    path = trajectory(network, x)
    tangent = Tangent(path)
    slope = torch.stack([torch.linalg.matrix_norm(tangent.input_matrix(m), 2) for m in range(path.length)]).amax(0)
    C = torch.linalg.matrix_norm(_matrix(network), 2) * slope
    P = torch.linalg.matrix_norm(transitions(network, x), 2)
    step = path.dt.abs().amax(-1).mT
    return InputStability(gain=C * step.sum(1), transition=P.amax(1), jacobian=C * (step * P).sum(1))


def _matrix(network: Network) -> Tensor:
    if network.V is None:
        raise ValueError("A margin needs classes, but this network has no readout; give Network(..., V=matrix).")
    return network.V


def _require_classified(margin: Tensor, name: str) -> None:
    wrong = torch.nonzero(~(margin > 0)).flatten().tolist()
    if wrong:
        shown = ", ".join(map(str, wrong[:5])) + (", ..." if len(wrong) > 5 else "")
        raise ValueError(
            f"A margin needs correctly classified samples, but {name} <= 0 for {len(wrong)} of {len(margin)} "
            f"(samples {shown}); leave them out, or use a certificate, which gives them radius 0."
        )
