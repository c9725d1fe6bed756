"""Settings beside their layers: the same choices, through JSON, parameter counts, names of saved weights."""

import inspect

import pytest
import torch

import noisyrnn
from noisyrnn.models import (
    Antisymmetric,
    Certified,
    ClassicRNNSetting,
    CoRNNSetting,
    ExpRNNSetting,
    Lipschitz,
    LRUSetting,
    MinGRUSetting,
    Noisy,
    NoisyGRUSetting,
)

COUNTS = {
    "noisy": (Noisy(), 34_442), "lipschitz": (Lipschitz(), 34_314), "cornn": (CoRNNSetting(), 34_314),
    "antisymmetric": (Antisymmetric(), 17_930), "exprnn": (ExpRNNSetting(), 17_930),
    "gated": (Antisymmetric(gated=True), 17_930 + 256),
}  # fmt: skip


@pytest.mark.parametrize("name", list(COUNTS))
def test_parameter_counts_are_the_papers(name):
    setting, count = COUNTS[name]
    assert sum(parameter.numel() for parameter in setting.build(inputs=1, classes=10).parameters()) == count


SETTINGS = [
    (Noisy, noisyrnn.NoisyRNN), (Lipschitz, noisyrnn.LipschitzRNN), (Antisymmetric, noisyrnn.AntisymmetricRNN),
    (CoRNNSetting, noisyrnn.CoRNN), (ExpRNNSetting, noisyrnn.ExpRNN), (ClassicRNNSetting, noisyrnn.ClassicRNN),
    (NoisyGRUSetting, noisyrnn.NoisyGRU), (MinGRUSetting, noisyrnn.MinGRU), (LRUSetting, noisyrnn.LRU),
]  # fmt: skip


@pytest.mark.parametrize(("setting", "layer"), SETTINGS)
def test_setting_and_layer_have_the_same_choices_and_defaults(setting, layer):
    parameters = inspect.signature(layer).parameters
    ours = {
        name: field.default for name, field in setting.model_fields.items() if name not in ("kind", "hidden", "pooling")
    }
    skipped = ("input_size", "hidden_size", "batch_first", "device", "dtype")
    assert ours == {name: p.default for name, p in parameters.items() if name not in skipped}


@pytest.mark.parametrize(("setting", "layer"), SETTINGS)
def test_setting_goes_through_json_and_builds_its_layer(setting, layer):
    small = setting(hidden=5, num_layers=2, bidirectional=True)
    again = setting.model_validate_json(small.model_dump_json())
    assert again == small
    network = again.build(inputs=2, classes=3)
    assert type(network.layer) is layer
    assert network(torch.zeros(2, 4, 2)).shape == (2, 3)


def test_settings_refuse_typos_and_changes():
    with pytest.raises(ValueError, match="hiden"):
        Noisy(hiden=3)
    with pytest.raises(ValueError, match="activation"):
        Noisy(activation="swish")
    with pytest.raises(ValueError, match="frozen"):
        Noisy().hidden = 3


_SKEW = ["B", "C", "input.bias", "input.weight"]
SAVED_NAMES = {
    "noisy": (Noisy(), ["length.dt", *(f"sde.drift.{name}" for name in _SKEW)]),
    "lipschitz": (Lipschitz(), [f"sde.drift.{name}" for name in _SKEW]),
    "antisymmetric": (
        Antisymmetric(gated=True), [f"sde.drift.{name}" for name in ("C", "gate.bias", "gate.weight", *_SKEW[2:])]
    ),
    "cornn": (CoRNNSetting(), ["joint.bias", "joint.weight"]),
    "exprnn": (ExpRNNSetting(), ["U", "b", "orthogonal.A", "orthogonal.base", "orthogonal.sequences"]),
    "noisy-gru": (
        NoisyGRUSetting(),
        [f"sde.drift.{part}.{name}" for part in ("input", "recurrent") for name in ("bias", "weight")],
    ),
    "mingru": (
        MinGRUSetting(), [f"sde.drift.{part}.{name}" for part in ("candidate", "gate") for name in ("bias", "weight")]
    ),
    "lru": (
        LRUSetting(),
        ["C.weight", "D.weight", "P.bias", "P.weight", "Q.bias", "Q.weight",
         *(f"recurrence.sde.drift.{name}" for name in ("B", "g", "nu", "theta"))],
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAVED_NAMES)
def test_names_under_which_weights_are_saved_never_change(kind):
    setting, names = SAVED_NAMES[kind]
    assert sorted(setting.layer(1).state_dict()) == [f"cells.0.{name}" for name in names]


def test_the_certified_rnn_has_the_choices_of_its_setting_and_builds_through_json():
    parameters = inspect.signature(noisyrnn.CertifiedRNN).parameters
    others = ("kind", "hidden", "pooling", "temperature")
    ours = {name: field.default for name, field in Certified.model_fields.items() if name not in others}
    skipped = ("input_size", "hidden_size", "batch_first", "device", "dtype")
    assert ours == {name: p.default for name, p in parameters.items() if name not in skipped}
    small = Certified(hidden=5, outputs=3, num_layers=2, bidirectional=True)
    again = Certified.model_validate_json(small.model_dump_json())
    assert again == small
    assert again.build(inputs=2, classes=3)(torch.zeros(2, 4, 2)).shape == (2, 3)
    saved = ["b", "orthogonal.A", "orthogonal.base"]
    assert sorted(Certified().layer(1).state_dict()) == [f"cells.0.{name}" for name in saved]
