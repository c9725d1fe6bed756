"""Random numbers: the generator decides everything, and the split of a batch nothing."""

import pytest
import torch
from victims import Recurrent, predicted, seeded, z_scored

from noisyrnn.attack import APGD, FGSM, PGD, Attack, Norm, Square, standard
from noisyrnn.attack.draws import Own, fresh_seeds


def attacks(norm: Norm) -> dict[str, Attack]:
    return {
        "pgd": PGD(radius=0.4, norm=norm, steps=3, restarts=2),
        "apgd": APGD(radius=0.4, norm=norm, steps=5, restarts=2, targets=2),
        "square": Square(radius=0.4, norm=norm, queries=25),
        "union": standard(0.4, norm, steps=4, targets=2, queries=15),
    }


@pytest.mark.parametrize("norm", list(Norm))
@pytest.mark.parametrize("kind", attacks(Norm.LINF))
def test_the_generator_decides_and_the_split_does_not(kind, norm):
    # In double precision, so that rounding does not turn a sign.
    network, attack = Recurrent().double(), attacks(norm)[kind]
    x = z_scored(17).double()
    y = predicted(network, x)
    whole = attack(network, x, y, seeded(6))
    assert torch.equal(attack(network, x, y, seeded(6)), whole)
    assert not torch.equal(attack(network, x, y, seeded(7)), whole)
    pieces = attack.model_copy(update={"batch": 4})(network, x, y, seeded(6))
    torch.testing.assert_close(pieces, whole, atol=1e-9, rtol=0)
    generator = seeded(6)
    served = torch.cat([attack(network, x[part], y[part], generator) for part in (slice(0, 5), slice(5, 17))])
    torch.testing.assert_close(served, whole, atol=1e-9, rtol=0)


def test_an_attack_without_chance_leaves_the_generator_where_it_stood(network):
    generator = seeded(3)
    before = generator.get_state()
    x = z_scored(3)
    y = predicted(network, x)
    FGSM(radius=0.1)(network, x, y, generator)
    PGD(radius=0.1, steps=2, random_start=False)(network, x, y, generator)
    assert torch.equal(generator.get_state(), before)


@pytest.mark.parametrize("attack", [APGD(radius=0.1), Square(radius=0.1)], ids=lambda attack: attack.kind)
def test_chance_without_a_generator_is_refused(network, attack):
    x = z_scored(3)
    with pytest.raises(ValueError, match=r"a torch\.Generator"):
        attack(network, x, predicted(network, x))


def test_samples_go_on_where_they_stand_and_begin_again_when_told():
    seeds = fresh_seeds(seeded(1), 5)
    assert len(set(seeds.tolist())) == 5
    own = Own(seeds)
    first, rest = own.uniform(3), own.part(torch.tensor([3, 1])).uniform(2)
    straight = Own(seeds).uniform(5)
    assert torch.equal(first, straight[:, :3])
    assert torch.equal(rest, straight[[3, 1], 3:])
    assert torch.equal(own.again().uniform(5), straight)
