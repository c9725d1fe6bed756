"""GRU, minGRU and LRU with noise: each is a ten-line transcription of its equations, noise and gradients included."""

import pytest
import torch
from torch.nn.functional import gelu

import noisyrnn
from noisyrnn.models import Convention, LRUSetting, MinGRUSetting, NoisyGRUSetting
from noisyrnn.sde import Key, draw, uniform

KEY, STEPS, BATCH, INPUTS, UNITS = Key(value=11), 7, 3, 2, 5
NOISES = [(0.0, 0.0, Convention.RELEASED), (0.3, 0.4, Convention.RELEASED), (0.3, 0.4, Convention.ITO)]
noises = pytest.mark.parametrize(("additive", "multiplicative", "convention"), NOISES)


def case(setting, **noise):
    torch.manual_seed(2)
    layer = setting(hidden=UNITS, **noise).layer(INPUTS).double()
    return layer.train(), torch.randn(BATCH, STEPS, INPUTS, dtype=torch.float64, requires_grad=True)


def numbers(units):
    xi = draw(KEY, BATCH, STEPS, units, dtype=torch.float64)
    return xi, uniform(KEY, BATCH, STEPS, units, dtype=torch.float64)


def moved(h, f, additive, multiplicative, convention, xi, u):
    """One step of size 1, from the paper and from the released code."""
    if convention is Convention.ITO:
        return h + f + (additive + multiplicative * f) * xi
    return h + (1 - multiplicative + multiplicative * u) * f + additive * xi


def agree(layer, x, expected):
    found = layer(x, key=KEY)[0]
    torch.testing.assert_close(found, torch.stack(expected, dim=1))
    slopes = [torch.autograd.grad(y.square().sum(), [x, *layer.parameters()]) for y in (found, torch.stack(expected))]
    for ours, theirs in zip(*slopes, strict=True):
        torch.testing.assert_close(ours, theirs)


@noises
def test_gru_is_its_equations_with_noise(additive, multiplicative, convention):
    layer, x = case(NoisyGRUSetting, additive=additive, multiplicative=multiplicative, convention=convention)
    drift, (xi, uniforms) = layer.cells[0].sde.drift, numbers(UNITS)
    h, expected = torch.zeros(BATCH, UNITS, dtype=torch.float64), []
    for t in range(STEPS):
        ur, uz, un = drift.input(x[:, t]).chunk(3, -1)
        wr, wz, wn = drift.recurrent(h).chunk(3, -1)
        r, z = torch.sigmoid(ur + wr), torch.sigmoid(uz + wz)
        n = torch.tanh(un + r * wn)
        new = (1 - z) * n + z * h
        h = moved(h, new - h, additive, multiplicative, convention, xi[t], uniforms[t])
        expected.append(h)
    agree(layer, x, expected)


@noises
def test_mingru_is_its_equations_with_noise(additive, multiplicative, convention):
    layer, x = case(MinGRUSetting, additive=additive, multiplicative=multiplicative, convention=convention)
    drift, (xi, uniforms) = layer.cells[0].sde.drift, numbers(UNITS)
    h, expected = torch.zeros(BATCH, UNITS, dtype=torch.float64), []
    for t in range(STEPS):
        z, v = torch.sigmoid(drift.gate(x[:, t])), drift.candidate(x[:, t])
        c = (v >= 0) * (v + 0.5) + (v < 0) * torch.sigmoid(v)
        new = (1 - z) * h + z * c
        h = moved(h, new - h, additive, multiplicative, convention, xi[t], uniforms[t])
        expected.append(h)
    agree(layer, x, expected)


@noises
def test_lru_is_its_equations_in_complex_numbers_with_noise(additive, multiplicative, convention):
    layer, x = case(LRUSetting, additive=additive, multiplicative=multiplicative, convention=convention)
    cell, (xi, uniforms) = layer.cells[0], numbers(2 * UNITS)
    drift = cell.recurrence.sde.drift
    lam = torch.exp(torch.complex(-torch.exp(drift.nu), torch.exp(drift.theta)))
    B = torch.complex(drift.B[:UNITS], drift.B[UNITS:])
    C = torch.complex(cell.C.weight[:, :UNITS], -cell.C.weight[:, UNITS:])
    h, expected = torch.zeros(BATCH, UNITS, dtype=torch.complex128), []
    for t in range(STEPS):
        new = lam * h + torch.exp(drift.g) * (x[:, t].to(B) @ B.T)
        parts = (torch.cat((v.real, v.imag), -1) for v in (h, new - h))
        h = torch.complex(*moved(*parts, additive, multiplicative, convention, xi[t], uniforms[t]).chunk(2, -1))
        a = gelu((h @ C.T).real + cell.D(x[:, t]))
        expected.append(cell.P(a) * torch.sigmoid(cell.Q(a)))
    agree(layer, x, expected)


def test_noise_free_gru_is_torchs():
    ours, theirs = noisyrnn.NoisyGRU(2, 5), torch.nn.GRU(2, 5)
    drift = ours.cells[0].sde.drift
    for mine, name in ((drift.input, "ih"), (drift.recurrent, "hh")):
        mine.weight.data, mine.bias.data = getattr(theirs, f"weight_{name}_l0"), getattr(theirs, f"bias_{name}_l0")
    x = torch.randn(6, 3, 2)
    torch.testing.assert_close(ours(x)[0], theirs(x)[0])


def test_initial_lru_lies_in_its_ring_and_other_rings_are_refused():
    cell = noisyrnn.LRU(1, 200, r_min=0.5, r_max=0.8).cells[0]
    size = torch.exp(-torch.exp(cell.recurrence.sde.drift.nu))
    assert float(size.min()) >= 0.5
    assert float(size.max()) <= 0.8
    assert float(size.max() - size.min()) > 0.2
    with pytest.raises(ValueError, match="0 <= r_min < r_max < 1"):
        noisyrnn.LRU(1, 3, r_min=0.9, r_max=1.0)
