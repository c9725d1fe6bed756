"""The noisy, the Lipschitz and the antisymmetric RNN are their papers' equations, with the stated initial weights."""

import copy
import math

import pytest
import torch
from transcription import WIDE, B, F, M, N, T, assert_agree, sequence

import noisyrnn
from noisyrnn.models import Convention, Initialisation, Lipschitz, matched_strengths
from noisyrnn.sde import ActivationName, Key, SchemeName, draw, uniform


@pytest.mark.parametrize("training", [True, False])
def test_noisy_rnn_in_the_released_convention_is_its_equation(training):
    layer = noisyrnn.NoisyRNN(M, N, additive=0.05, multiplicative=0.2, dt=0.1, gamma_w=0.01, **WIDE).train(training)
    drift, d = layer.cells[0].sde.drift, layer.cells[0].step_size.dt
    B_, C_, U, b = drift.B.mT, drift.C.mT, drift.input.weight, drift.input.bias
    xi, uniforms = (law(Key(value=6), B, T, N, dtype=F) for law in (draw, uniform))

    def transcription(x):
        eye, beta, h, states = torch.eye(N, dtype=F), 0.75, torch.zeros(B, N, dtype=F), []
        A = beta * (B_ - B_.T) + (1 - beta) * (B_ + B_.T) - 0.001 * eye
        W = beta * (C_ - C_.T) + (1 - beta) * (C_ + C_.T) - 0.01 * eye
        for t in range(T):
            f = h @ A + torch.tanh(h @ W + x[t] @ U.T + b)  # rows, as the authors write it
            u, a = ((1 - 0.2) + 0.2 * uniforms[t], 0.05 * xi[t]) if training else (1, 0)
            h = h + d * u * f + a
            states.append(h)
        return torch.stack(states)

    assert_agree(layer, transcription, sequence())


def test_noisy_rnn_in_the_printed_convention_is_its_equation():
    layer = noisyrnn.NoisyRNN(
        M, N, additive=0.3, multiplicative=0.2, dt=0.1, beta=0.6, beta_w=0.9, convention=Convention.ITO, **WIDE
    ).train()
    drift = layer.cells[0].sde.drift
    xi = draw(Key(value=6), B, T, N, dtype=F)

    def transcription(x):
        eye, h, states = torch.eye(N, dtype=F), torch.zeros(B, N, dtype=F), []
        A = 0.4 * (drift.B + drift.B.T) + 0.6 * (drift.B - drift.B.T) - 0.001 * eye
        W = 0.1 * (drift.C + drift.C.T) + 0.9 * (drift.C - drift.C.T) - 0.001 * eye
        for t in range(T):
            z = torch.stack(
                [W @ row + drift.input.weight @ xt + drift.input.bias for row, xt in zip(h, x[t], strict=True)]
            )
            f = h @ A.T + torch.tanh(z)
            h = h + 0.1 * f + math.sqrt(0.1) * (0.3 + 0.2 * f) * xi[t]
            states.append(h)
        return torch.stack(states)

    assert_agree(layer, transcription, sequence())


def test_lipschitz_rnn_is_its_equation():
    layer = noisyrnn.LipschitzRNN(M, N, dt=0.1, beta=0.8, gamma_a=0.01, gamma_w=0.02, **WIDE)
    drift = layer.cells[0].sde.drift

    def transcription(x):
        h, states, eye = torch.zeros(B, N, dtype=F), [], torch.eye(N, dtype=F)
        A = 0.2 * (drift.B + drift.B.T) + 0.8 * (drift.B - drift.B.T) - 0.01 * eye
        W = 0.2 * (drift.C + drift.C.T) + 0.8 * (drift.C - drift.C.T) - 0.02 * eye
        for t in range(T):
            h = h + 0.1 * h @ A.T + 0.1 * torch.tanh(h @ W.T + x[t] @ drift.input.weight.T + drift.input.bias)
            states.append(h)
        return torch.stack(states)

    assert_agree(layer, transcription, sequence())


@pytest.mark.parametrize("gated", [False, True])
def test_antisymmetric_rnn_is_its_equation(gated):
    layer = noisyrnn.AntisymmetricRNN(M, N, dt=0.1, gamma=0.05, gated=gated, **WIDE)
    drift = layer.cells[0].sde.drift

    def transcription(x):
        h, states = torch.zeros(B, N, dtype=F), []
        S = drift.C - drift.C.T - 0.05 * torch.eye(N, dtype=F)
        for t in range(T):
            step = 0.1 * torch.tanh(h @ S.T + x[t] @ drift.input.weight.T + drift.input.bias)
            if gated:
                step = step * torch.sigmoid(h @ S.T + x[t] @ drift.gate.weight.T + drift.gate.bias)
            h = h + step
            states.append(h)
        return torch.stack(states)

    assert_agree(layer, transcription, sequence())


