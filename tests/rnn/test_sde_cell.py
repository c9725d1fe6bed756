"""The SDE cell: checked when it is made, and honest about its fast path."""

import torch

import noisyrnn
from noisyrnn.rnn import Layer, Route, SDECell
from noisyrnn.sde import AdditiveNoise, Convention, GatedDrift, Key, Scheme, StateStep, TanhDrift, released


def matrices(*shapes):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) / 2 for shape in shapes]


def test_scheme_is_checked_when_the_cell_is_made_and_not_at_every_call(monkeypatch):
    layer = noisyrnn.NoisyRNN(1, 4, convention=Convention.ITO)
    calls = []
    monkeypatch.setattr(Scheme, "check", lambda *given: calls.append(given))
    layer(torch.zeros(3, 2, 1), noise=True)
    assert not calls
    noisyrnn.NoisyRNN(1, 4)
    assert len(calls) == 1


def test_cell_has_a_fast_path_where_its_parts_are_of_the_tanh_family():
    A, W, U, b = matrices((3, 3), (3, 3), (3, 1), (3,))
    drift = TanhDrift(A, W, U, b)
    assert SDECell(drift, AdditiveNoise(0.1), dt=0.1).fast_path(None) is not None
    assert SDECell(drift, AdditiveNoise(0.1), dt=0.1, substeps=2).fast_path(None) is None
    by_state = SDECell(drift, AdditiveNoise(0.1), dt=StateStep(lambda h, f: 0.1 + 0 * h[..., :1]))
    assert by_state.fast_path(None) is None


def test_gated_drift_with_noise_runs_by_the_reference():
    W, U, b, V, c = matrices((3, 3), (3, 1), (3,), (3, 1), (3,))
    layer = Layer(SDECell(GatedDrift(W, U, b, V, c), dt=0.1, scheme=released(0.3), inputs=1))
    x = torch.randn(5, 2, 1, dtype=torch.float64)
    chosen, reference = (layer(x, noise=True, key=Key(value=1), route=route)[0] for route in (Route.AUTO, Route.SCAN))
    assert torch.equal(chosen, reference)
