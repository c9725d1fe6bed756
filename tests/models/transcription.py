"""A layer beside a plain transcription of its paper's equation."""

import torch

from noisyrnn.models import Initialisation
from noisyrnn.sde import Key

T, B, N, M = 9, 4, 6, 2
F = torch.float64
WIDE = {"initialisation": Initialisation.PRINTED, "init_scale": 2.0, "dtype": F}


def assert_agree(layer, transcription, x, arity=1):
    """Values and gradients of all parameters and inputs agree with plain tensors."""
    x = x.clone().requires_grad_()
    output, h_n = layer(x, key=Key(value=6) if layer.training else None)
    last = h_n if arity == 1 else h_n[0]
    inputs = [x, *layer.parameters()]
    scale = torch.linspace(-1, 1, output.numel(), dtype=F).reshape(output.shape)
    ours = torch.autograd.grad((output * scale).sum() + last.sum(), inputs, allow_unused=True)
    plain = transcription(x)
    assert torch.allclose(output, plain, atol=1e-6, rtol=0)
    theirs = torch.autograd.grad((plain * scale).sum() + plain[-1].sum(), inputs, allow_unused=True)
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine is None) == (other is None)
        assert mine is None or torch.allclose(mine, other, atol=1e-6, rtol=1e-6)


def sequence():
    return torch.randn(T, B, M, dtype=F, generator=torch.Generator().manual_seed(0))
