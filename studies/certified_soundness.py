"""Is a certificate by gain ever larger than the nearest wrong answer that an attack finds? 2,000 samples.

20 belong to each of 61 networks with random weights, shapes, directions, gains, activations and readouts, and up to 400
to each of the published networks. Attacks are projected gradient ascents in l2 on the logit gap with restarts, whose
ball is narrowed round by round, and everything is in double precision. What is in the file already is not computed
again.

    python studies/certified_soundness.py [NETWORK ...] [--samples 400] [--out studies/certified_soundness.json]
"""

from __future__ import annotations

import copy
import random
from typing import Any

import torch
from command import arguments, keep, kept
from networks import network, run_of
from torch import Tensor

from noisyrnn.attack import PGD, Loss
from noisyrnn.data import load
from noisyrnn.evaluate import attacked_radius
from noisyrnn.models import Certified, Contraction
from noisyrnn.randomness import stream
from noisyrnn.rnn import Classifier, Pooling
from noisyrnn.setting import Norm
from noisyrnn.theory import gain_certificate

NETWORKS = ("ecg/certified-80-epochs-seed-0", "digits/certified-80-epochs-seed-0")
RANDOM, SAMPLES, PIECE = 61, 20, 100
ATTACK = PGD(radius=1.0, norm=Norm.L2, steps=20, restarts=3, loss=Loss.EXCESS)
ROUNDS = 5


def random_network(number: int) -> tuple[Classifier, Tensor]:
    """A network with random settings and weights far from where they start, and inputs for it."""
    chance = random.Random(number)
    setting = Certified(
        hidden=chance.randint(2, 16), outputs=2 * chance.randint(1, 6), num_layers=chance.randint(1, 3),
        bidirectional=chance.random() < 0.3, gain=chance.uniform(0.3, 5.0), temperature=chance.uniform(1.0, 50.0),
        activation=chance.choice([Contraction.MAXMIN, Contraction.MAXMIN, *Contraction]),
        pooling=chance.choice([Pooling.MEAN, Pooling.MEAN, Pooling.LAST]), memory=chance.choice([None, 50.0]),
    )  # fmt: skip
    setting = setting.model_copy(update={"hidden": setting.hidden + setting.hidden % 2})
    inputs, classes, steps = chance.randint(1, 3), chance.randint(2, 6), chance.randint(1, 30)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(number)
        made = setting.build(inputs, classes)
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(chance.uniform(0.0, 0.5) * torch.randn(parameter.shape))
        return made.eval(), torch.randn(SAMPLES, steps, inputs)


def tried(one: Classifier, x: Tensor, address: str) -> dict[str, Any]:
    """How the nearest wrong answers lie beside the certified radii: counts, and the least and the middle ratio."""
    found = gain_certificate(one, x)
    exact = copy.deepcopy(one).double()
    generator = stream("soundness", address)
    nearest = attacked_radius(exact, x.double(), found.label, generator=generator, attack=ATTACK, rounds=ROUNDS)
    both = (found.radius > 0) & nearest.isfinite()
    ratios = (nearest[both] / found.radius[both]).sort().values
    return {
        "pairs": len(x),
        "certified": int((found.radius > 0).sum()),
        "attacked": int(nearest.isfinite().sum()),
        "violations": int((found.radius > nearest).sum()),
        "least ratio": round(float(ratios[0]), 4) if len(ratios) else None,
        "middle ratio": round(float(ratios[len(ratios) // 2]), 4) if len(ratios) else None,
    }


def main() -> None:
    parser = arguments(__file__, __doc__, NETWORKS)
    parser.add_argument("--samples", type=int, default=400, help="test samples of each published network")
    parser.add_argument("--random", type=int, default=RANDOM, help="networks with random weights")
    given = parser.parse_args()
    about = {"restarts": ATTACK.restarts, "steps": ATTACK.steps, "rounds": ROUNDS, "piece": PIECE}
    found = kept(given.out, about)

    def note(name: str, one: Classifier, x: Tensor) -> None:
        if name not in found:
            found[name] = tried(one, x, name)
            keep(given.out, {"about": about, "found": found})
        print(f"{name:50} {found[name]}", flush=True)

    for number in range(given.random):
        note(f"random {number}", *random_network(number))
    for name in given.networks:
        test = load(run_of(name).data).test
        index = torch.randperm(len(test), generator=stream("soundness", name))[: given.samples]
        for first in range(0, len(index), PIECE):
            note(f"{name} {first}", network(name), test.x[index[first : first + PIECE]])


if __name__ == "__main__":
    main()
