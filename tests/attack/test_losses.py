"""Heights of the loss: their values by hand, their invariance, and their signs."""

import pytest
import torch
from torch.nn.functional import cross_entropy
from victims import seeded

from noisyrnn.attack import Loss, excess, height


def drawn(classes: int, samples: int = 50) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    z = torch.randn(samples, classes, generator=seeded(classes), dtype=torch.float64)
    y = torch.randint(classes, (samples,), generator=seeded(1))
    return z, y, (y + 1) % classes


@pytest.mark.parametrize("classes", [3, 4, 10])
def test_the_ratio_is_that_of_the_definition(classes):
    z, y, t = drawn(classes)
    ordered = z.sort(dim=1, descending=True).values
    for sample in range(len(z)):
        own, other = float(z[sample, y[sample]]), float(z[sample, t[sample]])
        rival = max(float(value) for j, value in enumerate(z[sample]) if j != int(y[sample]))
        first, third = float(ordered[sample, 0]), float(ordered[sample, 2])
        assert float(height(z, y, Loss.DLR)[sample]) == pytest.approx((rival - own) / (first - third))
        lower = third if classes == 3 else (third + float(ordered[sample, 3])) / 2
        assert float(height(z, y, Loss.DLR, towards=t)[sample]) == pytest.approx((other - own) / (first - lower))


def test_with_two_classes_it_is_the_gap():
    z, y, t = drawn(2)
    torch.testing.assert_close(height(z, y, Loss.DLR), excess(z, y))
    torch.testing.assert_close(height(z, y, Loss.DLR, towards=t), excess(z, y))


@pytest.mark.parametrize("classes", [3, 4, 10])
def test_confidence_does_not_change_the_ratio(classes):
    z, y, t = drawn(classes)
    torch.testing.assert_close(height(1e6 * z + 5, y, Loss.DLR), height(z, y, Loss.DLR))
    torch.testing.assert_close(height(1e6 * z + 5, y, Loss.DLR, towards=t), height(z, y, Loss.DLR, towards=t))
    assert not torch.allclose(height(2 * z, y, Loss.EXCESS), height(z, y, Loss.EXCESS))


def test_towards_a_class_heights_rise_with_its_logit():
    z, y, t = drawn(5)
    higher = z.scatter_add(1, t[:, None], torch.full((len(z), 1), 1e-3, dtype=z.dtype))
    for loss in (Loss.CROSS_ENTROPY, Loss.EXCESS):
        assert bool((height(higher, y, loss, towards=t) > height(z, y, loss, towards=t)).all())
    torch.testing.assert_close(height(z, y, Loss.CROSS_ENTROPY, towards=t), -cross_entropy(z, t, reduction="none"))


def test_equal_logits_divide_by_nothing():
    flat = torch.zeros(2, 4, requires_grad=True)
    height(flat, torch.tensor([0, 1]), Loss.DLR).sum().backward()
    assert bool(flat.grad.isfinite().all())
