"""Prescribed hyper-parameters are the prescribed ones."""

import pytest

from noisyrnn.models import PRESETS, Preset, preset


def test_presets_are_the_prescribed_ones():
    noisy = preset("ordered-mnist", "nrnn-large")
    assert (noisy.model.additive, noisy.model.multiplicative, noisy.model.dt, noisy.lr) == (0.05, 0.02, 0.01, 1e-3)
    assert preset("ecg", "nrnn").model.beta == 0.9
    assert preset("ordered-mnist", "antisymmetric").model.gamma == 1e-4
    assert preset("ordered-mnist", "antisymmetric-printed").model.gamma == 1e-3
    assert preset("permuted-mnist", "cornn").model.gamma == 0.13
    assert preset("ordered-mnist", "exprnn").lr_orthogonal == pytest.approx(preset("ordered-mnist", "exprnn").lr / 10)
    for table in PRESETS.values():
        for one in table.values():
            assert Preset.model_validate_json(one.model_dump_json()) == one
            assert one.source
    with pytest.raises(ValueError, match=r"no preset 'mnist'; choose one of ecg"):
        preset("mnist", "nrnn")
    with pytest.raises(ValueError, match=r"no preset 'lstm'; choose one of antisymmetric"):
        preset("ecg", "lstm")
