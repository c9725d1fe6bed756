"""Certified accuracy on ordered MNIST: how far the smoothed classifiers of trained networks are proved to hold.

Every network is smoothed with the same white noise on the same test images; a radius holds for the smoothed
classifier, not for the network itself. What is in the file already is not computed again. Run as:
python docs/results/certified.py RUN... --out certified.json, with directories below results/mnist.
"""

from __future__ import annotations

from networks import arguments, first_images, kept, networks_of
from torch import nn

from noisyrnn.data import Split
from noisyrnn.evaluate import accuracy, stream
from noisyrnn.experiments.place import write_json
from noisyrnn.theory import smoothing

STRENGTHS = (0.1, 0.2)
SHARES = (0.0, 0.5, 1.0, 2.0)
"""Radii in strengths of the noise; with 1000 draws nothing can be proved beyond 2.46."""


def certified(network: nn.Module, images: Split, sigma: float, draws: int) -> dict[str, float]:
    """Accuracy in percent of the smoothed classifier that is proved at each l2 radius."""
    found = smoothing(network, images.x, sigma=sigma, generator=stream("certified", sigma), draws=draws)
    radii = [share * sigma for share in SHARES]
    return {f"{r:g}": round(100 * found.certified_accuracy(images.y, r), 1) for r in radii}


def main() -> None:
    parser = arguments(__doc__, "certified.json", samples=500)
    parser.add_argument("--draws", type=int, default=1000)
    given = parser.parse_args()
    images = first_images(given.samples)
    about = {"samples": given.samples, "draws": given.draws}
    known = kept(given.out, about)
    for label, network in networks_of(given.runs).items():
        own = known.setdefault(label, {"0": {"0": round(accuracy(network, images), 1)}})
        print(f"{label}: {own['0']['0']:5.1f} without smoothing")
        for sigma in STRENGTHS:
            if f"{sigma:g}" not in own:
                own[f"{sigma:g}"] = certified(network, images, sigma, given.draws)
                write_json(given.out, {"about": about, "found": known})
            print(f"  noise {sigma:g}  " + "  ".join(f"within {r}: {a:5.1f}" for r, a in own[f"{sigma:g}"].items()))


if __name__ == "__main__":
    main()
