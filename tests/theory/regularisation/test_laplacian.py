"""The Laplacian over the noise against a dense Hessian, and what it refuses."""

from dataclasses import replace

import pytest
import torch

from noisyrnn.sde import AdditiveNoise, DriftNoise, Silence
from noisyrnn.theory import Released, noise_laplacian, noisy_states, regulariser_by_autodiff
from noisyrnn.theory.known import random_example


def test_trace_of_the_dense_hessian():
    strengths = (torch.tensor(0.4, dtype=torch.float64), torch.tensor(0.6, dtype=torch.float64))
    P = random_example(torch.Generator().manual_seed(0), units=3, steps=4, samples=1, diffusion=DriftNoise(*strengths))

    def of_path(flat):
        return P.loss.value(noisy_states(P.network, P.x, flat.reshape(4, 1, 3))[:, -1]).sum()

    dense = torch.autograd.functional.hessian(of_path, torch.zeros(12, dtype=torch.float64))
    assert regulariser_by_autodiff(P.network, P.x, P.loss, chunk=5).item() == pytest.approx(
        dense.trace().item(), abs=1e-13
    )


def test_samples_are_kept_apart():
    weights = torch.tensor([1.0, 10.0, 100.0])
    result = noise_laplacian(lambda xi: weights * xi.square().sum((0, 2)), torch.zeros(2, 3, 5))
    assert torch.allclose(result, 20 * weights)


def test_silence_has_no_regulariser_and_released_noise_is_refused():
    P = random_example(torch.Generator().manual_seed(0), diffusion=Silence())
    assert bool((regulariser_by_autodiff(P.network, P.x, P.loss) == 0).all())
    network = replace(P.network, diffusion=AdditiveNoise(0.1), released=Released(multiplicative=0.1))
    with pytest.raises(ValueError, match="uniform"):
        regulariser_by_autodiff(network, P.x, P.loss)
