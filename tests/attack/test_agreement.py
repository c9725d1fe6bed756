"""Attacks equal two independent libraries."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from victims import CLASSES, FEATURES, TIME, Recurrent, first_start, predicted, seeded, share, stands, z_scored

from noisyrnn.attack import APGD, FGSM, PGD, Keep, Loss, Norm, Square


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
            start = first_start(ours, x, seeded(3))
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


SIDE = 12  # steps and features: ART's squares do not fit into a narrower image


@pytest.fixture(scope="module")
def trained() -> tuple[nn.Module, Tensor, Tensor]:
    """A small network that tells three noisy waves apart, and samples that it gets right, within [-3, 3]."""
    time, channel = torch.arange(SIDE)[:, None], torch.arange(SIDE)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        waves = torch.stack([torch.sin(time * pace + channel) for pace in (0.4, 0.9, 1.6)])
        y = torch.arange(600) % CLASSES
        x = (waves[y] + 0.8 * torch.randn(600, SIDE, SIDE)).clamp(-3, 3)
        network = Recurrent(scale=0.2, features=SIDE)
        optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
        for _ in range(150):
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(x[:400]), y[:400]).backward()
            optimiser.step()
    right = predicted(network.eval(), x[400:]) == y[400:]
    assert share(right) > 0.95
    return network, x[400:][right], y[400:][right]


class Image(nn.Module):
    """The network for images (batch, 1, time, feature)."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x[:, 0])


def strength_of_art(attack, network: nn.Module, x: Tensor, y: Tensor, **settings) -> float:
    """Share of the samples that ART's attack leaves."""
    from art.estimators.classification import PyTorchClassifier

    victim = PyTorchClassifier(
        Image(network), nn.CrossEntropyLoss(), (1, SIDE, SIDE), CLASSES, clip_values=(-3, 3), device_type="cpu"
    )
    np.random.seed(0)  # noqa: NPY002 (ART draws from numpy's global numbers)
    found = attack(victim, verbose=False, **settings).generate(x[:, None].numpy(), y.numpy())
    return share(predicted(network, torch.from_numpy(found)[:, 0]) == y)


@pytest.mark.parametrize(("norm", "radius"), [(Norm.LINF, 0.35), (Norm.L2, 1.0)])
@pytest.mark.parametrize("loss", [Loss.CROSS_ENTROPY, Loss.DLR])
def test_apgd_is_as_strong_as_arts(trained, art, norm, radius, loss, record_property):
    from art.attacks.evasion import AutoProjectedGradientDescent

    network, x, y = trained
    theirs = strength_of_art(
        AutoProjectedGradientDescent,
        network,
        x,
        y,
        norm=np.inf if norm is Norm.LINF else 2,
        eps=radius,
        eps_step=2 * radius,
        max_iter=30,
        nb_random_init=1,
        loss_type="cross_entropy" if loss is Loss.CROSS_ENTROPY else "difference_logits_ratio",
    )
    ours = share(stands(network, APGD(radius=radius, norm=norm, steps=30, loss=loss, bounds=(-3, 3)), x, y))
    record_property("ours, ART", (ours, theirs))
    print(f"APGD {norm.value} {loss.value}: ours leaves {ours:.3f}, ART {theirs:.3f}")
    assert 0.05 < ours < 0.95
    assert ours <= theirs + 0.03


@pytest.mark.parametrize(("norm", "radius"), [(Norm.LINF, 0.35), (Norm.L2, 1.0)])
def test_square_is_as_strong_as_arts(trained, art, norm, radius, record_property):
    from art.attacks.evasion import SquareAttack

    network, x, y = trained
    theirs = strength_of_art(
        SquareAttack, network, x, y, norm=np.inf if norm is Norm.LINF else 2, eps=radius, max_iter=300
    )
    attack = Square(radius=radius, norm=norm, queries=300, bounds=(-3, 3))
    ours = share(stands(network, attack, x, y))
    record_property("ours, ART", (ours, theirs))
    print(f"Square {norm.value}: ours leaves {ours:.3f}, ART {theirs:.3f}")
    assert 0.05 < ours < 0.95
    assert ours <= theirs + 0.03
