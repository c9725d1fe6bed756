"""Each model is its paper's equation: plain transcriptions, parameter counts, settings, presets."""

import hashlib
import inspect
import math

import numpy as np
import pytest
import torch

import noisyrnn
from noisyrnn.models import (
    PRESETS,
    Antisymmetric,
    Classic,
    Convention,
    Coupled,
    Damping,
    Exponential,
    Initialisation,
    Lipschitz,
    Noisy,
    Parametrisation,
    Preset,
    matched_strengths,
    preset,
)
from noisyrnn.sde import ActivationName, Key, SchemeName, draw, uniform

T, B, N, M = 9, 4, 6, 2
F = torch.float64
WIDE = {"initialisation": Initialisation.PRINTED, "init_scale": 2.0, "dtype": F}


def assert_agree(layer, transcription, x, arity=1):
    """Values and gradients of all parameters and inputs agree with plain tensors."""
    x = x.clone().requires_grad_()
    output, h_n = layer(x, key=Key(value=6) if layer.training else None)
    last = h_n if arity == 1 else h_n[0]
    inputs = [x, *layer.parameters()]
    scale = torch.linspace(-1, 1, output.numel(), dtype=F).reshape(output.shape)
    ours = torch.autograd.grad((output * scale).sum() + last.sum(), inputs, allow_unused=True)
    plain = transcription(x)
    assert torch.allclose(output, plain, atol=1e-6, rtol=0)
    theirs = torch.autograd.grad((plain * scale).sum() + plain[-1].sum(), inputs, allow_unused=True)
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine is None) == (other is None)
        assert mine is None or torch.allclose(mine, other, atol=1e-6, rtol=1e-6)


