"""The probe is unbiased, in value and in gradient, and explicit regularisation can be trained with."""

from dataclasses import replace

import pytest
import torch

from noisyrnn.sde import AdditiveNoise, DenseNoise, DriftNoise, GatedDrift, TanhDrift, activation
from noisyrnn.theory import CrossEntropy, Network, OwnLoss, Released, explicit_loss, probe, regulariser
from noisyrnn.theory.known import random_example


def double(number):
    return torch.tensor(number, dtype=torch.float64)


def systems():
    generator = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    mixed = random_example(generator, samples=2, diffusion=DriftNoise(double(0.4), double(0.6)))
    yield "mixed", mixed.network, mixed.x, mixed.loss
    sine = random_example(generator, samples=2, diffusion=DriftNoise(double(0.4)), activation=activation("sin"))
    yield "sine", sine.network, sine.x, sine.loss
    dense = random_example(generator, samples=2, diffusion=DenseNoise(0.4 * normal(4, 2)))
    yield "dense", dense.network, dense.x, dense.loss
    plain = random_example(generator, samples=2)
    released = replace(
        plain.network, diffusion=AdditiveNoise(double(0.3)), released=Released(multiplicative=0.8), dt=normal(4).abs()
    )
    yield "released", released, plain.x, plain.loss
    gated = GatedDrift(W=normal(3, 3), U=normal(3, 2), b=normal(3), V=normal(3, 2), c=normal(3))
    yield (
        "gated",
        Network(drift=gated, dt=0.3, diffusion=DriftNoise(double(0.4), double(0.6))),
        normal(2, 4, 2),
        (OwnLoss(lambda h: h.prod() + h.sin().sum())),
    )


@pytest.mark.parametrize(("name", "network", "x", "loss"), list(systems()))
def test_probe_is_unbiased(name, network, x, loss):
    generator = torch.Generator().manual_seed(1)
    rounds = [probe(network, x, loss, generator=generator, probes=100) for _ in range(20)]
    exact = regulariser(network, x, loss)
    for quantity in ("Q", "R", "variance"):
        values = torch.stack([getattr(one, quantity) for one in rounds])
        error = values.std(0) / len(rounds) ** 0.5
        assert bool(((values.mean(0) - getattr(exact, quantity)).abs() < 5 * error).all()), quantity
    assert torch.allclose(rounds[0].bias, exact.bias, atol=1e-14)
    assert torch.allclose(rounds[0].loss, exact.loss, atol=1e-14)


def matrices(seed):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((3, 3), (3, 3), (3, 1), (3,), (2, 3))
    return [0.6 * torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


def objective(A, W, U, b, V, **settings):
    network = Network(drift=TanhDrift(A, W, U, b), dt=0.4, V=V, diffusion=DriftNoise(double(0.4), double(0.6)))
    x = torch.linspace(-1, 1, 8, dtype=torch.float64).reshape(2, 4, 1)
    return explicit_loss(network, x, CrossEntropy(V=V, y=torch.tensor([0, 1])), epsilon=0.7, **settings).mean()


@pytest.mark.parametrize("Q", [True, False])
def test_exact_gradient_of_the_regularised_loss(Q):
    parameters = [matrix.requires_grad_() for matrix in matrices(2)]
    assert torch.autograd.gradcheck(lambda *given: objective(*given, Q=Q), parameters)


def test_probe_gradient_is_the_exact_one_on_average():
    parameters = [matrix.requires_grad_() for matrix in matrices(2)]
    exact = torch.autograd.grad(objective(*parameters), parameters)
    generator = torch.Generator().manual_seed(3)
    rounds = [
        torch.autograd.grad(objective(*parameters, generator=generator, probes=64), parameters) for _ in range(25)
    ]
    for k, truth in enumerate(exact):
        values = torch.stack([one[k] for one in rounds])
        error = values.std(0) / len(rounds) ** 0.5
        assert bool(((values.mean(0) - truth).abs() < 5 * error + 1e-12).all())


def test_training_with_it_lowers_the_regulariser():
    generator = torch.Generator().manual_seed(4)
    parameters = [torch.nn.Parameter(matrix) for matrix in matrices(5)]
    optimiser = torch.optim.Adam(parameters, lr=0.03)
    before = objective(*parameters).item()
    for _ in range(40):
        optimiser.zero_grad()
        objective(*parameters, generator=generator).backward()
        optimiser.step()
    assert objective(*parameters).item() < 0.9 * before


def test_wrong_settings_are_refused():
    P = random_example(torch.Generator().manual_seed(0))
    generator = torch.Generator()
    with pytest.raises(ValueError, match="at least 1 probe"):
        probe(P.network, P.x, P.loss, generator=generator, probes=0)
    with pytest.raises(ValueError, match="epsilon"):
        explicit_loss(P.network, P.x, P.loss, epsilon=-1.0)
    rough = random_example(torch.Generator().manual_seed(0), activation=activation("relu"))
    with pytest.raises(ValueError, match="no second derivative"):
        probe(rough.network, rough.x, rough.loss, generator=generator)
