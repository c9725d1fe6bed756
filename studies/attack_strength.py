"""How much accuracy each attack leaves on ordered MNIST, and which member of the standard union breaks what.

Every attack meets the same first test images, without bounds. What is in the file already is not computed again.

    python studies/attack_strength.py [NETWORK ...] [--samples 200] [--out studies/attack_strength.json]
"""

from __future__ import annotations

from command import arguments, keep, kept
from networks import network
from readings import SIX, first_images
from torch import nn

from noisyrnn.attack import APGD, FGSM, PGD, Attack, Loss, Schedule, Square, Union, standard
from noisyrnn.data import Split
from noisyrnn.evaluate import accuracy
from noisyrnn.randomness import stream

NETWORKS = SIX[:2]
RADII = (0.05, 0.1)
ATTACKS: dict[str, Attack] = {
    "FGSM": FGSM(radius=0),
    "PGD, 40 steps": PGD(radius=0),
    "PGD, 40 falling steps": PGD(radius=0, schedule=Schedule.FALLING),
    "APGD, 50 steps": APGD(radius=0),
    "APGD, 50 steps from each of 4 starts": APGD(radius=0, restarts=4),
    "APGD on DLR, 50 steps to each of 3 classes": APGD(radius=0, loss=Loss.DLR, targets=3),
    "Square, 1000 queries": Square(radius=0),
    "standard": standard(0.0),
}


def left(victim: nn.Module, images: Split, attack: Attack) -> dict[str, float]:
    """Accuracy in percent under the attack, and of a union how many images each member broke."""
    generator = stream("attack strength")
    if not isinstance(attack, Union):
        return {"accuracy": round(accuracy(victim, images, attack, generator), 1)}
    verdict = attack.verdict(victim, images.x, images.y, generator)
    return {"accuracy": round(100 * verdict.accuracy, 1), **verdict.broken}


def main() -> None:
    parser = arguments(__file__, __doc__, NETWORKS)
    parser.add_argument("--samples", type=int, default=200, help="test images, from the first")
    given = parser.parse_args()
    images = first_images(given.samples)
    about = {"samples": given.samples}
    found = kept(given.out, about)
    for name in given.networks:
        for title, attack in ATTACKS.items():
            own = found.setdefault(name, {}).setdefault(title, {})
            for radius in RADII:
                if f"{radius:g}" not in own:
                    own[f"{radius:g}"] = left(network(name), images, attack.at(radius))
                    keep(given.out, {"about": about, "found": found})
            print(f"{name:50} {title:44} {own}", flush=True)


if __name__ == "__main__":
    main()
