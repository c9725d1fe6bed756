"""Square: windows of the right place and length, no gradients, no more queries than it says."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from victims import CLASSES, Recurrent, predicted, seeded, share, stands, z_scored

from noisyrnn.attack import Features, Norm, Square, excess
from noisyrnn.attack.case import Case
from noisyrnn.attack.windows import window_lengths, window_share, windows


def test_windows_shrink_by_halves_on_the_papers_schedule():
    shares = [window_share(0.8, query, 10_000) for query in range(10_000)]
    falls = [query - 1 for query in range(1, 10_000) if shares[query] < shares[query - 1]]
    assert falls == [10, 50, 200, 1000, 2000, 4000, 6000, 8000]
    assert shares[-1] == 0.8 / 2**8


@settings(max_examples=60, deadline=None)
@given(share=st.floats(0.001, 1), u=st.floats(0, 1, exclude_max=True), lengths=st.lists(st.integers(1, 12), min_size=1))
def test_windows_lie_within_the_valid_steps_and_bumps_within_them(share, u, lengths):
    x = torch.zeros(len(lengths), 12, 1)
    case = Case(network=len, x=x, y=torch.zeros(len(x), dtype=torch.long), lengths=torch.tensor(lengths))
    size = window_lengths(case, share)
    found = windows(case, size, torch.full((len(x),), u, dtype=torch.float64))
    assert torch.equal(found.inside.sum(1), size)
    assert bool((found.inside <= case.valid).all())
    bumps = found.bumps()
    assert torch.equal(bumps > 0, found.inside)


def test_a_bump_is_that_of_the_definition():
    case = Case(network=len, x=torch.zeros(1, 5, 1), y=torch.tensor([0]))
    found = windows(case, torch.tensor([[5]]), torch.zeros(1)).bumps().flatten()
    steps = [1 / 9, 1 / 9 + 1 / 4, 1 / 9 + 1 / 4 + 1]
    torch.testing.assert_close(found, torch.tensor([steps[0], steps[1], steps[2], steps[1], steps[0]]))


@pytest.mark.parametrize("norm", list(Norm))
def test_it_asks_for_logits_only(norm):
    network = Recurrent()
    x = z_scored(4)
    y = predicted(network, x)

    def without_gradients(x: Tensor) -> Tensor:
        assert not torch.is_grad_enabled()
        assert not x.requires_grad
        return torch.from_numpy(network(x).numpy())

    with torch.enable_grad():
        found = Square(radius=0.6, norm=norm, queries=60)(without_gradients, x, y, seeded())
    assert bool((excess(network(found), y) > excess(network(x), y)).all())


@pytest.mark.parametrize("passes", [1, 4])
def test_it_spends_what_it_says_and_leaves_broken_samples_alone(passes):
    network = Recurrent()
    x = z_scored(5)
    y = predicted(network, x)
    for radius, calls in ((1e-7, 40), (0.0, 40)):
        network.calls = 0
        attack = Square(radius=radius, queries=40, passes=passes)
        attack(network, x, y, seeded())
        assert network.calls == calls == attack.budget.forward
    assert attack.budget.backward == 0
    network.calls = 0
    Square(radius=0.1, queries=40)(network, x, (y + 1) % CLASSES, seeded())
    assert network.calls == 1


def test_the_largest_coordinate_is_used_up_everywhere(network):
    x = z_scored(10)
    y = predicted(network, x)
    moved = (Square(radius=0.05, queries=100)(network, x, y, seeded()) - x).abs()
    torch.testing.assert_close(moved, torch.full_like(moved, 0.05), atol=1e-6, rtol=0)


def test_more_queries_break_more(network):
    x = z_scored(200)
    y = predicted(network, x)
    left = [share(stands(network, Square(radius=0.3, queries=queries), x, y)) for queries in (2, 20, 300)]
    assert left[0] > left[1] > left[2]


def test_a_window_may_hold_one_feature(network):
    x = z_scored(6)
    y = predicted(network, x)
    seen: list[Tensor] = []

    def watched(x: Tensor) -> Tensor:
        seen.append(x.clone())
        return network(x) * 0 + torch.nn.functional.one_hot(y, CLASSES)  # never errs, never rises

    Square(radius=0.1, queries=30, features=Features.ONE)(watched, x, y, seeded())
    for trial in seen[2:]:
        assert bool(((trial != seen[1]).any(dim=1).sum(dim=1) <= 1).all())


def test_targeted_search_reaches_its_target(network):
    x = z_scored(40)
    target = (predicted(network, x) + 1) % CLASSES
    found = Square(radius=1.5, targeted=True, queries=300)(network, x, target, seeded())
    assert float((predicted(network, found) == target).float().mean()) > 0.8
