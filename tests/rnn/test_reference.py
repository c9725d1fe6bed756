"""The reference loop: signals, refinement, smaller steps."""

import pytest
import torch

import noisyrnn
from noisyrnn.rnn import held, integrate, interpolated
from noisyrnn.sde import SDE, AdditiveNoise, Key, TanhDrift, coarsen, draw, euler_maruyama


def test_refining_a_driven_network_converges_at_order_one_for_additive_noise():
    torch.manual_seed(2)
    drift = TanhDrift(*(torch.randn(*s, dtype=torch.float64) / 2 for s in ((3, 3), (3, 3), (3, 1), (3,))))
    sde, h0 = SDE(drift, AdditiveNoise(0.4)), torch.zeros(200, 3, dtype=torch.float64)
    signal = interpolated(torch.randn(9, 1, 1, dtype=torch.float64), 0.125)
    xi = draw(Key(value=1), 200, 2048, 3, dtype=torch.float64)
    exact = integrate(sde, euler_maruyama, h0, signal, duration=1.0, xi=xi)[-1]
    errors = [
        float((integrate(sde, euler_maruyama, h0, signal, duration=1.0, xi=coarsen(xi, k))[-1] - exact).norm())
        for k in (64, 32, 16)
    ]
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(2, rel=0.15)


def test_held_signal_is_what_a_network_with_substeps_sees():
    layer = noisyrnn.LipschitzRNN(1, 3, dt=0.5, substeps=4, dtype=torch.float64)
    x = torch.randn(6, 2, 1, dtype=torch.float64)
    path = integrate(
        layer.cells[0].sde, euler_maruyama, torch.zeros(2, 3, dtype=torch.float64), held(x, 0.5), duration=3.0, steps=24
    )
    assert torch.allclose(path[4::4], layer(x)[0])
