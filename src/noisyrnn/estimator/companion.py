r"""A second opinion beside the network: random convolutions of smoothed copies, read out by ridge regression.

    p(class) = (softmax(network) + softmax(companion)) / 2

The companion is fitted on the series and on copies with the faults of the training. Strength and temperature of its
regression are those that answer best for series left out together with all their copies:

    C = (K + a I)^-1,   residual without the series of group G = C_GG^-1 (C y)_G,   K = F F^T of the features F
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from noisyrnn.estimator.random_convolutions import RandomConvolutions, RandomConvolutionsSetting
from noisyrnn.estimator.robustness import faulty
from noisyrnn.randomness import stream
from noisyrnn.train.one_cycle import OneCycle, Samples

_COPIES, _ROWS = 20, 2000
_STRENGTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_TEMPERATURES = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0)


class Companion(nn.Module):
    """Logits (batch, classes) of series (batch, time, inputs), by random convolutions and one linear map."""

    def __init__(self, setting: RandomConvolutionsSetting, inputs: int, classes: int) -> None:
        super().__init__()
        self.convolutions = RandomConvolutions(setting, inputs)
        self.weight = nn.Buffer(torch.zeros(classes, self.convolutions.features))
        self.bias = nn.Buffer(torch.zeros(classes))

    def forward(self, x: Tensor, lengths: Tensor | None = None) -> Tensor:
        return functional.linear(self.convolutions(x, lengths), self.weight, self.bias)


@torch.no_grad()
def fit_companion(
    setting: RandomConvolutionsSetting, samples: Samples, training: OneCycle, *, classes: int, channels: int, seed: int
) -> Companion:
    """The companion of a network that is trained in this way on these samples; only ``channels`` have faults."""
    generator = stream("estimator", "companion", seed)
    if len(samples) > _ROWS:
        samples = samples.part(torch.randperm(len(samples), generator=generator)[:_ROWS])
    series, share = len(samples), 1.0
    rows = [samples.x]
    if training.faults is not None or training.input_noise:
        copies = min(_COPIES, max(1, _ROWS // series - 1))
        mixture = None if training.faults is None else training.faults.without_clean()
        for _ in range(copies):
            x = samples.x
            if mixture is not None:
                x = faulty(mixture, x, generator, channels, samples.call())
            rows.append(x + training.input_noise * torch.randn(x.shape, generator=generator))
        share = 0.25 if training.faults is None else training.faults.clean
    groups = torch.arange(series * len(rows)).reshape(len(rows), series).T
    lengths = None if samples.lengths is None else samples.lengths.repeat(len(rows))
    x = torch.cat(rows)
    companion = Companion(setting, x.shape[2], classes)
    companion.convolutions.draw(x, lengths, generator)
    features = companion.convolutions(x, lengths)
    own = torch.ones(series) if samples.weights is None else samples.weights
    disturbed = (1 - share) / max(1, len(rows) - 1)
    weights = torch.cat([share * own, *[disturbed * own] * (len(rows) - 1)])
    weight, bias = ridge(features, samples.y.repeat(len(rows)), weights, groups, classes)
    companion.weight.copy_(weight)
    companion.bias.copy_(bias)
    return companion


def ridge(features: Tensor, y: Tensor, weights: Tensor, groups: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """Weight (classes, features) and bias of the linear map to logits; ``groups`` (series, rows of each).

    >>> x = torch.tensor([[0.0], [0.1], [0.9], [1.0]])
    >>> weight, bias = ridge(x, torch.tensor([0, 0, 1, 1]), torch.ones(4), torch.arange(4).reshape(4, 1), 2)
    >>> (x @ weight.T + bias).argmax(1).tolist()
    [0, 0, 1, 1]
    """
    weights = (weights / weights.sum()).double()
    mean = weights.float() @ features
    spread = (weights.float() @ (features - mean).square()).sqrt()
    # Features that hardly ever change would be blown up to the size of those that tell classes apart.
    spread = spread.clamp(min=0.1 * float(spread.mean())).clamp(min=1e-6)
    targets = 2.0 * functional.one_hot(y, classes).double() - 1
    middle = weights @ targets
    root = (weights * len(weights)).sqrt().unsqueeze(1)
    rows, wanted = (features - mean) / spread * root.float(), (targets - middle) * root
    gram = (rows @ rows.T).double()
    unit = float(gram.diagonal().mean().clamp(min=1e-12))
    # A level that is learned: after means are taken off, those left out could be told from the sum of the others.
    gram += unit * root @ root.T
    least, chosen, scores = float("inf"), wanted, wanted
    for strength in _STRENGTHS:
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(gram + strength * unit * torch.eye(len(gram)).double()))
        solved = inverse @ wanted
        within = inverse[groups.unsqueeze(2), groups.unsqueeze(1)]
        residual = torch.empty_like(wanted)
        residual[groups] = torch.linalg.solve(within, solved[groups])
        error = float(residual.square().mean())
        if error < least:
            least, chosen, scores = error, solved, targets - residual / root.clamp(min=1e-12)
    losses = [
        float(weights @ functional.cross_entropy(temperature * scores, y, reduction="none"))
        for temperature in _TEMPERATURES
    ]
    temperature = _TEMPERATURES[losses.index(min(losses))]
    weight, level = (chosen.float().T @ rows) / spread, middle + unit * (root * chosen).sum(0)
    return temperature * weight, temperature * (level.float() - weight @ mean)
