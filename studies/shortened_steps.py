"""Accuracy of a released noisy RNN when its steps are shortened to those of its training, on average.

The released multiplicative noise is a factor 1 - m + m U on the drift, with mean 1 - m / 2 in training; in use the
factor is 1.

    python studies/shortened_steps.py [NETWORK ...] [--out studies/shortened_steps.json]
"""

from __future__ import annotations

import torch
from command import arguments, keep
from networks import network, run_of

from noisyrnn.data import Split, load
from noisyrnn.evaluate import accuracy
from noisyrnn.models import Convention, Noisy
from noisyrnn.rnn import Classifier

NETWORKS = ("ecg/noisy-0.2-0-100-epochs-seed-0", "ecg/noisy-0.03-0.06-100-epochs-seed-0")
SHARES = (0.0, 0.25, 0.5, 0.75)
"""Of the multiplicative strength: at 0.5 steps are as long as they were on average in training."""


def shortened(trained: Classifier, multiplicative: float, test: Split) -> dict[str, float]:
    """Accuracy in percent for each factor of the network's steps, 1 - share times strength."""
    steps = trained.layer.cells[0].step_size.dt
    learned, found = steps.detach().clone(), {}
    for share in SHARES:
        factor = 1 - share * multiplicative
        with torch.no_grad():
            steps.copy_(learned * factor)
        found[f"{factor:.3f}"] = accuracy(trained, test)
    with torch.no_grad():
        steps.copy_(learned)
    return found


def main() -> None:
    given = arguments(__file__, __doc__, NETWORKS).parse_args()
    found = {}
    for name in given.networks:
        run = run_of(name)
        if not isinstance(run.model, Noisy) or run.model.convention is not Convention.RELEASED:
            raise SystemExit(f"{name} is no noisy RNN in the released convention; name another network.")
        found[name] = shortened(network(name), run.model.multiplicative, load(run.data).test)
        print(name)
        for factor, value in found[name].items():
            print(f"  steps times {factor}: {value:.1f} %", flush=True)
    keep(given.out, found)


if __name__ == "__main__":
    main()
