"""Theorem 2: pinned numbers, the factor 2 of its proposition, and what is above what."""

import pytest
import torch

from noisyrnn.theory import (
    Norm,
    first_order_distance,
    input_stability,
    logit_margin,
    margin_as_printed,
    margin_estimate,
    sampled_suprema,
    score,
    trajectory,
)
from noisyrnn.theory.known import random_example, reference, two_classes
from noisyrnn.theory.margin.bounds import dual, gaps, slopes


def test_reference_numbers():
    P = reference(label=2)
    phi = gaps(P.network.logits(P.x), P.y)[0]
    assert phi.tolist() == pytest.approx([0.7478867707580784, 0.3340897425933915, torch.inf], rel=1e-12)
    slope = dual(Norm.L2, slopes(trajectory(P.network, P.x), P.y)[0])[:, 0]
    assert slope[:2].tolist() == pytest.approx([0.48294523791685884, 0.22464108709958583], rel=1e-12)
    printed = margin_as_printed(P.network, P.x, P.y, sampled_suprema(P.network, P.x))
    assert printed.item() == pytest.approx(0.0901766707966948, rel=1e-12)


def test_the_proposition_alone_is_too_large_by_two_and_the_theorem_is_tight():
    P = two_classes()
    o = score(P.network.logits(P.x), P.y)
    assert o.item() == pytest.approx(0.07065181141955433, rel=1e-12)
    jacobian = torch.autograd.functional.jacobian(lambda x: P.network.logits(x).softmax(-1), torch.zeros_like(P.x))
    sup = torch.linalg.matrix_norm(jacobian.reshape(2, 1), 2)
    assert (o / sup).item() == pytest.approx(0.19983350, abs=1e-8)  # the true margin is 0.1
    assert (o / (2 * sup)).item() <= 0.1
    theorem = margin_as_printed(P.network, P.x, P.y, sampled_suprema(P.network, P.x)).item()
    assert theorem == pytest.approx(0.0999167, abs=1e-7)
    assert logit_margin(P.network, P.x, P.y, sampled_suprema(P.network, P.x)).item() == pytest.approx(0.1, rel=1e-12)


def test_slopes_are_the_gradients_of_the_logit_gaps():
    P = random_example(torch.Generator().manual_seed(0), dt=0.1 + torch.arange(4, dtype=torch.float64) / 10)
    x = P.x.clone().requires_grad_()
    values = P.network.logits(x)
    for j in range(3):
        gap = values.gather(1, P.y.unsqueeze(1)).squeeze(1) - values[:, j]
        expected = torch.autograd.grad(gap.sum(), x, retain_graph=True)[0]
        assert torch.allclose(slopes(trajectory(P.network, P.x), P.y)[0][j], expected, atol=1e-13)


def test_logits_beat_softmax_and_estimates_stay_below_the_first_order_distance():
    for seed in range(10):
        P = random_example(torch.Generator().manual_seed(seed), samples=20)
        suprema = sampled_suprema(P.network, P.x)
        printed, sharper = (bound(P.network, P.x, P.y, suprema) for bound in (margin_as_printed, logit_margin))
        assert bool((printed <= sharper * (1 + 1e-12)).all())
        for norm in Norm:
            estimate = margin_estimate(
                P.network, P.x, P.y, P.x[:5], generator=torch.Generator().manual_seed(seed), combinations=5, norm=norm
            )
            assert bool((estimate <= first_order_distance(P.network, P.x, P.y, norm=norm)).all())
            assert bool((estimate > 0).all())


def test_a_misclassified_sample_has_no_margin():
    P = random_example(torch.Generator().manual_seed(0))
    wrong = P.y.clone()
    wrong[1] = (wrong[1] + 1) % 3
    for bound in (margin_as_printed, logit_margin):
        with pytest.raises(ValueError, match=r"1 of 5 \(samples 1\)"):
            bound(P.network, P.x, wrong, sampled_suprema(P.network, P.x))
    with pytest.raises(ValueError, match="correctly classified"):
        first_order_distance(P.network, P.x, wrong)


def test_the_corollary_bounds_the_input_output_jacobian():
    for seed in range(20):
        P = random_example(torch.Generator().manual_seed(seed), samples=3, dt=0.02)
        result = input_stability(P.network, P.x)
        for k in range(3):
            one = P.x[k : k + 1]
            jacobian = torch.autograd.functional.jacobian(lambda x, net=P.network: net.logits(x).softmax(-1), one)
            size = torch.linalg.matrix_norm(jacobian.reshape(3, -1), 2)
            assert size <= result.jacobian[k]
            assert not result.stable[k] or size < 1
    P = two_classes()
    assert bool(input_stability(P.network, P.x).stable)
