"""No certificate exceeds the radius at which an attack succeeds: random and trained networks, l2 and linf."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from noisyrnn.sde import GatedDrift, TanhDrift, activation
from noisyrnn.theory import (
    Network,
    Norm,
    adjoint_certificate,
    ball_certificate,
    first_order_distance,
    global_certificate,
)
from noisyrnn.theory.known import Example, random_example, reference, two_classes
from noisyrnn.theory.margin.certificate import SHRINK

CERTIFICATES = (global_certificate, ball_certificate, adjoint_certificate)


def logits(network: Network, x: Tensor) -> Tensor:
    """The network without the library's shape checks: an attack calls it thousands of times."""
    drift = network.drift
    h, a = network.h0.expand(len(x), -1), drift.activation.value
    steps = torch.as_tensor(network.dt).broadcast_to(1, x.shape[1], drift.units)[0]
    for u, dt in zip((x @ drift.U.mT + drift.b).unbind(1), steps, strict=True):
        h = h + dt * (h @ drift.A.mT + a(h @ drift.W.mT + u))
    return h @ network.V.mT + network.c


def gap(network, x, y):
    z = logits(network, x)
    others = z.scatter(1, y.unsqueeze(1), -torch.inf)
    return z.gather(1, y.unsqueeze(1)).squeeze(1) - others.amax(1)


def pgd(network, x, y, radius, norm, *, steps=20, restarts=3, generator):
    """Whether projected gradient descent on the logit gap, restarted, changes the class within ``radius``."""
    x, y, r = (tensor.repeat_interleave(restarts, 0) for tensor in (x, y, radius))
    r = r.reshape(-1, 1, 1)

    def projected(d):
        if norm is Norm.LINF:
            return torch.minimum(torch.maximum(d, -r), r)
        return d * (r / d.flatten(1).norm(dim=1).reshape(-1, 1, 1).clamp(min=1e-300)).clamp(max=1)

    start = torch.randn(x.shape, generator=generator, dtype=x.dtype)
    d = projected(r * start)
    d[::restarts] = 0  # one start at the sample itself
    broken = torch.zeros(len(x), dtype=torch.bool)
    for k in range(steps):
        d.requires_grad_()
        values = gap(network, x + d, y)
        slope = torch.autograd.grad(values.sum(), d)[0]
        broken |= values.detach() <= 0
        size = slope.flatten(1).norm(dim=1).reshape(-1, 1, 1).clamp(min=1e-300)
        step = slope.sign() if norm is Norm.LINF else slope / size
        d = projected(d.detach() - 2 * r * step * (1 - k / steps))
    broken |= gap(network, x + d, y).detach() <= 0
    return broken.reshape(-1, restarts).any(1)


def attack_radius(network, x, y, norm, generator):
    """Smallest radius at which the attack succeeds, bisected from the first-order distance."""
    high = 4 * first_order_distance(network, x, y, norm=norm)
    low = torch.zeros_like(high)
    reached = pgd(network, x, y, high, norm, generator=generator)
    for _ in range(7):
        middle = 0.5 * (low + high)
        success = pgd(network, x, y, middle, norm, generator=generator)
        low, high = torch.where(success, low, middle), torch.where(success, middle, high)
        reached |= success
    return torch.where(reached, high, torch.inf)


