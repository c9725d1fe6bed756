"""Structured matrices: their constraints, agreement with torch's and geotorch's, and the rebase done right."""

import copy
from itertools import pairwise

import geotorch
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils import parametrizations

from noisyrnn.models.cayley import cayley
from noisyrnn.models.matrices import (
    Orthogonal,
    Parametrisation,
    RotationStart,
    block_rotations,
    polar,
    skew_plus_decay,
    upper_skew,
)

F = torch.float64


@given(n=st.integers(1, 7), beta=st.floats(0, 1), gamma=st.floats(-1, 1), seed=st.integers(0, 99))
def test_skew_plus_decay_is_its_formula(n, beta, gamma, seed):
    B = torch.randn(n, n, dtype=F, generator=torch.Generator().manual_seed(seed))
    expected = (1 - beta) * (B + B.T) + beta * (B - B.T) - gamma * torch.eye(n, dtype=F)
    assert torch.allclose(skew_plus_decay(B, beta, gamma), expected, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_skew_matrix_is_geotorchs(n):
    A = torch.randn(n, n, dtype=F)
    skew = geotorch.Skew((n, n), lower=False)
    assert torch.allclose(upper_skew(A), skew(A))


@pytest.mark.parametrize(("ours", "theirs"), [("exp", "matrix_exp"), ("cayley", "cayley")])
def test_orthogonal_matrices_are_torchs(ours, theirs):
    n = 5
    peer = parametrizations.orthogonal(torch.nn.Linear(n, n, dtype=F), orthogonal_map=theirs, use_trivialization=False)
    lower = peer.parametrizations.weight.original.detach().tril(-1)
    S = lower - lower.T
    # torch's Cayley map is the one of -S / 2.
    found = torch.matrix_exp(S) if ours == "exp" else cayley(-S / 2)
    assert torch.allclose(found, peer.weight.detach(), atol=1e-12)


@pytest.mark.parametrize("parametrisation", list(Parametrisation))
@pytest.mark.parametrize("start", list(RotationStart))
@pytest.mark.parametrize("n", [1, 4, 7])
def test_result_is_special_orthogonal(parametrisation, start, n):
    module = Orthogonal(n, parametrisation, start=start).double()
    with torch.no_grad():
        module.A.add_(torch.randn(n, n))
    Q = module()
    assert torch.allclose(Q @ Q.T, torch.eye(n, dtype=F), atol=1e-5)
    assert float(torch.linalg.det(Q.detach())) == pytest.approx(1.0, abs=1e-5)


def test_initial_rotations_have_the_stated_angles():
    torch.manual_seed(0)
    S = block_rotations(2001, RotationStart.CAYLEY)
    angles = S.diagonal(1)[::2]
    assert bool((angles <= 0).all())
    assert bool((angles > -1).all())
    assert bool((S[-1] == 0).all())
    # With the Cayley map the rotation angles are uniform on (0, pi / 2).
    mean = float((2 * torch.atan(-angles)).mean())
    assert mean == pytest.approx(torch.pi / 4, abs=5 * torch.pi / 2 / (12 * 1000) ** 0.5)
    henaff = block_rotations(2000, RotationStart.HENAFF).diagonal(1)[::2]
    assert float(henaff.abs().max()) == pytest.approx(torch.pi, rel=0.01)


def test_rebase_leaves_the_matrix_where_it_is_and_gives_the_new_bases_gradient():
    torch.manual_seed(1)
    module = Orthogonal(6, Parametrisation.DYNAMIC, rebase=3).double().train()
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    target = torch.randn(6, 6, dtype=F)
    bases = []
    for _ in range(7):
        with torch.no_grad():
            module.eval()
            before = module()
            module.train()
        Q = module()
        assert torch.allclose(Q, before, atol=1e-10)  # moving the base does not move Q
        bases.append(module.base)
        optimiser.zero_grad()
        (Q * target).sum().backward()
        # Gradient of <target, base exp(S(A))> at the current base and A, by plain autograd.
        A = module.A.detach().clone().requires_grad_()
        (gradient,) = torch.autograd.grad((module.base @ torch.matrix_exp(upper_skew(A)) * target).sum(), A)
        assert torch.allclose(module.A.grad, gradient)
        optimiser.step()
    changes = [not torch.equal(a, b) for a, b in pairwise(bases)]
    assert changes == [False, False, True, False, False, True]


def test_evaluation_never_moves_the_base():
    module = Orthogonal(4, Parametrisation.DYNAMIC, rebase=1).eval()
    base = module.base.clone()
    for _ in range(3):
        module()
    module.train()
    with torch.no_grad():
        module()
    assert torch.equal(module.base, base)
    assert int(module.sequences) == 0


def test_two_sequences_before_one_backward_pass_are_allowed():
    module = Orthogonal(4, Parametrisation.DYNAMIC, rebase=1).double().train()
    with torch.no_grad():
        module.A.add_(torch.randn(4, 4, dtype=F))
    (module().sum() + module().sum()).backward()
    assert module.A.grad.isfinite().all()


def test_polishing_makes_the_base_exactly_orthogonal_again():
    module = Orthogonal(8, Parametrisation.DYNAMIC, rebase=1, polish=2).train()
    module.base += 1e-3 * torch.randn(8, 8)
    for _ in range(3):
        module()
    assert torch.allclose(module.base @ module.base.T, torch.eye(8), atol=1e-5)


def test_polar_factor_is_the_nearest_orthogonal_matrix():
    M = torch.randn(4, 4, dtype=F)
    Q = polar(M)
    assert torch.allclose(Q @ Q.T, torch.eye(4, dtype=F))
    # M = Q P with P symmetric positive definite.
    P = Q.T @ M
    assert torch.allclose(P, P.T, atol=1e-10)
    assert bool((torch.linalg.eigvalsh(P) > 0).all())


@pytest.mark.parametrize(("n", "columns"), [(1, 1), (5, 3), (150, 150), (192, 129)])
def test_columns_of_the_cayley_map_are_those_of_the_whole(n, columns):
    S = upper_skew(torch.randn(n, n, dtype=F, generator=torch.Generator().manual_seed(n)))
    identity = torch.eye(n, dtype=F)
    expected = torch.linalg.solve(identity + S, identity - S)[:, :columns]
    assert torch.allclose(cayley(S, columns), expected, atol=1e-10)


@pytest.mark.parametrize("columns", [1, 4, 7])
def test_derivatives_of_the_cayley_map(columns):
    A = torch.randn(7, 7, dtype=F, generator=torch.Generator().manual_seed(2), requires_grad=True)
    assert torch.autograd.gradcheck(lambda A: cayley(upper_skew(A), columns), A)
    assert torch.autograd.gradgradcheck(lambda A: cayley(upper_skew(A), columns), A)


@pytest.mark.parametrize("based", [False, True])
@pytest.mark.parametrize("parametrisation", list(Parametrisation))
def test_a_matrix_that_is_kept_follows_every_change(parametrisation, based):
    """Also changes that torch does not count, and those of type."""
    base = torch.linalg.qr(torch.randn(6, 6))[0] if based else None
    module = Orthogonal(6, parametrisation, base=base).eval()

    def kept_and_built(columns: int) -> None:
        with torch.no_grad():
            kept = module(columns)
        assert torch.equal(kept, module(columns).detach())

    kept_and_built(6)
    kept_and_built(4)
    module.A.data += 0.1
    kept_and_built(4)
    if module.based:
        module.base.data.neg_()
        kept_and_built(4)
    assert copy.deepcopy(module)._kept._known is None
    module.double()
    kept_and_built(4)