def sequence():
    return torch.randn(T, B, M, dtype=F, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("training", [True, False])
def test_noisy_rnn_in_the_released_convention_is_its_equation(training):
    layer = noisyrnn.NoisyRNN(M, N, additive=0.05, multiplicative=0.2, dt=0.1, gamma_w=0.01, **WIDE).train(training)
    drift, d = layer.cells[0].sde.drift, layer.cells[0].length.dt
    B_, C_, U, b = drift.B.mT, drift.C.mT, drift.input.weight, drift.input.bias
    xi, chance = (law(Key(value=6), B, T, N, dtype=F) for law in (draw, uniform))

    def transcription(x):
        eye, beta, h, states = torch.eye(N, dtype=F), 0.75, torch.zeros(B, N, dtype=F), []
        A = beta * (B_ - B_.T) + (1 - beta) * (B_ + B_.T) - 0.001 * eye
        W = beta * (C_ - C_.T) + (1 - beta) * (C_ + C_.T) - 0.01 * eye
        for t in range(T):
            f = h @ A + torch.tanh(h @ W + x[t] @ U.T + b)  # rows, as the authors write it
            u, a = ((1 - 0.2) + 0.2 * chance[t], 0.05 * xi[t]) if training else (1, 0)
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


@pytest.mark.parametrize("damping", list(Damping))
def test_coupled_oscillatory_rnn_is_its_equation(damping):
    layer = noisyrnn.CoRNN(M, N, dt=0.1, gamma=1.3, epsilon=2.0, damping=damping, dtype=F)
    joint = layer.cells[0].joint

    def transcription(x):
        y, z, states = torch.zeros(B, N, dtype=F), torch.zeros(B, N, dtype=F), []
        for t in range(T):
            force = torch.tanh(joint(torch.cat((x[t], z, y), dim=1))) - 1.3 * y
            z = z + 0.1 * (force - 2.0 * z) if damping is Damping.EXPLICIT else (z + 0.1 * force) / (1 + 0.1 * 2.0)
            y = y + 0.1 * z
            states.append(y)
        return torch.stack(states)

    assert_agree(layer, transcription, sequence(), arity=2)


@pytest.mark.parametrize("parametrisation", list(Parametrisation))
def test_exponential_rnn_is_its_equation(parametrisation):
    layer = noisyrnn.ExpRNN(M, N, parametrisation=parametrisation, dtype=F)
    cell = layer.cells[0]
    with torch.no_grad():
        cell.orthogonal.A.add_(0.3 * torch.randn(N, N, dtype=F))

    def transcription(x):
        S = torch.triu(cell.orthogonal.A, 1) - torch.triu(cell.orthogonal.A, 1).T
        eye = torch.eye(N, dtype=F)
        if parametrisation is Parametrisation.CAYLEY:
            Q = torch.linalg.inv(eye + S) @ (eye - S)
        else:
            Q = torch.linalg.matrix_exp(S)
            Q = cell.orthogonal.base @ Q if parametrisation is Parametrisation.DYNAMIC else Q
        h, states = torch.zeros(B, N, dtype=F), []
        for t in range(T):
            v = h @ Q.T + x[t] @ cell.U.T
            h = torch.sign(v) * torch.relu(torch.abs(v) + cell.b)
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


COUNTS = {
    "noisy": (Noisy(), 34_442), "lipschitz": (Lipschitz(), 34_314), "cornn": (Coupled(), 34_314),
    "antisymmetric": (Antisymmetric(), 17_930), "exprnn": (Exponential(), 17_930),
    "gated": (Antisymmetric(gated=True), 17_930 + 256),
}  # fmt: skip


@pytest.mark.parametrize("name", list(COUNTS))
def test_parameter_counts_are_the_papers(name):
    setting, count = COUNTS[name]
    assert sum(parameter.numel() for parameter in setting.build(inputs=1, classes=10).parameters()) == count


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


def test_coupled_oscillators_start_within_the_joint_bound():
    joint = noisyrnn.CoRNN(1, 128).cells[0].joint
    bound = 1 / math.sqrt(257)
    assert 0.98 * bound < float(joint.weight.detach().abs().max()) <= bound


def test_matched_strengths_inject_the_same_variance():
    additive, multiplicative, dt = 0.05, 0.4, 0.2
    sigma_1, sigma_2 = matched_strengths(additive, multiplicative, dt)
    assert dt * sigma_1**2 == pytest.approx(additive**2)
    assert dt * sigma_2**2 == pytest.approx((multiplicative * dt) ** 2 / 12)


SETTINGS = [
    (Noisy, noisyrnn.NoisyRNN), (Lipschitz, noisyrnn.LipschitzRNN), (Antisymmetric, noisyrnn.AntisymmetricRNN),
    (Coupled, noisyrnn.CoRNN), (Exponential, noisyrnn.ExpRNN), (Classic, noisyrnn.ClassicRNN),
]  # fmt: skip


@pytest.mark.parametrize(("setting", "layer"), SETTINGS)
def test_setting_and_layer_have_the_same_choices_and_defaults(setting, layer):
    parameters = inspect.signature(layer).parameters
    ours = {name: field.default for name, field in setting.model_fields.items() if name not in ("kind", "hidden")}
    skipped = ("input_size", "hidden_size", "batch_first", "device", "dtype")
    assert ours == {name: p.default for name, p in parameters.items() if name not in skipped}


@pytest.mark.parametrize(("setting", "layer"), SETTINGS)
def test_setting_goes_through_json_and_builds_its_layer(setting, layer):
    small = setting(hidden=5, num_layers=2, bidirectional=True)
    again = setting.model_validate_json(small.model_dump_json())
    assert again == small
    network = again.build(inputs=2, classes=3)
    assert type(network.layer) is layer
    assert network(torch.zeros(2, 4, 2)).shape == (2, 3)


def test_settings_refuse_typos_and_changes():
    with pytest.raises(ValueError, match="hiden"):
        Noisy(hiden=3)
    with pytest.raises(ValueError, match="activation"):
        Noisy(activation="swish")
    with pytest.raises(ValueError, match="frozen"):
        Noisy().hidden = 3


@pytest.mark.parametrize("scheme", list(SchemeName))
@pytest.mark.parametrize("activation", [ActivationName.SIN, ActivationName.RELU])
def test_every_named_scheme_and_activation_builds_and_runs(scheme, activation):
    network = Lipschitz(hidden=4, scheme=scheme, activation=activation, dt=0.1).build(inputs=1, classes=2)
    assert network(torch.randn(3, 5, 1)).isfinite().all()


def test_released_convention_has_its_own_scheme():
    with pytest.raises(ValueError, match=r"scheme of its own.*Convention.ITO"):
        noisyrnn.NoisyRNN(1, 4, scheme=SchemeName.HEUN)


def test_presets_are_the_prescribed_ones():
    noisy = preset("ordered-mnist", "nrnn-large")
    assert (noisy.model.additive, noisy.model.multiplicative, noisy.model.dt, noisy.lr) == (0.05, 0.02, 0.01, 1e-3)
    assert preset("ecg", "nrnn").model.beta == 0.9
    assert preset("ordered-mnist", "antisymmetric").model.gamma == 1e-4
    assert preset("ordered-mnist", "antisymmetric-printed").model.gamma == 1e-3
    assert preset("permuted-mnist", "cornn").model.gamma == 0.13
    assert preset("ordered-mnist", "exprnn").lr_orthogonal == pytest.approx(preset("ordered-mnist", "exprnn").lr / 10)
    for table in PRESETS.values():
        for one in table.values():
            assert Preset.model_validate_json(one.model_dump_json()) == one
            assert one.source
    with pytest.raises(ValueError, match=r"no preset 'mnist'; choose one of ecg"):
        preset("mnist", "nrnn")
    with pytest.raises(ValueError, match=r"no preset 'lstm'; choose one of antisymmetric"):
        preset("ecg", "lstm")


def test_published_permutations_and_validation_indices_are_reproducible_here():
    def digest(numbers):
        return hashlib.sha256(np.asarray(numbers, dtype="<i8").tobytes()).hexdigest()[:16]

    authors = torch.randperm(784, generator=torch.Generator().manual_seed(12008))
    assert authors[:4].tolist() == [91, 97, 471, 426]
    assert digest(authors) == "f4113bc8ae789021"
    assert digest(np.random.RandomState(92916).permutation(784)) == "96240fe27409981c"
    assert digest(np.random.RandomState(1234).permutation(60000)[58000:]) == "7997801537631326"
