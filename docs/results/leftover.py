"""What one more step does to a trained network if its batch is what an epoch has left over.

58,000 training images in batches of 128 leave 16. From the state in which training ended, with the optimiser's own
averages and rates, one step is taken from each of several random batches of 16 and of 128 training images, and the loss
on 1000 others is taken before and after. Run as: python docs/results/leftover.py RUN --out leftover.json, with a
directory below results/mnist.
"""

from __future__ import annotations

import statistics

import torch
from networks import arguments
from torch import nn

from noisyrnn.checkpoint import load, load_network
from noisyrnn.data import MNIST
from noisyrnn.data import load as splits_of
from noisyrnn.evaluate import logits, stream
from noisyrnn.experiments.place import CHECKPOINT, write_json
from noisyrnn.train import Train
from noisyrnn.train.state import State

DRAWS = 20
SIZES = (16, 128)


def main() -> None:
    parser = arguments(__doc__, "leftover.json", samples=1000)
    given = parser.parse_args()
    (place,) = given.runs
    record, images = load(place / CHECKPOINT).record, splits_of(MNIST()).train
    train = Train.model_validate(record.train)
    order = torch.randperm(len(images), generator=stream("leftover"))
    judged, rest = order[: given.samples], order[given.samples :]

    def loss_after(batch: torch.Tensor | None) -> float:
        network = load_network(place / CHECKPOINT)
        if batch is not None:
            state = State(network=network, train=train, seed=record.seed or 0)
            state.resume(place / CHECKPOINT)
            network.train()
            nn.functional.cross_entropy(network(images.x[batch]), images.y[batch]).backward()
            state.optimiser.step()
        return float(nn.functional.cross_entropy(logits(network, images.x[judged]), images.y[judged]))

    before = loss_after(None)
    print(f"loss before: {before:.3f}")
    found: dict[str, dict[str, float]] = {}
    for size in SIZES:
        losses = [loss_after(rest[draw * size : (draw + 1) * size]) for draw in range(DRAWS)]
        found[str(size)] = {"median": round(statistics.median(losses), 3), "most": round(max(losses), 3)}
        print(f"after a step from {size} images: {found[str(size)]}")
    write_json(given.out, {"samples": given.samples, "draws": DRAWS, "before": round(before, 3), "after": found})


if __name__ == "__main__":
    main()
