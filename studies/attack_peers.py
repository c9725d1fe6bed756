"""Does any other attack leave less than our union? One network of each row of the record under ours and three others.

The same first test samples, without bounds, with one radius for a task: PGD with 40 steps, APGD of the Adversarial
Robustness Toolbox (ART), APGD as `attack_ablation.py` writes it down, and the two gradient attacks of the standard
union. Square, its third member, is left out: it could only lower what the union leaves. What is in the file already is
not computed again.

    python studies/attack_peers.py [NETWORK ...] [--out studies/attack_peers.json]
"""

from __future__ import annotations

import numpy as np
import torch
from attack_ablation import APGD as TRANSCRIBED
from attack_ablation import reached
from command import arguments, keep, kept
from networks import names, network, run_of
from torch import nn

from noisyrnn.attack import PGD, Union, standard
from noisyrnn.data import Split, load
from noisyrnn.evaluate import accuracy
from noisyrnn.randomness import stream

RADII = {"ordered-mnist": 0.05, "permuted-mnist": 0.01, "ecg": 0.2, "digits": 0.1}
"""Radii that leave something to compare: on permuted pixels 0.05 leaves nothing of any network."""
SAMPLES = {"ordered-mnist": 100, "permuted-mnist": 100, "ecg": 1000, "digits": 300}
"""From the first test sample on; fewer of long sequences, which take longer."""
STEPS = 50
UNION = "union"


def radius_of(name: str) -> float:
    """Of the task, in the units of its numbers: raw pixels go up to 255."""
    return RADII[name.split("/")[0]] * (255 if "-raw-" in name else 1)


def left(victim: nn.Module, samples: Split, radius: float) -> dict[str, float]:
    """Accuracy in percent under each attack."""
    transcribed = reached(victim, samples, TRANSCRIBED, radius, STEPS) <= 0
    union = Union(attacks=standard(radius, steps=STEPS).attacks[:2])
    found = {
        "PGD": accuracy(victim, samples, PGD(radius=radius, steps=40), stream("attack peers")),
        "ART": left_by_art(victim, samples, radius),
        "transcription": 100 * float(transcribed.double().mean()),
        UNION: 100 * union.verdict(victim, samples.x, samples.y, stream("attack peers")).accuracy,
    }
    return {attack: round(value, 1) for attack, value in found.items()}


def left_by_art(victim: nn.Module, samples: Split, radius: float) -> float:
    """Accuracy in percent under ART's APGD on the cross-entropy, from one random start."""
    from art.attacks.evasion import AutoProjectedGradientDescent
    from art.estimators.classification import PyTorchClassifier

    with torch.no_grad():
        classes = victim(samples.x[:1]).shape[1]
    widest = 2 * float(samples.x.abs().max()) + 2 * radius  # ART wants limits; these are never reached
    wrapped = PyTorchClassifier(
        victim,
        nn.CrossEntropyLoss(),
        tuple(samples.x.shape[1:]),
        classes,
        clip_values=(-widest, widest),
        device_type="cpu",
    )
    np.random.seed(0)  # noqa: NPY002 (ART draws from numpy's global numbers)
    attack = AutoProjectedGradientDescent(
        wrapped,
        norm=np.inf,
        eps=radius,
        eps_step=2 * radius,
        max_iter=STEPS,
        nb_random_init=1,
        batch_size=len(samples.x),
        loss_type="cross_entropy",
        verbose=False,
    )
    x = torch.from_numpy(attack.generate(samples.x.numpy(), samples.y.numpy()))
    # ART adds radii in its own order of rounding: a sample may end a last bit outside the ball.
    if float((x - samples.x).abs().max()) > radius * (1 + 1e-3):
        raise SystemExit("ART left the ball; its version is another than the tested one.")
    return accuracy(victim, Split(x=x, y=samples.y))


def main() -> None:
    everyone = [name for task in RADII for name in names(task) if name.endswith("seed-0")]
    parser = arguments(__file__, __doc__, everyone)
    given = parser.parse_args()
    found = kept(given.out, SAMPLES)
    for name in given.networks:
        if name not in found:
            test = load(run_of(name).data).test
            count = SAMPLES[name.split("/")[0]]
            samples = Split(x=test.x[:count], y=test.y[:count])
            victim = network(name)
            clean = round(accuracy(victim, samples), 1)
            found[name] = {"radius": radius_of(name), "clean": clean, **left(victim, samples, radius_of(name))}
            keep(given.out, {"about": SAMPLES, "found": found})
        print(f"{name:75} {found[name]}", flush=True)
    others = {name: min(one[attack] for attack in ("PGD", "ART", "transcription")) for name, one in found.items()}
    worse = sorted(name for name, one in found.items() if one[UNION] > others[name] + 1)
    print(f"{len(found)} networks; on {len(worse)} the union leaves over a point more than another attack: {worse}")


if __name__ == "__main__":
    main()
