"""Drifts, diffusions, constants, and agreement with torchsde."""

import pytest
import torch
import torchsde
from hypothesis import given
from hypothesis import strategies as st

from noisyrnn.rnn.reference import integrate
from noisyrnn.sde import (
    SDE,
    AdditiveNoise,
    CommonNoise,
    Coupling,
    DenseNoise,
    DriftNoise,
    GatedDrift,
    Key,
    Silence,
    StateNoise,
    TanhDrift,
    draw,
    euler_maruyama,
    growth_constant,
    growth_constant_as_printed,
    lipschitz_constant,
    lipschitz_constant_as_printed,
)

torch.manual_seed(0)
D, M = 4, 2


def random_drift(seed: int = 0, linear: bool = True) -> TanhDrift:
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    return TanhDrift(normal(D, D) if linear else None, normal(D, D), normal(D, M), normal(D))


NOISES = {
    "silence": Silence(),
    "additive": AdditiveNoise(0.3),
    "mixed": DriftNoise(0.3, 0.4, epsilon=0.5),
    "multiplicative": DriftNoise(multiplicative=0.4),
    "per unit": DriftNoise(torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64), 0.2),
    "state": StateNoise(0.5),
    "common": CommonNoise(0.5),
    "dense": DenseNoise(torch.randn(D, 3, dtype=torch.float64)),
}


def test_drift_is_its_formula_and_its_jacobian_is_autograds():
    drift = random_drift()
    h, x = torch.randn(5, D, dtype=torch.float64), torch.randn(5, M, dtype=torch.float64)
    u = drift.encode(x)
    expected = torch.stack(
        [drift.A @ hi + torch.tanh(drift.W @ hi + drift.U @ xi + drift.b) for hi, xi in zip(h, x, strict=True)]
    )
    assert torch.allclose(drift(h, u), expected)
    for i in range(5):
        exact = torch.autograd.functional.jacobian(lambda state, i=i: drift(state, u[i]), h[i])
        assert torch.allclose(drift.jacobian(h[i], u[i]), exact)


def test_drift_without_linear_term_is_the_one_with_zero_matrix():
    bare = random_drift(linear=False)
    padded = TanhDrift(torch.zeros(D, D, dtype=torch.float64), bare.W, bare.U, bare.b)
    h, u = torch.randn(3, D, dtype=torch.float64), torch.randn(3, D, dtype=torch.float64)
    assert torch.equal(bare(h, u), padded(h, u))
    assert torch.equal(bare.jacobian(h, u), padded.jacobian(h, u))
    assert bare.lipschitz() == padded.lipschitz()


def test_gate_shares_the_recurrent_matrix():
    t = torch.float64
    W, U, b, V, c = (torch.randn(*s, dtype=t) for s in ((D, D), (D, M), (D,), (D, M), (D,)))
    drift = GatedDrift(W, U, b, V, c)
    h, x = torch.randn(D, dtype=t), torch.randn(M, dtype=t)
    expected = torch.sigmoid(W @ h + V @ x + c) * torch.tanh(W @ h + U @ x + b)
    assert torch.allclose(drift(h, drift.encode(x)), expected)


@pytest.mark.parametrize("name", list(NOISES))
def test_noise_is_linear_in_xi_and_its_matrix_says_the_same(name):
    diffusion = NOISES[name]
    h, f = torch.randn(6, D, dtype=torch.float64), torch.randn(6, D, dtype=torch.float64)
    xi = torch.randn(6, diffusion.noises(D), dtype=torch.float64)
    g = diffusion.matrix(h, f)
    assert g.shape == (6, D, diffusion.noises(D))
    assert torch.allclose(torch.einsum("bij,bj->bi", g, xi), diffusion(h, f, xi))
    if diffusion.diagonal:
        assert torch.equal(g, torch.diag_embed(g.diagonal(dim1=1, dim2=2)))


def test_coupling_follows_the_strengths():
    assert DriftNoise(0.1).coupling is Coupling.ADDITIVE
    assert DriftNoise(0.1, 0.1).coupling is Coupling.COUPLED
    assert DriftNoise(0.1, 0.1, epsilon=0.0).coupling is Coupling.SILENT
    assert DriftNoise().coupling is Coupling.SILENT
    assert DriftNoise(torch.nn.Parameter(torch.zeros(3))).coupling is Coupling.ADDITIVE


