"""Figures of spectral densities and of loss landscapes."""

import pytest
import torch
from torch import nn

from noisyrnn.theory.curvature.density import spectral_density
from noisyrnn.theory.curvature.figures import density_figure, landscape_figure
from noisyrnn.theory.curvature.hessian import Hessian
from noisyrnn.theory.curvature.loss_landscape import landscape


@pytest.fixture
def H():
    x, y = torch.diag(torch.tensor([6.0, 4.0, 2.0, 1.0])), torch.zeros(4, 1)
    return Hessian(nn.Linear(4, 1, bias=False), x, y, loss=lambda net, x, y: (net(x) - y).square().mean())


def test_densities_share_a_logarithmic_frame(H):
    found = spectral_density(H, steps=4, probes=2)
    axes = density_figure({"noisy": found, "plain": found}).axes[0]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["noisy", "plain"]
    assert axes.get_yscale() == "log"


def test_landscapes_stand_side_by_side_on_one_scale(H):
    near, far = landscape(H, points=3), landscape(H, points=3, radius=2.0)
    figure = landscape_figure({"noisy": near, "deterministic": far})
    assert [axes.get_title() for axes in figure.axes] == ["noisy", "deterministic"]
    assert figure.axes[0].get_zlim() == figure.axes[1].get_zlim()
