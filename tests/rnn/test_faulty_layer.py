"""Faults of hardware: the law of each, on every layer; pieces of a batch; the network that was given stays whole."""

import pytest
import torch
from pydantic import TypeAdapter

import noisyrnn
from noisyrnn.models import (
    Antisymmetric,
    ClassicRNNSetting,
    CoRNNSetting,
    ExpRNNSetting,
    Lipschitz,
    LRUSetting,
    MinGRUSetting,
    Noisy,
    Recurrence,
)
from noisyrnn.rnn import (
    AnyFault,
    Classifier,
    FlippedUnits,
    Pooling,
    StateNoise,
    StateRounding,
    StuckUnits,
    WeightNoise,
    WeightRounding,
    faulty,
)
from noisyrnn.rnn.state_faults import rounded
from noisyrnn.sde import Key

SETTINGS = {
    "noisy": Noisy(hidden=6, dt=0.2), "lipschitz": Lipschitz(hidden=6, dt=0.2, num_layers=2, bidirectional=True),
    "antisymmetric": Antisymmetric(hidden=6, dt=0.2, substeps=3), "cornn": CoRNNSetting(hidden=6),
    "exprnn": ExpRNNSetting(hidden=6), "lstm": ClassicRNNSetting(hidden=6, num_layers=2, bidirectional=True),
    "gru": ClassicRNNSetting(hidden=6, recurrence=Recurrence.GRU), "lru": LRUSetting(hidden=6, num_layers=2),
    "rnn": ClassicRNNSetting(hidden=6, recurrence=Recurrence.RNN), "mingru": MinGRUSetting(hidden=6, additive=0.1),
    "pooled": Noisy(hidden=6, dt=0.2, pooling=Pooling.MEAN_MAX),
}  # fmt: skip
FAULTS = (
    StateNoise(sigma=0.3), StateRounding(bits=4), StateRounding(bits=4, stochastic=True), StuckUnits(probability=0.5),
    FlippedUnits(probability=0.1), WeightNoise(sigma=0.3), WeightRounding(bits=3),
)  # fmt: skip
HARMLESS = (
    StateNoise(sigma=0), StateRounding(bits=24), StuckUnits(probability=0), FlippedUnits(probability=0),
    WeightNoise(sigma=0), WeightRounding(bits=24),
)  # fmt: skip


def case(name: str) -> tuple[Classifier, torch.Tensor]:
    torch.manual_seed(1)
    return SETTINGS[name].build(inputs=2, classes=3).eval(), torch.randn(7, 9, 2)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("fault", HARMLESS, ids=lambda fault: fault.kind)