def trained(generator, weight_decay):
    """A Lipschitz RNN that tells whether its noisy input wavers about -1, 0 or 1."""
    y = torch.randint(3, (150,), generator=generator)
    noise = torch.randn(150, 16, 1, generator=generator, dtype=torch.float64)
    x = (y - 1).reshape(-1, 1, 1) + 0.5 * noise
    shapes = ((6, 6), (6, 6), (6, 1), (6,), (3, 6), (3,))
    parameters = [
        (0.5 * torch.randn(*shape, generator=generator, dtype=torch.float64)).requires_grad_() for shape in shapes
    ]
    optimiser = torch.optim.Adam(parameters, lr=0.03, weight_decay=weight_decay)

    def network():
        A, W, U, b, V, c = parameters
        return Network(drift=TanhDrift(A, W, U, b), dt=0.25, V=V, c=c, h0=torch.zeros(6, dtype=torch.float64))

    for _ in range(150):
        loss = torch.nn.functional.cross_entropy(logits(network(), x), y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    parameters = [parameter.detach() for parameter in parameters]
    right = logits(network(), x).argmax(1) == y
    assert right.double().mean() > 0.8
    return Example(network(), x[right][:100], y[right][:100])


def problems():
    """Twelve kinds of random networks (steps per unit and activations among them) and two trained ones."""
    for seed in range(12):
        generator = torch.Generator().manual_seed(seed)
        name = ("tanh", "tanh", "tanh", "sigmoid", "sin", "relu")[seed % 6]
        by_unit = 0.05 + 0.3 * torch.rand(5, generator=generator, dtype=torch.float64)
        by_unit[0] *= -1 if seed % 4 == 1 else 1  # released networks may learn negative steps
        yield random_example(
            generator, units=5, steps=10, samples=75, inputs=1 + seed % 2, activation=activation(name),
            dt=by_unit if seed % 2 else 0.15,
        )  # fmt: skip
    for weight_decay in (1e-3, 1e-2):
        yield trained(torch.Generator().manual_seed(7), weight_decay)


@pytest.fixture(scope="module")
def attacked():
    generator = torch.Generator().manual_seed(0)
    return [(P, {norm: attack_radius(P.network, P.x, P.y, norm, generator) for norm in Norm}) for P in problems()]


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("certificate", CERTIFICATES)
def test_no_certificate_exceeds_an_attack(attacked, certificate, norm, record_property):
    generator = torch.Generator().manual_seed(1)
    pairs, ratios = 0, []
    for P, radii in attacked:
        certified = certificate(P.network, P.x, P.y, norm=norm)
        assert bool((certified.radius > 0).all())
        assert bool((certified.radius < radii[norm]).all())
        assert not bool(pgd(P.network, P.x, P.y, certified.radius, norm, generator=generator).any())
        found = radii[norm].isfinite()
        ratios.append((certified.radius / radii[norm])[found])
        pairs += len(P.x)
    assert pairs >= 1000
    mean = torch.cat(ratios).mean().item()
    record_property("mean certified / PGD radius", mean)
    print(f"{certificate.__name__} {norm.value}: {pairs} pairs, mean certified / PGD radius {mean:.3f}")
    assert mean > {global_certificate: 0.02, ball_certificate: 0.2, adjoint_certificate: 0.25}[certificate]


def test_reference_radii():
    P = reference(label=2)
    shrunk = 1 - SHRINK
    glob = global_certificate(P.network, P.x, P.y).radius.item()
    assert glob == pytest.approx(0.5454988098133888 * shrunk, rel=1e-9)
    sharp = adjoint_certificate(P.network, P.x, P.y, tolerance=1e-12).radius.item()
    assert sharp == pytest.approx(0.6868211635806876 * shrunk, rel=1e-9)
    assert glob < ball_certificate(P.network, P.x, P.y).radius.item() < sharp < 1.43165


@pytest.mark.parametrize("norm", list(Norm))
def test_a_linear_network_is_certified_up_to_its_boundary(norm):
    P = random_example(torch.Generator().manual_seed(3), samples=10, activation=activation("identity"))
    exact = first_order_distance(P.network, P.x, P.y, norm=norm)
    for certificate in (ball_certificate, adjoint_certificate):
        radius = certificate(P.network, P.x, P.y, norm=norm, tolerance=1e-6).radius
        assert bool((radius <= exact).all())
        assert torch.allclose(radius, exact, rtol=2e-6)
    P = two_classes()
    assert global_certificate(P.network, P.x, P.y).radius.item() == pytest.approx(0.1, rel=2e-9)


def test_batches_chunks_and_steps_by_sample_agree():
    generator = torch.Generator().manual_seed(4)
    dt = 0.05 + 0.2 * torch.rand(7, 6, 1, generator=generator, dtype=torch.float64)
    P = random_example(generator, samples=7, dt=dt)
    whole = ball_certificate(P.network, P.x, P.y).radius
    assert torch.allclose(ball_certificate(P.network, P.x, P.y, chunk=2).radius, whole, rtol=2e-4)
    each = 8.0 * 16 * 6 * 5
    parts = adjoint_certificate(P.network, P.x, P.y, memory=2 * each).radius
    assert torch.allclose(parts, adjoint_certificate(P.network, P.x, P.y).radius, rtol=2e-4)
    one = replace(P.network, dt=dt[3])
    alone = ball_certificate(one, P.x[3:4], P.y[3:4]).radius
    assert alone.item() == pytest.approx(whole[3].item(), rel=2e-4)


def test_misclassified_samples_have_radius_zero_and_lower_precision_costs_radius():
    P = random_example(torch.Generator().manual_seed(5), samples=6)
    wrong = P.y.clone()
    wrong[2] = (wrong[2] + 1) % 3
    for certificate in CERTIFICATES:
        result = certificate(P.network, P.x, wrong)
        assert result.radius[2] == 0
        assert result.correct.tolist() == [True, True, False, True, True, True]
        assert "1 of 6 samples misclassified" in str(result)
        single = certificate(P.network, P.x, wrong, precision=torch.float32)
        assert bool((single.radius <= result.radius).all())
        assert single.radius[0] < result.radius[0]
        assert result.certified_accuracy(0.0) == pytest.approx(5 / 6)


def test_a_radius_is_reported_however_small():
    """A chaotic network: the radius is tiny, and still positive."""
    P = random_example(
        torch.Generator().manual_seed(6), units=3, steps=60, samples=2, dt=0.8, activation=activation("sin")
    )
    for certificate in (global_certificate, ball_certificate):
        radius = certificate(P.network, P.x, P.y).radius
        assert bool((radius > 0).all())
        assert bool((radius < 1e-3).all())


def test_what_cannot_be_certified_is_refused():
    P = random_example(torch.Generator().manual_seed(7))
    with pytest.raises(ValueError, match=r"0\.0 GB per sample for 6 steps of 4 units"):
        adjoint_certificate(P.network, P.x, P.y, memory=100.0)
    with pytest.raises(ValueError, match="tolerance"):
        ball_certificate(P.network, P.x, P.y, tolerance=0.0)
    W, U, b = torch.eye(4).double(), torch.ones(4, 2).double(), torch.zeros(4).double()
    gated = replace(P.network, drift=GatedDrift(W=W, U=U, b=b, V=U, c=b))
    with pytest.raises(ValueError, match="use smoothing"):
        ball_certificate(gated, P.x, P.y)
    with pytest.raises(ValueError, match="no readout"):
        global_certificate(replace(P.network, V=None), P.x, P.y)
