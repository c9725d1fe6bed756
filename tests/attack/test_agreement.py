"""Attacks equal two independent libraries."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from victims import CLASSES, FEATURES, TIME, seeded, z_scored

from noisyrnn.attack import FGSM, PGD, Keep, Norm


@pytest.fixture(params=["unbounded", "bounded"])
def case(request) -> tuple[Tensor, Tensor, tuple[float, float] | None]:
    """z-scored series without bounds, with values far outside [0, 1]; and the same squeezed into bounds."""
    x = z_scored(24, scale=2.0)
    y = torch.randint(CLASSES, (24,), generator=seeded(5))
    return (x, y, None) if request.param == "unbounded" else (x.clamp(-1, 1), y, (-1.0, 1.0))


def foolbox_result(attack, network, x, y, bounds, radius) -> Tensor:
    foolbox = pytest.importorskip("foolbox")
    # foolbox cannot do without bounds; so wide a range is never reached.
    model = foolbox.PyTorchModel(network, bounds=bounds or (-1e3, 1e3))
    return attack(model, x, foolbox.criteria.Misclassification(y), epsilons=radius)[0]


def test_fgsm_equals_foolbox_exactly(network, case):
    attacks = pytest.importorskip("foolbox.attacks")
    x, y, bounds = case
    theirs = foolbox_result(attacks.LinfFastGradientAttack(random_start=False), network, x, y, bounds, 0.3)
    assert torch.equal(FGSM(radius=0.3, bounds=bounds)(network, x, y), theirs)


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("random_start", [False, True])
def test_pgd_equals_foolbox_from_the_same_start(network, case, norm, random_start):
    attacks = pytest.importorskip("foolbox.attacks")
    x, y, bounds = case
    radius, step, steps = 0.8, 0.15, 12
    ours = PGD(
        radius=radius,
        norm=norm,
        steps=steps,
        step=step,
        bounds=bounds,
        random_start=random_start,
        keep=Keep.LAST,
    )
    family = {
        Norm.LINF: attacks.LinfProjectedGradientDescentAttack,
        Norm.L2: attacks.L2ProjectedGradientDescentAttack,
    }

    class SameStart(family[norm]):
        def get_random_start(self, x0, epsilon):
            (start,) = ours._starts(x, seeded(3))
            return x0 + (type(x0)(start) - x0)

    theirs = foolbox_result(
        SameStart(abs_stepsize=step, steps=steps, random_start=random_start), network, x, y, bounds, radius
    )
    torch.testing.assert_close(ours(network, x, y, seeded(3)), theirs, atol=2e-6, rtol=0)


@pytest.fixture(scope="module")
def art():
    pytest.importorskip("art")
    from art.attacks.evasion import FastGradientMethod, ProjectedGradientDescentPyTorch
    from art.estimators.classification import PyTorchClassifier

    def classifier(network, bounds):
        return PyTorchClassifier(
            network, nn.CrossEntropyLoss(), (TIME, FEATURES), CLASSES, clip_values=bounds, device_type="cpu"
        )

    return classifier, FastGradientMethod, ProjectedGradientDescentPyTorch


def test_fgsm_equals_art_exactly(network, case, art):
    classifier, fast_gradient, _ = art
    x, y, bounds = case
    theirs = fast_gradient(classifier(network, bounds), norm=np.inf, eps=0.3).generate(x.numpy(), y.numpy())
    assert np.array_equal(FGSM(radius=0.3, bounds=bounds)(network, x, y).numpy(), theirs)


@pytest.mark.parametrize("norm", list(Norm))
def test_pgd_equals_art(network, case, art, norm):
    classifier, _, descent = art
    x, y, bounds = case
    if bounds and norm is Norm.L2:
        pytest.skip("ART clips before it projects, foolbox and we after: other points of the same set")
    theirs = descent(
        classifier(network, bounds),
        norm=np.inf if norm is Norm.LINF else 2,
        eps=0.8,
        eps_step=0.15,
        max_iter=12,
        num_random_init=0,
        verbose=False,
    ).generate(x.numpy(), y.numpy())
    ours = PGD(radius=0.8, norm=norm, steps=12, step=0.15, bounds=bounds, random_start=False, keep=Keep.LAST)
    np.testing.assert_allclose(ours(network, x, y).numpy(), theirs, atol=2e-5)