@pytest.mark.parametrize("name", SETTINGS)
def test_fault_of_no_strength_changes_nothing(name, fault):
    network, x = case(name)
    found = faulty(network, fault, seeded(), x=x)(x, generator=seeded(1))
    torch.testing.assert_close(found, network(x), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize("name", SETTINGS)
def test_fault_changes_answers_in_the_same_way_each_time_and_leaves_the_network_alone(name, fault):
    network, x = case(name)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    sound, modes = network(x), [module.training for module in network.modules()]
    worn = faulty(network, fault, seeded(), x=x)
    found = worn(x, key=Key(value=5))
    assert not torch.allclose(found, sound, atol=1e-4)
    assert torch.equal(found, faulty(network, fault, seeded(), x=x)(x, key=Key(value=5)))
    assert torch.equal(network(x), sound)
    assert [module.training for module in network.modules()] == modes
    assert all(torch.equal(before[key], value) for key, value in network.state_dict().items())


@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize("name", ["noisy", "lstm"])
def test_pieces_of_a_batch_meet_the_faults_of_the_whole(name, fault):
    network, x = case(name)
    worn = faulty(network, fault, seeded(), x=x)
    parts = [worn(x[:3], key=Key(value=5)), worn(x[3:], key=Key(value=5, sample=3))]
    torch.testing.assert_close(torch.cat(parts), worn(x, key=Key(value=5)))


def test_state_noise_has_its_strength_and_is_fresh_for_every_state_step_and_sample():
    class Still(noisyrnn.rnn.Cell):
        """A state that forgets, so that outputs are the noise of one step."""

        arity = 2

        def step(self, states, u, dt, xi, uniforms):
            return 0 * states[0] + u, 0 * states[1] + 2 * u

        def observe(self, states):
            return states[0] + 1000 * states[1]

    x = torch.ones(400, 50, 1)
    layer = noisyrnn.rnn.Layer(Still(1, 1), batch_first=True)
    output, (h, c) = faulty(layer, StateNoise(sigma=0.1), x=x)(x, key=Key(value=3))
    first, second = h.flatten() - 1, c.flatten() - 2
    assert 0.08 < first.std() < 0.12  # root mean square 1
    assert 0.16 < second.std() < 0.24  # and 2
    assert abs(torch.corrcoef(torch.stack((first, second)))[0, 1]) < 0.2
    noise = output[..., 0] - 2001
    assert abs(torch.corrcoef(torch.stack((noise[:, 0], noise[:, 1])))[0, 1]) < 0.2


def test_absolute_noise_does_not_ask_how_large_states_are():
    network, x = case("noisy")
    key = Key(value=1)
    tiny = faulty(network, StateNoise(sigma=0.1, relative=False), x=1e-6 * x)(x, key=key)
    large = faulty(network, StateNoise(sigma=0.1, relative=False), x=100 * x)(x, key=key)
    assert torch.equal(tiny, large)


def test_rounded_states_lie_on_few_levels_and_chance_is_right_on_average():
    network, x = case("lipschitz")
    output, _ = faulty(network.layer, StateRounding(bits=4), x=x)(x)
    assert all(len(unit.unique()) <= 15 for unit in output.flatten(0, 1).unbind(-1))
    spread = rounded(torch.full((20_000,), 0.3), 1.0, 2, torch.rand(20_000, generator=seeded()))
    assert abs(float(spread.mean()) - 0.3) < 0.02


def test_stuck_units_stay_where_they_are_and_are_as_many_as_said():
    layer, x = noisyrnn.LipschitzRNN(1, 400, dt=0.2, batch_first=True), torch.randn(3, 6, 1)
    output, _ = faulty(layer, StuckUnits(probability=0.25), seeded(), x=x)(x)
    dead = (output == 0).all(dim=(0, 1))
    assert 60 < int(dead.sum()) < 140


def test_weight_faults_meet_the_matrices_as_built_and_spare_offsets():
    network, _ = case("lipschitz")
    worn = faulty(network, WeightRounding(bits=3), seeded(), x=torch.zeros(1, 2, 2))
    drift, before = worn.layer.cells[0].sde.drift, network.layer.cells[0].sde.drift.built()
    assert len(drift.A.unique()) <= 7
    assert torch.equal(drift.b, before.b)
    assert not torch.allclose(drift.A, before.A)
    assert len(worn.readout.weight.unique()) <= 7
    noise = faulty(network, WeightNoise(sigma=0.1), seeded(), x=torch.zeros(1, 2, 2)).layer.cells[0].sde.drift
    ratio = (noise.W / before.W).detach()
    assert 0.05 < float((ratio - 1).std()) < 0.2


def test_stepwise_is_torchs_own_with_its_lengths_and_gradients():
    for name in ("lstm", "gru", "rnn"):
        network, x = case(name)
        layer = network.layer
        lengths = torch.tensor([9, 3, 5, 1, 9, 2, 7])
        (output, h_n), (ours, last) = layer(x, lengths=lengths), layer.stepwise()(x, lengths=lengths)
        torch.testing.assert_close(ours, output)
        torch.testing.assert_close(last, h_n)


def test_faults_go_through_json_and_refuse_what_they_do_not_know():
    anything = TypeAdapter(AnyFault)
    for fault in FAULTS:
        assert anything.validate_json(fault.model_dump_json()) == fault
    with pytest.raises(ValueError, match="bits"):
        StateRounding(bits=1)
    network, x = case("noisy")
    with pytest.raises(ValueError, match="layer or a classifier of this library, got Linear"):
        faulty(torch.nn.Linear(1, 1), StateNoise(sigma=0.1), x=x)
    with pytest.raises(ValueError, match="without its own noise"):
        faulty(network, StateNoise(sigma=0.1), x=x)(x, noise=True)
