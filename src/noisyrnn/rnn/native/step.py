"""One step after the other with the weights packed once: for streams, where a call must not cost more than its work."""

from __future__ import annotations

import torch
from torch import Tensor

from noisyrnn.rnn.native.kernel import module
from noisyrnn.rnn.native.noise import numbers
from noisyrnn.rnn.native.sequence import Noise


class TanhStep:
    """h' = h + dt (A h + tanh(W h + U x + b)) + noise, for h (batch, units) and x (batch, inputs).

    Weights are copied when it is made; ``fresh`` says whether the tensors still hold what was copied.
    """

    def __init__(
        self, batch: int, A: Tensor | None, W: Tensor, U: Tensor, b: Tensor | None, dt: Tensor, noise: Noise
    ) -> None:
        self.tensors = [tensor for tensor in (A, W, U, b, dt) if tensor is not None]
        self.versions = [tensor._version for tensor in self.tensors]
        units, inputs = U.shape
        self.shapes = (torch.Size((batch, inputs)), torch.Size((batch, units)))
        self.dtype = W.dtype
        self.stream = module().TanhStream(
            batch=batch, A=_plain(A), W=_plain(W), U=_plain(U), b=_plain(b), dt=_plain(dt.reshape(-1).expand(units)),
            noise=noise.kind, additive=noise.additive, multiplicative=noise.multiplicative, key=numbers(noise.key),
        )  # fmt: skip

    def fresh(self) -> bool:
        return all(t._version == version for t, version in zip(self.tensors, self.versions, strict=True))

    def fits(self, x: Tensor, h: Tensor) -> bool:
        """Whether these can be read as they are."""
        return (
            (x.shape, h.shape) == self.shapes
            and x.dtype == h.dtype == self.dtype
            and x.is_cpu
            and h.is_cpu
            and x.is_contiguous()
            and h.is_contiguous()
        )

    def __call__(self, x: Tensor, h: Tensor, number: int) -> Tensor:
        """The next state, with the noise of the step of that number; what is given has to fit."""
        after = torch.empty_like(h)
        self.stream.step(x.data_ptr(), h.data_ptr(), after.data_ptr(), number)
        return after


def _plain(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.detach().contiguous()
