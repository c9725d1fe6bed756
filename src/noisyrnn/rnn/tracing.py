"""Whether torch is looking: compiling, exporting, tracing, or transforming the program that runs."""

from __future__ import annotations

import torch


def traced() -> bool:
    """Whether operations go through torch's dispatcher for a purpose, so that none may be hidden from it.

    True under ``torch.compile``, ``torch.export``, ``torch.jit.trace``, the transforms of ``torch.func`` and dispatch
    modes such as that of fake tensors.

    >>> traced()
    False
    """
    return (
        torch.compiler.is_compiling()
        or torch.jit.is_tracing()
        or torch._C._len_torch_dispatch_stack() > 0
        or transformed()
    )


def transformed() -> bool:
    """Whether a transform of ``torch.func`` is at work.

    >>> torch.func.grad(lambda x: x * (2 if transformed() else 1))(torch.tensor(1.0))
    tensor(2.)
    """
    return not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None
