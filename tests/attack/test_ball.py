"""Attacks stay inside their ball, and clamp nothing else."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from victims import CLASSES, FEATURES, TIME, Recurrent, first_start, predicted, seeded, z_scored

from noisyrnn.attack import APGD, FGSM, PGD, Features, Keep, Loss, Norm, Schedule, Square, projection, standard


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


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(["pgd", "apgd", "apgd towards", "square", "square one", "union"]),
    norm=st.sampled_from(list(Norm)),
    radius=st.floats(0, 50),
    scale=st.sampled_from([1e-3, 1.0, 300.0]),
    bounded=st.sampled_from(["no", "all", "each"]),
    seed=st.integers(0, 1000),
)
def test_no_attack_leaves_its_ball_or_bounds(kind, norm, radius, scale, bounded, seed):
    x = z_scored(4, seed, scale)
    network, eps = Recurrent(), torch.finfo(x.dtype).eps
    limits = x.abs().amax(dim=(0, 1))
    top = tuple(limits.tolist()) if bounded == "each" else float(limits.max())
    low = tuple((-limits).tolist()) if bounded == "each" else -float(limits.max())
    ball = {"radius": radius, "norm": norm, "bounds": None if bounded == "no" else (low, top)}
    attack = {
        "pgd": PGD(**ball, steps=3, schedule=Schedule.FALLING),
        "apgd": APGD(**ball, steps=5, loss=Loss.DLR, restarts=2),
        "apgd towards": APGD(**ball, steps=5, targets=2, loss=Loss.EXCESS),
        "square": Square(**ball, queries=12),
        "square one": Square(**ball, queries=12, features=Features.ONE, share=0.1),
        "union": standard(**ball, steps=3, queries=5),
    }[kind]
    found = attack(network, x, predicted(network, x), seeded(seed))
    away, allowed = (found - x).flatten(1), 2 * eps * (radius + float(limits.max()))
    if norm is Norm.LINF:
        assert float(away.abs().max()) <= radius + allowed
    else:
        assert float(away.norm(dim=1).max()) <= radius + allowed * math.sqrt(TIME * FEATURES)
    if bounded != "no":
        assert bool((found.abs() <= (limits if bounded == "each" else limits.max())).all())


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


def test_random_starts_fill_the_ball_evenly():
    x = torch.zeros(4000, TIME, FEATURES)
    start = first_start(PGD(radius=2.0, norm=Norm.L2), x, seeded())
    share = (start.flatten(1).norm(dim=1) / 2.0) ** (TIME * FEATURES)  # uniform in [0, 1] for an even ball
    assert abs(float(share.mean()) - 0.5) < 5 / math.sqrt(12 * 4000)  # false-alarm rate 6e-7
    start = first_start(PGD(radius=2.0), x, seeded())
    assert abs(float((start**2).mean()) - 4 / 3) < 5 * math.sqrt(16 / 5 - 16 / 9) / math.sqrt(start.numel())


@settings(max_examples=50, deadline=None)
@given(norm=st.sampled_from(list(Norm)), radius=st.floats(0, 100), seed=st.integers(0, 1000))
def test_projection_is_idempotent_and_leaves_inner_points_alone(norm, radius, seed):
    centre, x = z_scored(3, seed).double(), z_scored(3, seed + 1, 10.0).double()
    once = projection(x, centre, radius, norm)
    torch.testing.assert_close(projection(once, centre, radius, norm), once)
    # A point already inside stays where it is.
    inner = centre + 0.5 * (once - centre)
    torch.testing.assert_close(projection(inner, centre, radius, norm), inner)
