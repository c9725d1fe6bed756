"""What one more step does to a trained network if its batch is what an epoch has left over.

58,000 training images in batches of 128 leave 16. From the state in which training ended, with the optimiser's
own averages and rates, one step is taken from each of several random batches of 16 and of 128 training images, and the
loss on 1000 others is taken before and after.

    python studies/last_batch_step.py [NETWORK] [--samples 1000] [--out studies/last_batch_step.json]
"""

from __future__ import annotations

import statistics

import torch
from command import arguments, keep
from networks import network, run_of, state_of
from torch import Tensor, nn

from noisyrnn.checkpoint import restore
from noisyrnn.data import load
from noisyrnn.evaluate import logits
from noisyrnn.randomness import stream
from noisyrnn.rnn import Classifier
from noisyrnn.train import optimiser_for

NETWORKS = ("ordered-mnist/exprnn-30-epochs-seed-0",)
DRAWS = 20
SIZES = (16, 128)


def in_training(name: str) -> tuple[Classifier, torch.optim.Optimizer]:
    """The network and its optimiser as they were when training ended: its rates do not decay."""
    saved, trained = state_of(name), network(name)
    restore(trained, saved)
    optimiser = optimiser_for(trained, run_of(name).train)
    moments: dict[int, dict[str, Tensor]] = {}
    for key, tensor in saved.optimiser.items():
        index, _, part = key.partition("/")
        moments.setdefault(int(index), {})[part] = tensor
    optimiser.load_state_dict({"state": moments, "param_groups": optimiser.state_dict()["param_groups"]})
    return trained.train(), optimiser


def main() -> None:
    parser = arguments(__file__, __doc__, NETWORKS)
    parser.add_argument("--samples", type=int, default=1000, help="training images that the loss is over")
    given = parser.parse_args()
    (name,) = given.networks
    images = load(run_of(name).data).train
    order = torch.randperm(len(images), generator=stream("leftover"))
    judged, rest = order[: given.samples], order[given.samples :]

    def loss(of: Classifier) -> float:
        return float(nn.functional.cross_entropy(logits(of, images.x[judged]), images.y[judged]))

    def loss_after(batch: Tensor) -> float:
        trained, optimiser = in_training(name)
        nn.functional.cross_entropy(trained(images.x[batch]), images.y[batch]).backward()
        optimiser.step()
        return loss(trained)

    before = loss(in_training(name)[0])
    print(f"loss before: {before:.3f}", flush=True)
    found: dict[str, dict[str, float]] = {}
    for size in SIZES:
        losses = [loss_after(rest[draw * size : (draw + 1) * size]) for draw in range(DRAWS)]
        found[str(size)] = {"median": round(statistics.median(losses), 3), "most": round(max(losses), 3)}
        print(f"after a step from {size} images: {found[str(size)]}", flush=True)
    keep(given.out, {"samples": given.samples, "draws": DRAWS, "before": round(before, 3), "after": found})


if __name__ == "__main__":
    main()
