"""Attacks: equal to two independent libraries, inside their ball, and without side effects."""

import inspect
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from torch import Tensor, nn

from noisyrnn.attack import FGSM, PGD, Attack, Keep, Loss, Norm, curve, excess, gradient, projection

TIME, FEATURES, CLASSES = 9, 2, 3


class Recurrent(nn.Module):
    """A small network with logits of the last step; ``noise`` makes its forward pass stochastic."""

    def __init__(self, noise: float = 0.0) -> None:
        super().__init__()
        self.layer = nn.RNN(FEATURES, 8, batch_first=True)
        self.readout = nn.Linear(8, CLASSES)
        self.noise = noise
        self.calls = 0
        with torch.no_grad():
            weights = torch.Generator().manual_seed(11)
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=weights) * 0.6)

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        hidden = self.layer(x)[0][:, -1]
        if self.noise:
            hidden = hidden + self.noise * torch.randn_like(hidden)
        return self.readout(hidden)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def z_scored(samples: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(samples, TIME, FEATURES, generator=seeded(seed))


def predicted(network: nn.Module, x: Tensor) -> Tensor:
    with torch.no_grad():
        return network(x).argmax(dim=1)


@pytest.fixture
def network() -> Recurrent:
    return Recurrent().eval()


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


@settings(max_examples=40, deadline=None)
@given(
    norm=st.sampled_from(list(Norm)),
    radius=st.floats(0, 50),
    scale=st.sampled_from([1e-3, 1.0, 300.0]),
    step=st.none() | st.floats(1e-3, 1e3),
    loss=st.sampled_from(list(Loss)),
    keep=st.sampled_from(list(Keep)),
    targeted=st.booleans(),
    bounded=st.booleans(),
    double=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_pgd_never_leaves_its_ball(norm, radius, scale, step, loss, keep, targeted, bounded, double, seed):
    dtype = torch.float64 if double else torch.float32
    network = Recurrent().to(dtype)
    x = z_scored(4, seed, scale).to(dtype)
    limit = float(x.abs().max())
    attack = PGD(
        radius=radius,
        norm=norm,
        steps=3,
        step=step,
        restarts=2,
        loss=loss,
        keep=keep,
        targeted=targeted,
        bounds=(-limit, limit) if bounded else None,
    )
    found = attack(network, x, torch.tensor([0, 1, 2, 0]), seeded(seed))
    away = (found - x).flatten(1)
    allowed = 2 * torch.finfo(dtype).eps * (radius + limit)
    if norm is Norm.LINF:
        assert float(away.abs().max()) <= radius + allowed
    else:
        assert float(away.norm(dim=1).max()) <= radius + allowed * math.sqrt(TIME * FEATURES)
    if bounded:
        assert float(found.abs().max()) <= limit


def test_z_scored_series_are_not_clamped(network):
    x, y = z_scored(50, scale=3.0), torch.randint(CLASSES, (50,), generator=seeded(1))
    moved = FGSM(radius=0.25)(network, x, y) - x
    torch.testing.assert_close(moved.abs(), torch.full_like(moved, 0.25), atol=2e-6, rtol=0)


def test_bounds_may_differ_between_features(network):
    x = z_scored(20).clamp(-1, 1) * torch.tensor([1.0, 5.0])
    y = predicted(network, x)
    found = PGD(radius=2.0, bounds=((-1.0, -5.0), (1.0, 5.0)))(network, x, y, seeded())
    assert float(found[..., 0].abs().max()) == 1.0
    assert 1.0 < float(found[..., 1].abs().max()) <= 5.0


def test_on_a_linear_network_both_norms_find_the_known_worst_case():
    weights = torch.randn(TIME * FEATURES, 2, generator=seeded(2))
    x, y = z_scored(6), torch.tensor([0, 1, 0, 1, 0, 1])
    normal = (weights[:, 1] - weights[:, 0])[None] * torch.where(y == 0, 1.0, -1.0)[:, None]

    def linear(x: Tensor) -> Tensor:
        return x.flatten(1) @ weights

    before = excess(linear(x), y)
    # A linear excess grows by radius times the dual norm of its gradient, and by no more.
    for norm, dual in ((Norm.LINF, normal.abs().sum(1)), (Norm.L2, normal.norm(dim=1))):
        attack = PGD(radius=0.3, norm=norm, steps=40, step=0.3, loss=Loss.EXCESS)
        after = excess(linear(attack(linear, x, y, seeded())), y)
        torch.testing.assert_close(after - before, 0.3 * dual, atol=1e-4, rtol=1e-4)


def test_more_restarts_and_steps_never_help_the_network(network):
    x = z_scored(64)
    y = predicted(network, x)
    gains = [
        excess(network(PGD(radius=0.4, steps=steps, step=0.1, restarts=restarts)(network, x, y, seeded(9))), y)
        for steps, restarts in ((1, 1), (8, 1))
    ]
    assert bool((gains[1] >= gains[0] - 1e-6).all())
    one = PGD(radius=0.4, steps=3, restarts=1)(network, x[:1], y[:1], seeded(9))
    many = PGD(radius=0.4, steps=3, restarts=6)(network, x[:1], y[:1], seeded(9))
    assert float((excess(network(many), y[:1]) - excess(network(one), y[:1])).detach()) >= -1e-6


def test_the_worst_of_each_sample_is_at_least_as_bad_as_the_clean_and_the_last(network):
    x = z_scored(64)
    y = torch.randint(CLASSES, (64,), generator=seeded(4))
    jumpy = PGD(radius=0.5, steps=7, step=2.0)
    worst = excess(network(jumpy(network, x, y, seeded(1))), y)
    last = excess(network(jumpy.model_copy(update={"keep": Keep.LAST})(network, x, y, seeded(1))), y)
    assert bool((worst >= last - 1e-6).all())
    assert bool((worst > last + 1e-3).any())
    assert bool((worst >= excess(network(x), y) - 1e-6).all())


def test_targeted_attacks_reach_their_target(network):
    x = z_scored(40)
    target = (predicted(network, x) + 1) % CLASSES
    before = float((predicted(network, x) == target).float().mean())
    found = PGD(radius=1.5, targeted=True)(network, x, target, seeded())
    assert before == 0.0
    assert float((predicted(network, found) == target).float().mean()) > 0.9


@pytest.mark.parametrize("norm", list(Norm))
def test_results_do_not_depend_on_the_size_of_a_batch(network, norm):
    x = z_scored(11)
    y = predicted(network, x)
    attack = PGD(radius=0.5, norm=norm, steps=3, restarts=2)
    whole = attack(network, x, y, seeded(6))
    pieces = attack.model_copy(update={"batch": 4})(network, x, y, seeded(6))
    torch.testing.assert_close(pieces, whole, atol=1e-5, rtol=0)


def test_random_starts_fill_the_ball_evenly():
    x = torch.zeros(4000, TIME, FEATURES)
    (start,) = PGD(radius=2.0, norm=Norm.L2)._starts(x, seeded())
    share = (start.flatten(1).norm(dim=1) / 2.0) ** (TIME * FEATURES)  # uniform in [0, 1] for an even ball
    assert abs(float(share.mean()) - 0.5) < 5 / math.sqrt(12 * 4000)  # false-alarm rate 6e-7
    (start,) = PGD(radius=2.0)._starts(x, seeded())
    assert abs(float((start**2).mean()) - 4 / 3) < 5 * math.sqrt(16 / 5 - 16 / 9) / math.sqrt(start.numel())


def test_expectation_over_noise_averages_the_gradient():
    network = Recurrent(noise=1.0)
    x, y = z_scored(3), torch.tensor([0, 1, 2])
    torch.manual_seed(0)
    singles = torch.stack([gradient(network, x, y)[0] for _ in range(16)])
    torch.manual_seed(0)
    torch.testing.assert_close(gradient(network, x, y, passes=16)[0], singles.mean(0))
    assert float(singles.std(0).max()) > 1e-3


def test_passes_are_counted():
    network = Recurrent(noise=0.5)
    FGSM(radius=0.1, passes=7)(network, z_scored(2), torch.tensor([0, 1]))
    assert network.calls == 7


def test_expectation_over_noise_finds_stronger_attacks():
    network, quiet = Recurrent(noise=3.0), Recurrent()
    x = z_scored(200)
    y = predicted(quiet, x)
    torch.manual_seed(1)
    gains = {
        passes: float(excess(quiet(FGSM(radius=0.3, passes=passes)(network, x, y)), y).detach().mean())
        for passes in (1, 32)
    }
    assert gains[32] > gains[1] + 0.05


@pytest.mark.parametrize("training", [True, False])
def test_the_network_is_left_as_it_was(training):
    network = Recurrent().train(training)
    network.readout.bias.requires_grad_(False)
    network.readout.weight.grad = torch.full_like(network.readout.weight, 7.0)
    weights = {name: value.clone() for name, value in network.state_dict().items()}
    wanted = [parameter.requires_grad for parameter in network.parameters()]
    x, y = z_scored(4), torch.tensor([0, 1, 2, 0])
    kept = x.clone()
    with torch.no_grad():  # an evaluation loop is the usual caller
        FGSM(radius=0.1)(network, x, y)
        PGD(radius=0.1, steps=2)(network, x, y, seeded())
    assert network.training is training
    assert network.layer.training is training
    assert [parameter.requires_grad for parameter in network.parameters()] == wanted
    assert network.layer.weight_hh_l0.grad is None
    assert bool((network.readout.weight.grad == 7).all())
    assert torch.equal(x, kept)
    assert not x.requires_grad
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())


def test_flags_are_restored_when_the_network_fails():
    class Broken(Recurrent):
        def forward(self, x: Tensor) -> Tensor:
            raise RuntimeError("no")

    network = Broken()
    with pytest.raises(RuntimeError, match="no"):
        FGSM(radius=0.1)(network, z_scored(1), torch.tensor([0]))
    assert all(parameter.requires_grad for parameter in network.parameters())


def test_gradients_that_vanish_or_overflow_do_not_spoil_the_result():
    def steep(x: Tensor) -> Tensor:
        return torch.stack([x.sum((1, 2)) * 1e38 * 1e3, 0 * x.sum((1, 2))], dim=1)

    x, y = z_scored(3), torch.tensor([0, 0, 0])
    for norm in Norm:
        assert bool(PGD(radius=0.1, norm=norm, steps=2)(steep, x, y, seeded()).isfinite().all())
        flat = PGD(radius=0.1, norm=norm, steps=2, random_start=False, keep=Keep.LAST)
        assert torch.equal(flat(lambda x: 0 * x[:, 0], x, y), x)


def test_the_curve_never_rises_and_starts_at_clean_accuracy(network):
    x = z_scored(60)
    y = torch.randint(CLASSES, (60,), generator=seeded(8))
    radii = (0.0, 0.1, 0.3, 0.6, 1.2)
    found = curve(PGD(radius=0, steps=5, batch=16), network, x, y, radii=radii, generator=seeded())
    assert found.accuracy[0] == pytest.approx(float((predicted(network, x) == y).float().mean()))
    assert bool((found.survives[1:] <= found.survives[:-1]).all())
    assert found.accuracy[0] > found.accuracy[2] > found.accuracy[-1]
    for row, radius in enumerate(radii[1:], start=1):
        single = PGD(radius=radius, steps=5)(network, x, y, seeded(3))
        assert found.accuracy[row] <= float((predicted(network, single) == y).float().mean()) + 0.1


@pytest.mark.parametrize(
    "attack",
    [
        FGSM(radius=0.1, bounds=(0, 1), passes=3),
        PGD(radius=0.2, norm=Norm.L2, steps=7, restarts=3, bounds=((0.0, -1.0), 2.0), loss=Loss.EXCESS),
    ],
    ids=lambda attack: attack.kind,
)
def test_json_round_trip(attack):
    adapter = TypeAdapter(Attack)
    assert adapter.validate_json(adapter.dump_json(attack)) == attack


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: FGSM(radius=-0.1),
        lambda: FGSM(radius=math.inf),
        lambda: FGSM(radius=0.1, steps=3),
        lambda: PGD(radius=0.1, norm="l7"),
        lambda: PGD(radius=0.1, steps=0),
        lambda: PGD(radius=0.1, restarts=2, random_start=False),
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValidationError):
        wrong()


