"""The oracles themselves: against each other, and against numbers computed by other means."""

import math

import numpy as np
import pytest

from noisyrnn.theory.known.oracles import (
    bessel_exponent,
    gbm_exponent,
    gbm_step_exponent,
    gbm_step_moment_exponent,
    gbm_strong_error,
    line_exponent,
    planar_exponent,
)


def tanh_drift(h):
    return -h / 2 + np.tanh(h)


def tanh_slope(h):
    return 0.5 - np.tanh(h) ** 2


def test_the_step_map_of_geometric_brownian_motion_is_biased():
    assert gbm_exponent(0.5, 1.5) == -0.625
    assert gbm_step_exponent(0.5, 1.5, dt=0.01) == pytest.approx(-0.655451632434205, abs=1e-13)
    assert gbm_step_moment_exponent(0.5, 1.5, dt=0.01) == pytest.approx(3.200725863497923, abs=1e-13)
    biases = [gbm_step_exponent(0.5, 1.5, dt=dt) + 0.625 for dt in (1e-3, 5e-4)]
    assert biases[0] / biases[1] == pytest.approx(2, abs=0.01)


def test_exact_strong_errors_of_euler_maruyama():
    pinned = [0.0957945267883, 0.067279076966, 0.0474117053195, 0.0334679635435, 0.0236452147634]
    errors = [gbm_strong_error(-0.5, 0.8, horizon=1.0, steps=steps) for steps in (16, 32, 64, 128, 256)]
    assert errors == pytest.approx(pinned, abs=1e-12)
    assert math.log2(errors[-2] / errors[-1]) == pytest.approx(0.501, abs=1e-3)
    finer = [gbm_strong_error(-0.5, 0.8, horizon=1.0, steps=steps, milstein=True) for steps in (128, 256)]
    assert math.log2(finer[0] / finer[1]) == pytest.approx(1, abs=2e-3)


def test_bessel_functions_and_fourier_modes_agree():
    coupled = np.array([[-1.0, 1.0], [1.0, -1.0]])
    own = np.array([np.diag([1.0, 0.0]), np.diag([0.0, 1.0])])
    assert bessel_exponent(2.0, 1.0) == pytest.approx(-0.262748884245198, abs=1e-13)
    for k, s in ((2.0, 1.0), (0.7, 1.2), (1.0, 0.8)):
        assert planar_exponent(k * coupled, s * own, modes=200) == pytest.approx(bessel_exponent(k, s), abs=1e-9)


def test_the_paper_s_noise_destabilises_an_antisymmetric_network():
    A = np.array([[-0.1, -2.0], [2.0, -0.1]])
    noise = np.array([np.diag([1.0, 0.0]) @ A, np.diag([0.0, 1.0]) @ A])
    assert planar_exponent(A, noise) == pytest.approx(0.8213694423115, abs=1e-12)
    weak = 0.1  # averaging over the fast rotation: a + s^2 (omega^2 - a^2)/4
    assert planar_exponent(A, weak * noise, modes=200) == pytest.approx(-0.1 + weak**2 * (4 - 0.01) / 4, abs=2e-4)


def test_planar_exponent_of_pure_rotation_noise_and_of_common_noise():
    K = np.array([[0.0, -1.0], [1.0, 0.0]])
    assert planar_exponent(np.zeros((2, 2)), 0.9 * K[None]) == pytest.approx(0.9**2 / 2, abs=1e-12)
    with pytest.raises(ValueError, match="raise modes"):  # common noise alone never turns the angle
        planar_exponent(np.diag([1.0, -1.0]), 0.5 * np.eye(2)[None] + 1e-3 * K)


def test_additive_noise_changes_exponents():
    for s, pinned in ((0.5, -0.33239751724012), (1.0, -0.26159415595576), (2.0, -0.29397819127653)):
        assert line_exponent(tanh_drift, tanh_slope, s) == pytest.approx(pinned, abs=1e-11)
    assert line_exponent(tanh_drift, tanh_slope, 0.02) == pytest.approx(-0.41681395612416, abs=1e-3)
