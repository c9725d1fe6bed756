"""Benchmark: every contender runs, the same work is the same work, and denormals are flushed for all."""

import json
import subprocess
import sys

import pytest
import torch

from noisyrnn.bench import Case, bench
from noisyrnn.bench.case import BUILDING, KERNEL, Model, cases
from noisyrnn.bench.measure import measured
from noisyrnn.bench.peers import CONTENDERS, PlainLoop, present, without_kernel
from noisyrnn.models import NoisyRNN
from noisyrnn.rnn import native

TINY = Case(steps=3, hidden=4, batch=2, threads=1)


@pytest.mark.parametrize("name", [name for name in CONTENDERS if present(name)])
def test_contender_runs(name):
    if name == KERNEL and not native.available():
        pytest.skip(native.status())
    make = CONTENDERS[name][0](TINY.model_copy(update={"model": Model.CERTIFIED}) if name == BUILDING else TINY)
    make.forward()
    make.train()


@pytest.mark.parametrize("change", [{"model": Model.CORNN}, {"model": Model.EXPRNN}, {"double": True},
                                    {"model": Model.CERTIFIED}, {"model": Model.SILENT},
                                    {"bidirectional": True, "inputs": 3}])  # fmt: skip
def test_other_cases_run(change):
    found = measured(TINY.model_copy(update=change), ("eager", "plain loop"), 1, lambda line: None)
    assert [one.contender for one in found] == ["eager", "plain loop"]
    assert all(one.train[0] > 0 and one.forward[0] > 0 for one in found)


def test_a_case_is_measured_in_a_process_of_its_own_and_not_twice():
    seen, saved = [], []
    found = bench(
        chosen=[(TINY, ("plain loop",))],
        rounds=2,
        memory=False,
        progress=seen.append,
        save=lambda all: saved.append(all[:]),
    )
    (one,) = found
    assert len(one.train) == len(one.forward) == 2
    assert len(one.limits) == 2
    assert all(limit.sgemm > 1e8 for limit in one.limits)
    assert any("round 2 of 2" in line for line in seen)
    assert saved == [found]
    assert bench(chosen=[(TINY, ("plain loop",))], known=found, progress=pytest.fail) == found


def test_denormals_are_flushed_in_the_process_that_measures():
    code = (
        "import noisyrnn.bench.worker as w, torch\n"
        "w.measured = lambda *_: print((torch.tensor(1e-30) * torch.tensor(1e-10)).item()) or []\n"
        "w.main(__import__('sys').argv[1])"
    )
    order = json.dumps({"case": TINY.model_dump(), "names": [], "rounds": 1})
    told = subprocess.run([sys.executable, "-c", code, order], capture_output=True, text=True, check=True)
    assert float(told.stdout) == 0


def test_the_eager_contender_has_no_help_of_the_kernel(monkeypatch):
    work = without_kernel(TINY)
    monkeypatch.setattr(native.kernel, "module", lambda: pytest.fail("the kernel was called"))
    monkeypatch.setattr(native.noise, "module", lambda: pytest.fail("the kernel was called"))
    before = native.available()
    work.forward()
    assert native.available() == before


def test_cases_are_distinct():
    found = [case for case, _ in cases(full=True)]
    assert len(found) == len(set(found))


def test_plain_loop_is_the_same_network_as_ours():
    # The noise differs, so the means over many samples are compared.
    torch.manual_seed(0)
    plain, ours = PlainLoop(4), NoisyRNN(1, 4, additive=0.05, multiplicative=0.02)
    drift = ours.cells[0].sde.drift
    with torch.no_grad():
        drift.B.copy_(plain.B.T)
        drift.C.copy_(plain.C.T)
        drift.input.weight.copy_(plain.encoder.weight)
        drift.input.bias.copy_(plain.encoder.bias)
        x = torch.rand(6, 20_000, 1)
        one, two = plain(x)[1].mean(0), ours(x)[1][0].mean(0)
        # Means over 20,000 samples of a noise with deviation 0.05 sqrt(6): 5 standard errors.
        assert torch.allclose(one, two, atol=5 * 0.05 * 6**0.5 * (2 / 20_000) ** 0.5)


def test_flops_are_those_of_two_products_three_times():
    assert Case().flops == pytest.approx(19.7e9, rel=0.01)
