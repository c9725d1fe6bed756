"""Attacks are settings: JSON there and back, and a sentence for what is impossible."""

import inspect
import math

import pytest
import torch
from pydantic import TypeAdapter
from victims import z_scored

from noisyrnn.attack import (
    APGD,
    FGSM,
    PGD,
    Attack,
    Features,
    Loss,
    Norm,
    Schedule,
    Square,
    Union,
    curve,
    standard,
)
from noisyrnn.setting import InvalidSetting, canonical


@pytest.mark.parametrize(
    "attack",
    [
        FGSM(radius=0.1, bounds=(0, 1), passes=3),
        PGD(radius=0.2, norm=Norm.L2, steps=7, restarts=3, bounds=((0.0, -1.0), 2.0), loss=Loss.EXCESS),
        PGD(radius=0.2, schedule=Schedule.FALLING),
        APGD(radius=0.2, norm=Norm.L2, steps=7, restarts=3, bounds=((0.0, -1.0), 2.0), loss=Loss.DLR, targets=3),
        Square(radius=0.2, norm=Norm.L2, queries=9, share=0.3, features=Features.ONE, passes=2),
        standard(0.3, Norm.L2, bounds=(0.0, 1.0), batch=7),
    ],
    ids=lambda attack: attack.kind,
)
def test_json_round_trip(attack):
    adapter = TypeAdapter(Attack)
    assert adapter.validate_json(adapter.dump_json(attack)) == attack


def test_published_settings_keep_their_identity():
    assert canonical(PGD(radius=0.1, steps=20)) == (
        '{"batch":null,"bounds":null,"keep":"worst","kind":"pgd","loss":"cross-entropy","norm":"linf","passes":1,'
        '"radius":0.1,"random_start":true,"restarts":1,"step":null,"steps":20,"targeted":false}'
    )
    assert canonical(FGSM(radius=0.1)) == (
        '{"batch":null,"bounds":null,"kind":"fgsm","loss":"cross-entropy","passes":1,"radius":0.1,"targeted":false}'
    )
    assert '"schedule":"falling"' in canonical(PGD(radius=0.1, schedule=Schedule.FALLING))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: FGSM(radius=-0.1),
        lambda: FGSM(radius=math.inf),
        lambda: FGSM(radius=0.1, steps=3),
        lambda: PGD(radius=0.1, norm="l7"),
        lambda: PGD(radius=0.1, steps=0),
        lambda: PGD(radius=0.1, restarts=2, random_start=False),
        lambda: APGD(radius=0.1, restarts=2, random_start=False),
        lambda: APGD(radius=0.1, targets=2, targeted=True),
        lambda: APGD(radius=0.1, step=0.1),
        lambda: Square(radius=0.1, queries=1),
        lambda: Square(radius=0.1, share=0.0),
        lambda: Square(radius=0.1, loss="dlr"),
        lambda: Union(attacks=()),
        lambda: Union(attacks=(standard(0.1),)),
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(InvalidSetting):
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