def test_lipschitz_rnn_is_the_ito_noisy_rnn_with_the_noise_off():
    noisy = noisyrnn.NoisyRNN(
        M, N, additive=0.3, multiplicative=0.3, convention=Convention.ITO, dt=0.03, dtype=F
    ).eval()
    plain = noisyrnn.LipschitzRNN(M, N, dt=0.03, dtype=F)
    plain.load_state_dict(noisy.state_dict())
    assert torch.equal(plain(sequence())[0], noisy(sequence())[0])


def test_antisymmetric_rnn_is_the_lipschitz_rnn_without_linear_term():
    plain = noisyrnn.LipschitzRNN(M, N, dt=0.1, beta=1.0, gamma_a=0.0, gamma_w=0.02, dtype=F)
    bare = noisyrnn.AntisymmetricRNN(M, N, dt=0.1, gamma=0.02, dtype=F)
    state = plain.state_dict()
    with torch.no_grad():
        plain.cells[0].sde.drift.B.zero_()
    bare.load_state_dict({name: value for name, value in state.items() if not name.endswith("drift.B")})
    assert torch.allclose(bare(sequence())[0], plain(sequence())[0], atol=1e-12)


@pytest.mark.parametrize(
    ("initialisation", "spread"),
    [
        (Initialisation.RELEASED, 0.1 / 128),
        (Initialisation.PRINTED, math.sqrt(0.1 / 128)),
        (Initialisation.CHANG, 0.1 / math.sqrt(128)),
    ],
)
def test_initial_matrices_have_the_stated_spread(initialisation, spread):
    torch.manual_seed(0)
    drift = noisyrnn.NoisyRNN(1, 128, initialisation=initialisation).cells[0].sde.drift
    for matrix in (drift.B, drift.C):
        # 16,384 normal numbers: the standard deviation is known to 0.55 %, so 5 standard errors are 2.8 %.
        assert float(matrix.detach().std()) == pytest.approx(spread, rel=0.028)
    chang = initialisation is Initialisation.CHANG
    assert bool((drift.input.bias == 0).all()) == chang
    assert bool((drift.input.weight.abs() <= 1).all()) != chang


def test_released_initialisation_has_the_stated_spectrum():
    # Numbers of the authors' settings at n = 128, beta = 0.75, gamma = 0.001: largest singular value of A about 0.0195.
    torch.manual_seed(0)
    A = noisyrnn.NoisyRNN(1, 128).cells[0].sde.drift.built().A.detach()
    assert float(torch.linalg.matrix_norm(A, 2)) == pytest.approx(0.0195, rel=0.1)
    printed = noisyrnn.NoisyRNN(1, 128, initialisation=Initialisation.PRINTED).cells[0].sde.drift.built().A.detach()
    assert float(torch.linalg.matrix_norm(printed, 2)) == pytest.approx(0.70, rel=0.1)


def test_matched_strengths_inject_the_same_variance():
    additive, multiplicative, dt = 0.05, 0.4, 0.2
    sigma_1, sigma_2 = matched_strengths(additive, multiplicative, dt)
    assert dt * sigma_1**2 == pytest.approx(additive**2)
    assert dt * sigma_2**2 == pytest.approx((multiplicative * dt) ** 2 / 12)


@pytest.mark.parametrize("scheme", list(SchemeName))
@pytest.mark.parametrize("activation", [ActivationName.SIN, ActivationName.RELU])
def test_every_named_scheme_and_activation_builds_and_runs(scheme, activation):
    network = Lipschitz(hidden=4, scheme=scheme, activation=activation, dt=0.1).build(inputs=1, classes=2)
    assert network(torch.randn(3, 5, 1)).isfinite().all()


def test_released_convention_has_its_own_scheme():
    with pytest.raises(ValueError, match=r"scheme of its own.*Convention.ITO"):
        noisyrnn.NoisyRNN(1, 4, scheme=SchemeName.HEUN)


def test_matrices_that_are_kept_follow_every_change():
    """Weights changed behind torch's back, numbers of the drift, and the type: what is used is what they say now."""
    layer = noisyrnn.NoisyRNN(1, 5, dt=0.1).eval()
    drift, x = layer.cells[0].sde.drift, torch.randn(7, 3, 1)

    def kept_and_built() -> None:
        with torch.no_grad():
            kept = layer(x.to(drift.C.dtype))[0]
        torch.testing.assert_close(kept, layer(x.to(drift.C.dtype))[0].detach(), rtol=0, atol=0)

    kept_and_built()
    for change in (
        lambda: drift.B.data.add_(0.5), lambda: drift.C.data.neg_(), lambda: setattr(drift, "gamma_w", 0.7),
        lambda: setattr(drift, "beta_a", 0.9), lambda: layer.double(), lambda: drift.input.weight.data.mul_(2),
    ):  # fmt: skip
        change()
        kept_and_built()
    with torch.no_grad():
        one, other = layer.cells[0].sde.drift.built(), copy.deepcopy(layer).cells[0].sde.drift.built()
    assert torch.equal(one.W, other.W)
    assert one.W is not other.W
