"""Curvature of the training loss around networks, with an error over the samples that it is measured on.

A few hard samples carry most of a Hessian, so that one subset says little. Here the training samples are drawn into
groups; each group has its own trace and largest eigenvalue, and their spread gives the error. What is in the file
already is not computed again.

    python studies/curvature.py [NETWORK ...] [--samples 500] [--group 100] [--probes 8] [--out studies/curvature.json]
"""

from __future__ import annotations

import statistics

import torch
from command import arguments, keep, kept
from networks import network, run_of

from noisyrnn.data import Split, load
from noisyrnn.randomness import stream
from noisyrnn.theory import Hessian, hutchinson_trace, top_eigenpairs

NETWORKS = (
    "ecg/lipschitz-100-epochs-seed-0",
    "ecg/noisy-0-0-100-epochs-seed-0",
    "ecg/noisy-0.03-0.06-100-epochs-seed-0",
    "ordered-mnist/lipschitz-100-epochs-seed-0",
    "ordered-mnist/noisy-0.02-0.05-100-epochs-seed-0",
)


def groups(train: Split, samples: int, group: int) -> list[Split]:
    """Disjoint random groups; the same for every network."""
    order = torch.randperm(len(train), generator=stream("curvature"))[:samples]
    return [Split(x=train.x[part], y=train.y[part]) for part in order.split(group)]


def main() -> None:
    parser = arguments(__file__, __doc__, NETWORKS)
    parser.add_argument("--samples", type=int, default=500, help="training samples in all groups")
    parser.add_argument("--group", type=int, default=100, help="training samples in a group")
    parser.add_argument("--probes", type=int, default=8, help="random vectors for a trace")
    given = parser.parse_args()
    about = {"samples": given.samples, "group": given.group, "probes": given.probes}
    found = kept(given.out, about)
    for name in given.networks:
        own = found.setdefault(name, {"top": [], "trace": []})
        trained = network(name)
        for number, group in enumerate(groups(load(run_of(name).data).train, given.samples, given.group)):
            if number < len(own["trace"]):
                continue
            H = Hessian(trained, group.x, group.y)
            own["top"].append(float(top_eigenpairs(H, 1, tolerance=1e-2).values[0]))
            own["trace"].append(hutchinson_trace(H, given.probes, seed=number).value)
            keep(given.out, {"about": about, "found": found})
            print(f"{name}, group {number}: top {own['top'][-1]:.4g}, trace {own['trace'][-1]:.4g}", flush=True)
        for quantity, values in own.items():
            error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
            print(f"{name}: {quantity} {statistics.mean(values):.4g} ± {error:.2g}", flush=True)


if __name__ == "__main__":
    main()
