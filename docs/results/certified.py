"""Certified accuracy on ordered MNIST: how far the smoothed classifiers of trained networks are proved to hold.

Every network is smoothed with the same white noise on the same test images; a radius holds for the smoothed
classifier, not for the network itself. What is in the file already is not computed again. Run as:
python docs/results/certified.py RUN... --out certified.json, with directories below results/mnist.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from networks import networks_of
from torch import Tensor, nn

from noisyrnn.data import MNIST, Split
from noisyrnn.data import load as splits_of
from noisyrnn.evaluate import accuracy, stream
from noisyrnn.experiments.place import write_json
from noisyrnn.theory import smoothing

STRENGTHS = (0.1, 0.2)
SHARES = (0.0, 0.5, 1.0, 2.0)
"""Radii in strengths of the noise; with 1000 draws nothing can be proved beyond 2.46."""


def certified(network: nn.Module, x: Tensor, y: Tensor, sigma: float, draws: int) -> dict[str, float]:
    """Accuracy in percent of the smoothed classifier that is proved at each l2 radius."""
    found = smoothing(network, x, sigma=sigma, generator=stream("certified", sigma), draws=draws)
    return {f"{r:g}": round(100 * found.certified_accuracy(y, r), 1) for r in (share * sigma for share in SHARES)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--samples", type=int, default=500)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("certified.json"))
    given = parser.parse_args()
    test = splits_of(MNIST()).test
    x, y = test.x[: given.samples], test.y[: given.samples]
    about = {"samples": given.samples, "draws": given.draws}
    before = json.loads(given.out.read_text()) if given.out.exists() else {}
    known = before.get("found", {}) if before.get("about") == about else {}
    for label, network in networks_of(given.runs).items():
        own = known.setdefault(label, {"0": {"0": round(accuracy(network, Split(x=x, y=y)), 1)}})
        print(f"{label}: {own['0']['0']:5.1f} without smoothing")
        for sigma in STRENGTHS:
            if f"{sigma:g}" not in own:
                own[f"{sigma:g}"] = certified(network, x, y, sigma, given.draws)
                write_json(given.out, {"about": about, "found": known})
            print(f"  noise {sigma:g}  " + "  ".join(f"within {r}: {a:5.1f}" for r, a in own[f"{sigma:g}"].items()))


if __name__ == "__main__":
    main()
