"""Certified accuracy on ordered MNIST: how far the smoothed classifiers of trained networks are proved to hold.

Every network is smoothed with the same white noise on the same test images; a radius holds for the smoothed
classifier, not for the network itself. What is in the file already is not computed again.

    python studies/smoothed_certificates.py [NETWORK ...] [--samples 500] [--draws 1000]
      [--out studies/smoothed_certificates.json]
"""

from __future__ import annotations

from command import arguments, keep, kept
from networks import network
from readings import SIX, first_images
from torch import nn

from noisyrnn.data import Split
from noisyrnn.evaluate import accuracy
from noisyrnn.randomness import stream
from noisyrnn.theory import smoothing

NETWORKS = SIX[:2]
STRENGTHS = (0.1, 0.2)
SHARES = (0.0, 0.5, 1.0, 2.0)
"""Radii in strengths of the noise; with 1000 draws nothing can be proved beyond 2.46."""


def certified(trained: nn.Module, images: Split, sigma: float, draws: int) -> dict[str, float]:
    """Accuracy in percent of the smoothed classifier that is proved at each l2 radius."""
    found = smoothing(trained, images.x, sigma=sigma, generator=stream("certified", sigma), draws=draws)
    radii = [share * sigma for share in SHARES]
    return {f"{r:g}": round(100 * found.certified_accuracy(images.y, r), 1) for r in radii}


def main() -> None:
    parser = arguments(__file__, __doc__, NETWORKS)
    parser.add_argument("--samples", type=int, default=500, help="test images, from the first")
    parser.add_argument("--draws", type=int, default=1000, help="noisy copies of each image that vote")
    given = parser.parse_args()
    images = first_images(given.samples)
    about = {"samples": given.samples, "draws": given.draws}
    known = kept(given.out, about)
    for name in given.networks:
        trained = network(name)
        own = known.setdefault(name, {"0": {"0": round(accuracy(trained, images), 1)}})
        print(f"{name}: {own['0']['0']:5.1f} without smoothing")
        for sigma in STRENGTHS:
            if f"{sigma:g}" not in own:
                own[f"{sigma:g}"] = certified(trained, images, sigma, given.draws)
                keep(given.out, {"about": about, "found": known})
            within = "  ".join(f"within {r}: {a:5.1f}" for r, a in own[f"{sigma:g}"].items())
            print(f"  noise {sigma:g}  {within}", flush=True)


if __name__ == "__main__":
    main()
