"""What the kernel cannot take is refused in one sentence, twice: in Python, and by the module itself."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from loops import needs_kernel

from noisyrnn import NoisyRNN
from noisyrnn.rnn import native
from noisyrnn.rnn.native.kernel import module
from noisyrnn.sde import Convention, NoiseLaw
from noisyrnn.sde.brownian import Key

pytestmark = needs_kernel

BAD: dict[str, dict[str, Any]] = {
    "dtype": {"sequence": torch.zeros(3, 2, 1)},
    "half": {"h0": torch.zeros(2, 4, dtype=torch.float16)},
    "device": {"W": torch.zeros(4, 4, dtype=torch.float64, device="meta")},
    "sparse": {"W": torch.eye(4, dtype=torch.float64).to_sparse()},
    "W": {"W": torch.zeros(4, 5, dtype=torch.float64)},
    "A": {"A": torch.zeros(5, 4, dtype=torch.float64)},
    "U": {"U": torch.zeros(4, 2, dtype=torch.float64)},
    "b": {"b": torch.zeros(5, dtype=torch.float64)},
    "b alone": {"U": None, "sequence": torch.zeros(3, 2, 4, dtype=torch.float64)},
    "h0": {"h0": torch.zeros(3, 4, dtype=torch.float64)},
    "h0 axes": {"h0": torch.zeros(4, dtype=torch.float64)},
    "sequence": {"sequence": torch.zeros(3, 2, dtype=torch.float64)},
    "dt": {"dt": torch.zeros(3, dtype=torch.float64)},
    "dt both": {"dt": torch.zeros(3, 1, 4, dtype=torch.float64)},
    "dt dtype": {"dt": torch.zeros(4)},
    "lengths dtype": {"lengths": torch.ones(2)},
    "lengths shape": {"lengths": torch.ones(3, dtype=torch.int64)},
    "lengths long": {"lengths": torch.tensor([1, 4])},
    "lengths negative": {"lengths": torch.tensor([-1, 2])},
    "chunk": {"chunk": 0},
    "key": {"noise": NoiseLaw(convention=Convention.ITO)},
    "counter": {"noise": NoiseLaw(convention=Convention.ITO, additive=1.0), "key": Key(value=0, step=2**32 - 1)},
    "gate": {"gate": torch.zeros(3, 2, 4, dtype=torch.float64)},
    "gate shape": {"gate": torch.zeros(3, 2, 5, dtype=torch.float64), "A": None},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused(change: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {
        "sequence": torch.zeros(3, 2, 1, dtype=torch.float64),
        "h0": torch.zeros(2, 4, dtype=torch.float64),
        "A": torch.zeros(4, 4, dtype=torch.float64),
        "W": torch.zeros(4, 4, dtype=torch.float64),
        "U": torch.zeros(4, 1, dtype=torch.float64),
        "b": torch.zeros(4, dtype=torch.float64),
        "dt": 0.1,
    }
    native.tanh_scan(**arguments)
    with pytest.raises(ValueError, match=r"\.$"):
        native.tanh_scan(**{**arguments, **change})


def test_the_module_itself_refuses_what_it_cannot_read() -> None:
    good = torch.zeros(3, 2, 4)
    misaligned = torch.frombuffer(bytearray(100), dtype=torch.uint8)[1:97].numpy().view("f4").reshape(3, 2, 4)
    for out in (
        good.transpose(0, 1),
        good[:, :, ::2],
        good.half(),
        good[0],
        misaligned,
        good.expand(3, 2, 4)[:, :1],
    ):
        with pytest.raises(ValueError, match=r"\.$"):
            module().fill(out, (0, 0, 0, 0), 0, 1)
    with pytest.raises(ValueError, match="threads"):
        module().fill(good, (0, 0, 0, 0), 0, 0)
    with pytest.raises(ValueError, match="memory"):
        module().empty([2**62, 2**62], False)


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "on" in native.status()
    monkeypatch.setenv("NOISYRNN_NATIVE", "0")
    assert not native.available()
    assert "NOISYRNN_NATIVE=0" in native.status()
    with pytest.raises(RuntimeError, match="NOISYRNN_NATIVE"):
        native.gaussian(Key(value=1), 1, 1, 1)


def test_an_empty_batch_may_have_any_strides() -> None:
    layer = NoisyRNN(1, 8)
    x = torch.randn(5, 6, 2)[:, :0, ::2].requires_grad_()
    layer(x)[0].sum().backward()
    assert x.grad is not None
    assert x.grad.shape == (5, 0, 1)


@pytest.mark.parametrize("threads", ["0", "-1", "two", "1025", "9" * 30, "\u0663"])
def test_a_senseless_number_of_threads_is_one_sentence(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOISYRNN_THREADS", threads)
    with pytest.raises(ValueError, match="NOISYRNN_THREADS must be a whole number from 1 to 1024"):
        native.kernel.threads()
