"""Curvature of the training loss around networks, with an error over the samples that it is measured on.

A few hard samples carry most of a Hessian, so that one subset says little. Here the training samples are drawn into
groups; each group has its own trace and largest eigenvalue, and their spread gives the error. What is in the file
already is not computed again. Run as: python docs/results/curvature.py RUN... --out curvature.json
"""

from __future__ import annotations

import torch
from networks import arguments, kept, networks_of
from pydantic import TypeAdapter

from noisyrnn.checkpoint import load
from noisyrnn.data import DataSet, Split
from noisyrnn.data import load as splits_of
from noisyrnn.evaluate import stream
from noisyrnn.experiments.place import CHECKPOINT, write_json
from noisyrnn.theory import Hessian, hutchinson_trace, top_eigenpairs


def groups(train: Split, samples: int, group: int) -> list[Split]:
    """Disjoint random groups; the same for every network."""
    order = torch.randperm(len(train), generator=stream("curvature"))[:samples]
    return [Split(x=train.x[part], y=train.y[part]) for part in order.split(group)]


def main() -> None:
    parser = arguments(__doc__, "curvature.json", samples=500)
    parser.add_argument("--group", type=int, default=100)
    parser.add_argument("--probes", type=int, default=8)
    given = parser.parse_args()
    about = {"samples": given.samples, "group": given.group, "probes": given.probes}
    found = kept(given.out, about)
    for place in given.runs:
        data = TypeAdapter(DataSet).validate_python(load(place / CHECKPOINT).record.about["data"])
        [(label, network)] = networks_of([place]).items()
        own = found.setdefault(data.kind, {}).setdefault(label, {"top": [], "trace": []})
        for number, group in enumerate(groups(splits_of(data).train, given.samples, given.group)):
            if number < len(own["trace"]):
                continue
            H = Hessian(network, group.x, group.y)
            own["top"].append(float(top_eigenpairs(H, 1, tolerance=1e-2).values[0]))
            own["trace"].append(hutchinson_trace(H, given.probes, seed=number).value)
            write_json(given.out, {"about": about, "found": found})
        for name, values in own.items():
            spread = torch.tensor(values).std() / len(values) ** 0.5
            print(f"{data.kind}, {label}: {name} {sum(values) / len(values):.4g} ± {spread:.2g}")


if __name__ == "__main__":
    main()
