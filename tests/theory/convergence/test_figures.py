"""The figure of orders."""

from noisyrnn.sde import SDE, AdditiveNoise
from noisyrnn.theory.convergence.figures import order_figure
from noisyrnn.theory.convergence.orders import strong_order
from noisyrnn.theory.known import geometric_brownian_motion


def test_both_axes_are_logarithmic_and_the_legend_tells_the_order():
    line = geometric_brownian_motion(-0.5, 0.0).drift
    found = strong_order(SDE(line, AdditiveNoise(0.8)), h0=line.b + 1, paths=20, steps=(4, 8))
    axes = order_figure([found]).axes[0]
    assert axes.get_xscale() == axes.get_yscale() == "log"
    assert f"order {found.order:.2f} ± {found.standard_error:.2f}" in axes.get_legend().get_texts()[0].get_text()