def test_refusals_name_the_remedy(network):
    x, y = z_scored(2, scale=3.0), torch.tensor([0, 1])
    with pytest.raises(ValueError, match=r"x\[0, \d, \d\] = .* lies outside bounds=\(0.0, 1.0\): leave bounds out"):
        FGSM(radius=0.1, bounds=(0, 1))(network, x, y)
    with pytest.raises(ValueError, match="name 3 features, but x has 2"):
        FGSM(radius=0.1, bounds=((0, 0, 0), 1))(network, x, y)
    with pytest.raises(ValueError, match=r"needs a torch\.Generator"):
        PGD(radius=0.1)(network, x, y)
    with pytest.raises(ValueError, match="differentiable in x"):
        FGSM(radius=0.1)(lambda x: network(x.detach()).detach(), x, y)
    with pytest.raises(ValueError, match="rising radii"):
        curve(FGSM(radius=0), network, x, y, radii=(0.2, 0.1))
    call = inspect.unwrap(FGSM.__call__)  # what users run: without the shape checks of the test suite
    with pytest.raises(ValueError, match=r"\(batch, time, feature\)"):
        call(FGSM(radius=0.1), network, x[0], y)


@settings(max_examples=50, deadline=None)
@given(norm=st.sampled_from(list(Norm)), radius=st.floats(0, 100), seed=st.integers(0, 1000))
def test_projection_is_idempotent_and_leaves_inner_points_alone(norm, radius, seed):
    centre, x = z_scored(3, seed).double(), z_scored(3, seed + 1, 10.0).double()
    once = projection(x, centre, radius, norm)
    torch.testing.assert_close(projection(once, centre, radius, norm), once)
    # A point already inside stays where it is.
    inner = centre + 0.5 * (once - centre)
    torch.testing.assert_close(projection(inner, centre, radius, norm), inner)
