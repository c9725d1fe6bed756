"""Attacks are settings: JSON there and back, and a sentence for what is impossible."""

import inspect
import math

import pytest
import torch
from pydantic import TypeAdapter, ValidationError
from victims import z_scored

from noisyrnn.attack import FGSM, PGD, Attack, Loss, Norm, curve


@pytest.mark.parametrize(
    "attack",
    [
        FGSM(radius=0.1, bounds=(0, 1), passes=3),
        PGD(radius=0.2, norm=Norm.L2, steps=7, restarts=3, bounds=((0.0, -1.0), 2.0), loss=Loss.EXCESS),
    ],
    ids=lambda attack: attack.kind,
)
def test_json_round_trip(attack):
    adapter = TypeAdapter(Attack)
    assert adapter.validate_json(adapter.dump_json(attack)) == attack


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: FGSM(radius=-0.1),
        lambda: FGSM(radius=math.inf),
        lambda: FGSM(radius=0.1, steps=3),
        lambda: PGD(radius=0.1, norm="l7"),
        lambda: PGD(radius=0.1, steps=0),
        lambda: PGD(radius=0.1, restarts=2, random_start=False),
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValidationError):
        wrong()


def test_refusals_name_the_remedy(network):
    x, y = z_scored(2, scale=3.0), torch.tensor([0, 1])
    with pytest.raises(ValueError, match=r"x\[0, \d, \d\] = .* lies outside bounds=\(0.0, 1.0\): leave bounds out"):
        FGSM(radius=0.1, bounds=(0, 1))(network, x, y)
    with pytest.raises(ValueError, match="name 3 features, but x has 2"):
        FGSM(radius=0.1, bounds=((0, 0, 0), 1))(network, x, y)
    with pytest.raises(ValueError, match=r"needs a torch\.Generator"):
        PGD(radius=0.1)(network, x, y)
    with pytest.raises(ValueError, match="differentiable in x"):
        FGSM(radius=0.1)(lambda x: network(x.detach()).detach(), x, y)
    with pytest.raises(ValueError, match="rising radii"):
        curve(FGSM(radius=0), network, x, y, radii=(0.2, 0.1))
    call = inspect.unwrap(FGSM.__call__)  # what users run: without the shape checks of the test suite
    with pytest.raises(ValueError, match=r"\(batch, time, feature\)"):
        call(FGSM(radius=0.1), network, x[0], y)
