"""The paper's Figure 3: the Hessian of a training loss, its spectrum, and the loss around a trained network."""

from noisyrnn.theory.curvature.density import Density, spectral_density
from noisyrnn.theory.curvature.hessian import (
    Eigenpairs,
    Hessian,
    Trace,
    bottom_eigenpairs,
    hutchinson_trace,
    top_eigenpairs,
    xtrace,
)
from noisyrnn.theory.curvature.loss_landscape import Landscape, landscape

__all__ = [
    "Density",
    "Eigenpairs",
    "Hessian",
    "Landscape",
    "Trace",
    "bottom_eigenpairs",
    "hutchinson_trace",
    "landscape",
    "spectral_density",
    "top_eigenpairs",
    "xtrace",
]