@pytest.mark.parametrize("bad", [-0.1, float("nan"), float("inf")])
def test_bad_strengths_are_refused(bad):
    for noise in (AdditiveNoise, StateNoise, CommonNoise, lambda s: DriftNoise(multiplicative=s)):
        with pytest.raises(ValueError, match="must be finite and at least 0"):
            noise(bad)


def test_wrong_matrix_shapes_are_refused_by_name():
    eye = torch.eye(2)
    with pytest.raises(ValueError, match=r"U must have shape \(2, 1\), got \(3, 1\)"):
        TanhDrift(eye, eye, torch.ones(3, 1), torch.zeros(2))
    with pytest.raises(ValueError, match=r"A must have shape"):
        TanhDrift(torch.eye(3), eye, torch.ones(2, 1), torch.zeros(2))
    with pytest.raises(ValueError, match="3 rows but the drift has 2 units"):
        SDE(TanhDrift(eye, eye, torch.ones(2, 1), torch.zeros(2)), DenseNoise(torch.ones(3, 1)))


@pytest.mark.parametrize("name", [n for n in NOISES if n not in ("silence", "per unit")])
def test_torchsde_takes_the_same_path(name):
    sde, steps, duration = SDE(random_drift(3), NOISES[name]), 20, 1.0
    h0 = torch.randn(3, D, dtype=torch.float64)
    x = torch.randn(steps, 1, M, dtype=torch.float64)
    drives = sde.drift.encode(x).expand(steps, 3, D)
    xi = draw(Key(value=9), 3, steps, sde.noises, dtype=torch.float64)

    class Given(torchsde.BaseBrownian):
        """Our increments, by the step they belong to."""

        dtype, device, shape, levy_area_approximation = torch.float64, h0.device, (3, sde.noises), "none"

        def __repr__(self):
            return "Given()"

        def __call__(self, ta, tb=None, **_):
            return xi[round(float(ta) / duration * steps)] * (duration / steps) ** 0.5

    peer = sde.to_torchsde(lambda t: drives[min(round(t / duration * steps), steps - 1)])
    theirs = torchsde.sdeint(
        peer,
        h0,
        torch.linspace(0, duration, steps + 1, dtype=torch.float64),
        bm=Given(),
        method="euler",
        dt=duration / steps,
    )
    ours = integrate(sde, euler_maruyama, h0, lambda times: x, duration=duration, xi=xi)
    assert torch.allclose(ours, theirs, atol=1e-6, rtol=0)


@given(seed=st.integers(0, 10_000), name=st.sampled_from(sorted(set(NOISES) - {"per unit"})))
def test_lipschitz_and_growth_constants_bound_what_they_say(seed, name):
    sde = SDE(random_drift(seed), NOISES[name])
    generator = torch.Generator().manual_seed(seed)
    h, other = 3 * torch.randn(2, 200, D, generator=generator, dtype=torch.float64)
    drives = torch.randn(200, D, generator=generator, dtype=torch.float64)
    f, f_other = sde.drift(h, drives), sde.drift(other, drives)
    g, g_other = sde.diffusion.matrix(h, f), sde.diffusion.matrix(other, f_other)
    change = (f - f_other).norm(dim=-1) + (g - g_other).norm(dim=(-2, -1))
    assert bool((change <= lipschitz_constant(sde) * (h - other).norm(dim=-1) * (1 + 1e-12)).all())
    size = f.square().sum(-1) + g.square().sum((-2, -1))
    bound = 1 + h.square().sum(-1)
    assert bool((size <= growth_constant(sde, drives) * bound * (1 + 1e-12)).all())
    assert growth_constant(sde, drives) <= growth_constant_as_printed(sde, drives)


def test_printed_lipschitz_constant_is_too_small():
    # f = -2 h, g = diag f / 2: the left side of the definition is 2 + 1 = 3 times the distance, the printed constant 2.
    drift = TanhDrift(-2 * torch.eye(1), torch.zeros(1, 1), torch.zeros(1, 1), torch.zeros(1))
    sde = SDE(drift, DriftNoise(multiplicative=0.5))
    assert lipschitz_constant(sde) == 3.0
    assert lipschitz_constant_as_printed(sde) == 2.0


def test_own_drift_without_constant_says_how_to_give_one():
    from noisyrnn.sde import Drift

    class Cubic(Drift):
        def forward(self, h, u):
            return -(h**3) + u

    with pytest.raises(ValueError, match="Cubic states no Lipschitz constant; override"):
        lipschitz_constant(SDE(Cubic(units=1), AdditiveNoise(1.0)))
