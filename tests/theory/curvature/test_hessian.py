"""Hessian: products, eigenvalues and traces against the dense matrix of torch.func."""

import pytest
import torch
from torch import nn

from noisyrnn.theory.curvature.hessian import (
    Hessian,
    bottom_eigenpairs,
    cross_entropy,
    hutchinson_trace,
    top_eigenpairs,
    xtrace,
)


class Recurrent(nn.Module):
    """A small recurrent network with dropout, a frozen parameter and one that the loss never sees."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.W = nn.Parameter(torch.randn(4, 4, generator=generator, dtype=torch.float64) / 2)
        self.encoder = nn.Linear(2, 4, dtype=torch.float64)
        self.readout = nn.Linear(4, 3, dtype=torch.float64)
        self.unused = nn.Parameter(torch.ones(2, dtype=torch.float64))
        self.frozen = nn.Parameter(torch.full((4,), 0.1, dtype=torch.float64), requires_grad=False)
        self.dropout = nn.Dropout(0.5)
        for layer in (self.encoder, self.readout):
            for parameter in layer.parameters():
                parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64) / 2

    def forward(self, x):
        h = self.frozen.expand(len(x), -1)
        for u in self.encoder(x).unbind(1):
            h = h + 0.3 * torch.tanh(self.dropout(h) @ self.W.mT + u)
        return self.readout(h)


@pytest.fixture
def problem():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(11, 5, 2, generator=generator, dtype=torch.float64)
    return Recurrent(), x, torch.randint(0, 3, (11,), generator=generator)


def dense(network, x, y, names):
    """The Hessian by torch.func, over all samples at once."""
    parameters = {name: p for name, p in network.named_parameters() if name in names}
    shapes = {name: p.shape for name, p in parameters.items()}

    def loss(flat):
        parts = flat.split([shape.numel() for shape in shapes.values()])
        values = {name: part.view(shapes[name]) for name, part in zip(shapes, parts, strict=True)}
        logits = torch.func.functional_call(network, values, (x,))
        return nn.functional.cross_entropy(logits, y)

    network.eval()
    flat = torch.cat([p.detach().reshape(-1) for p in parameters.values()])
    found = torch.func.hessian(loss)(flat)
    network.train()
    return found


NAMES = ["W", "unused", "encoder.weight", "encoder.bias", "readout.weight", "readout.bias"]


@pytest.mark.parametrize("batch", [None, 4, 1])
def test_products_equal_the_dense_hessian_whatever_the_batches(problem, batch):
    network, x, y = problem
    exact = dense(network, x, y, NAMES)
    H = Hessian(network, x, y, batch=batch)
    assert list(H.parameters) == [name for name, p in network.named_parameters() if p.requires_grad]
    assert torch.allclose(H.dense(), exact, atol=1e-12)
    v = torch.randn(H.size, 3, dtype=torch.float64)
    assert torch.allclose(H.product(v), exact @ v, atol=1e-11)
    assert torch.allclose(H.product(v[:, 0]), exact @ v[:, 0], atol=1e-11)
    assert network.training
    assert network.dropout.training
    assert all(p.grad is None for p in network.parameters())


def test_per_layer_hessians_are_its_blocks(problem):
    network, x, y = problem
    for names, kept in (
        (["readout"], ["readout.weight", "readout.bias"]),
        (["W", "encoder.bias"], ["W", "encoder.bias"]),
    ):
        assert torch.allclose(Hessian(network, x, y, names=names).dense(), dense(network, x, y, kept), atol=1e-12)


def test_extreme_eigenpairs(problem):
    network, x, y = problem
    exact = dense(network, x, y, NAMES)
    values = torch.linalg.eigvalsh(exact)
    H = Hessian(network, x, y, batch=4)
    top, bottom = top_eigenpairs(H, 5, tolerance=1e-12), bottom_eigenpairs(H, 3, tolerance=1e-12)
    assert torch.allclose(top.values, values.flip(0)[:5], atol=1e-6)
    assert torch.allclose(bottom.values, values[:3].flip(0), atol=1e-6)
    assert torch.allclose(exact @ top.vectors, top.vectors * top.values, atol=1e-6)
    everything = top_eigenpairs(Hessian(network, x, y, names=["readout.bias"]), 3)
    assert torch.allclose(
        everything.values, torch.linalg.eigvalsh(dense(network, x, y, ["readout.bias"])).flip(0), atol=1e-9
    )


def test_traces_with_their_errors(problem):
    network, x, y = problem
    exact = float(dense(network, x, y, NAMES).trace())
    H = Hessian(network, x, y)
    plain, better = hutchinson_trace(H, 64), xtrace(H, 20)
    assert abs(plain.value - exact) < 3 * plain.standard_error
    assert abs(better.value - exact) < 3 * better.standard_error
    assert better.standard_error < plain.standard_error / 3


def test_standard_errors_of_traces_are_those_of_repetition(problem):
    network, x, y = problem
    exact = float(dense(network, x, y, NAMES).trace())
    H = Hessian(network, x, y)
    for estimator in (lambda seed: hutchinson_trace(H, 8, seed=seed), lambda seed: xtrace(H, 6, seed=seed)):
        found = [estimator(seed) for seed in range(40)]
        values = torch.tensor([trace.value for trace in found])
        stated = torch.tensor([trace.standard_error for trace in found]).mean()
        assert abs(float(values.mean()) - exact) < 4 * float(values.std()) / 40**0.5
        assert 0.5 < float(stated / values.std()) < 2


def test_own_loss_and_a_linear_one():
    network = nn.Linear(2, 1, bias=False, dtype=torch.float64)
    x, y = torch.randn(5, 2, dtype=torch.float64), torch.randn(5, 1, dtype=torch.float64)
    squares = Hessian(network, x, y, loss=lambda net, x, y: (net(x) - y).square().mean(), batch=2)
    assert torch.allclose(squares.dense(), 2 * x.mT @ x / 5)
    flat = Hessian(network, x, y, loss=lambda net, x, y: net(x).mean(), batch=2)
    assert torch.equal(flat.dense(), torch.zeros(2, 2, dtype=torch.float64))


def test_single_precision_networks_have_double_precision_results(problem):
    network, x, y = problem
    exact = torch.linalg.eigvalsh(dense(network, x, y, NAMES))
    found = top_eigenpairs(Hessian(network.float(), x.float(), y), 2)
    assert found.values.dtype == torch.float64
    assert torch.allclose(found.values, exact.flip(0)[:2], rtol=1e-4)


def test_wrong_use(problem):
    network, x, y = problem
    with pytest.raises(ValueError, match="same number of samples"):
        Hessian(network, x, y[:3])
    with pytest.raises(ValueError, match="'decoder'"):
        Hessian(network, x, y, names=["decoder"])
    with pytest.raises(ValueError, match="'frozen'"):
        Hessian(network, x, y, names=["frozen"])
    with pytest.raises(ValueError, match="got shape"):
        Hessian(network, x, y).product(torch.ones(3))
    with pytest.raises(ValueError, match="at least 2 probes"):
        hutchinson_trace(Hessian(network, x, y), 1)
    with pytest.raises(ValueError, match="requires_grad_"):
        Hessian(network.requires_grad_(False), x, y)
    assert cross_entropy(network, x, y).ndim == 0
