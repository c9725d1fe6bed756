"""The kernel's noise is that of the contract, on every instruction set and in a forked process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from loops import KEY, dtypes, needs_kernel

from noisyrnn.rnn import native
from noisyrnn.rnn.native.kernel import module
from noisyrnn.sde import brownian
from noisyrnn.sde.brownian import Key

pytestmark = needs_kernel


@dtypes
@pytest.mark.parametrize("units", [1, 7, 16, 127, 129])
@pytest.mark.parametrize("samples", [0, 3, 1000])
@pytest.mark.parametrize("law", ["gaussian", "uniform"])
def test_noise_is_that_of_the_contract(dtype: torch.dtype, units: int, samples: int, law: str) -> None:
    define = brownian.draw if law == "gaussian" else brownian.uniform
    fill = native.gaussian if law == "gaussian" else native.uniform
    steps = 2 if samples > 100 else 5
    found, expected = fill(KEY, samples, steps, units, dtype), define(KEY, samples, steps, units, dtype=dtype)
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12 if dtype == torch.float64 else 3e-6)


@dtypes
@pytest.mark.parametrize("channel", list(brownian.Channel)[:3])
def test_the_baseline_gives_the_same_numbers(dtype: torch.dtype, channel: int) -> None:
    here, plain = torch.empty(4, 5, 37, dtype=dtype), torch.empty(4, 5, 37, dtype=dtype)
    module().fill(here, (1, 2, 3, 4), channel, 1)
    with native.instructions("baseline"):
        module().fill(plain, (1, 2, 3, 4), channel, 1)
    torch.testing.assert_close(here, plain, rtol=0, atol=1e-13 if dtype == torch.float64 else 2e-6)


def test_an_instruction_set_can_be_chosen_by_its_name() -> None:
    here = module().instruction_set()
    for name in native.instruction_sets():
        with native.instructions(name):
            assert f"{name} instructions" in native.status()
        assert module().instruction_set() == here
    with pytest.raises(ValueError, match="cannot run sse9"), native.instructions("sse9"):
        pass


@pytest.mark.parametrize("name", [*native.instruction_sets(), "sse9"])
def test_the_environment_chooses_an_instruction_set(name: str) -> None:
    command = "from noisyrnn.rnn import native; print(native.status())"
    environment = {**os.environ, "NOISYRNN_INSTRUCTIONS": name}
    said = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True)
    if name == "sse9":
        assert "NOISYRNN_INSTRUCTIONS must be one of" in said.stderr
    else:
        assert f"{name} instructions" in said.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_its_own_threads() -> None:
    expected = native.gaussian(Key(value=1), 64, 3, 20)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        found = native.gaussian(Key(value=1), 64, 3, 20)
        os.write(write, b"1" if torch.equal(found, expected) else b"0")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert os.read(read, 1) == b"1"


def test_denormals_are_flushed_only_inside() -> None:
    tiny = torch.tensor([1e-40])
    native.gaussian(Key(value=1), 64, 3, 20)
    assert float(tiny * 0.5) != 0
