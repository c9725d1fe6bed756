"""The kernel leaves off when Ctrl-C is pressed, and the interpreter may end while it is at work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch

from noisyrnn import NoisyRNN
from noisyrnn.rnn import native

pytestmark = pytest.mark.skipif(not native.available(), reason=native.status())


@pytest.fixture
def long() -> torch.Tensor:
    """A sequence that takes the kernel minutes."""
    return torch.zeros(100_000, 64, 1)


@pytest.fixture
def layer() -> NoisyRNN:
    return NoisyRNN(1, 128, additive=0.1)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_ctrl_c_ends_a_call_of_minutes(
    threads: str, long: torch.Tensor, layer: NoisyRNN, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISYRNN_THREADS", threads)
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, press)
    timer.start()
    with torch.no_grad(), pytest.raises(KeyboardInterrupt):
        layer(long)
    # Time of the processor, which does not depend on what else a machine does; two threads spend it twice as fast.
    assert time.process_time() - pressed[0] < 2
    timer.join()
    # The pool is as good as before.
    with torch.no_grad():
        assert layer(long[:3])[0].isfinite().all()


def test_ctrl_c_ends_a_backward_pass(layer: NoisyRNN) -> None:
    output, _ = layer(torch.zeros(500, 64, 1))
    # Once only: a second one would reach whatever test comes next.
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))

    def go_on() -> None:
        timer.start()
        while True:
            output.sum().backward(retain_graph=True)

    with pytest.raises(KeyboardInterrupt):
        go_on()
    timer.join()
    output.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layer.parameters())


def test_a_handler_that_raises_nothing_changes_nothing(layer: NoisyRNN) -> None:
    """Training notes the first Ctrl-C and finishes its batch."""
    x, seen = torch.randn(1_000, 64, 1), list[int]()
    layer.eval()
    with torch.no_grad():
        before, _ = layer(x)
        usual = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            after, _ = layer(x)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, usual)
    assert seen == [signal.SIGALRM]
    assert torch.equal(before, after)


_LEAVING = """
import threading, time, torch
from noisyrnn.rnn.native.kernel import module

kernel, steps = module(), 20_000
drive, h0, W, dt = torch.zeros(steps, 16, 64), torch.zeros(16, 64), torch.zeros(64, 64), torch.ones(64)
began = threading.Event()

def work():
    common, kept = kernel.Common(drive=drive, threads=2), kernel.Kept(last=h0.clone())
    began.set()
    kernel.tanh_forward(common, h0=h0, A=None, W=W, gate=None, dt=dt, noise=0, additive=0.0, multiplicative=0.0,
                        key=(1, 2, 3, 4), kept=kept)

class Slow:
    def __del__(self, now=time.perf_counter):
        began = now()
        while now() - began < 0.8:  # the interpreter is ending, and the kernel wants to come back to it
            pass

slow = Slow()
threading.Thread(target=work, daemon=True).start()
began.wait()
time.sleep(0.05)
"""


def test_the_interpreter_ends_quietly_while_the_kernel_is_at_work() -> None:
    done = subprocess.run([sys.executable, "-c", _LEAVING], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
