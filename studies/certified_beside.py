"""Certificates beside each other on ECG: what is proved, at what cost, and where attacks succeed.

The certified RNN has the certificate by gain; the noisy and the Lipschitz RNN have the ball certificate of their path,
and, as any classifier, randomised smoothing (of another, smoothed classifier; confidence 0.999). Radii of attacks are
those of the nearest wrong answer that projected gradient ascent in l2 with restarts found. What is in the file already
is not computed again.

    python studies/certified_beside.py [NETWORK ...] [--samples 40] [--draws 1000] [--out studies/certified_beside.json]
"""

from __future__ import annotations

import time

import torch
from command import arguments, keep, kept
from networks import network

from noisyrnn.data import ECG5000, Split, load
from noisyrnn.evaluate import compared
from noisyrnn.models import CertifiedRNN
from noisyrnn.randomness import stream
from noisyrnn.rnn import Classifier
from noisyrnn.theory import Network, ball_certificate, gain_certificate, smoothing

NETWORKS = (
    "ecg/certified-80-epochs-seed-0",
    "ecg/lipschitz-100-epochs-seed-0",
    "ecg/noisy-0.03-0.06-100-epochs-seed-0",
)
RMS = (0.01, 0.02, 0.05, 0.1)
SIGMA = 0.5
"""Strength of the smoothing noise."""


def proved(radius: torch.Tensor, right: torch.Tensor, steps: int) -> dict[str, float]:
    """Certified accuracy in percent at each RMS disturbance."""
    return {f"{r:g}": round(100 * float((right & (radius >= r * steps**0.5)).double().mean()), 1) for r in RMS}


def beside(trained: Classifier, beats: Split, draws: int) -> dict[str, object]:
    """Certified accuracy by the network's own certificate and by smoothing, and certified over attacked radii."""
    began, steps = time.perf_counter(), beats.x.shape[1]
    x, y = beats.x, beats.y
    if isinstance(trained.layer, CertifiedRNN):
        found = gain_certificate(trained, x)
        radius, right = found.radius, found.label == y
    else:
        own = ball_certificate(Network.of_classifier(trained), x, y)
        radius, right = own.radius, own.correct
    seconds = time.perf_counter() - began
    exact, wide = trained.double(), x.double()
    margins = compared(exact, wide, y, {"own": radius}, generator=stream("certified beside"), rounds=6)
    with torch.no_grad():
        votes = smoothing(trained.float(), x, sigma=SIGMA, generator=stream("smoothed beside"), draws=draws)
    return {
        "clean": round(100 * float(right.double().mean()), 1),
        "certified": proved(radius, right, steps),
        "smoothed": proved(votes.radius, votes.label == y, steps),
        "certified / attacked": round(margins.ratio("own"), 3),
        "violations": margins.violations("own"),
        "seconds": round(seconds, 2),
    }


def main() -> None:
    parser = arguments(__file__, __doc__, NETWORKS)
    parser.add_argument("--samples", type=int, default=40, help="test beats")
    parser.add_argument("--draws", type=int, default=1000, help="noisy copies of each beat for smoothing")
    given = parser.parse_args()
    test = load(ECG5000()).test
    index = torch.randperm(len(test), generator=stream("beats beside"))[: given.samples]
    beats = Split(x=test.x[index], y=test.y[index])
    about = {"samples": given.samples, "draws": given.draws}
    found = kept(given.out, about)
    for name in given.networks:
        if name not in found:
            found[name] = beside(network(name), beats, given.draws)
            keep(given.out, {"about": about, "found": found})
        print(f"{name:50} {found[name]}", flush=True)


if __name__ == "__main__":
    main()
