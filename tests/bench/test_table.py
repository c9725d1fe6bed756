"""Benchmark: ratios and verdicts are computed as stated, and every contender runs."""

import pytest
import torch

from noisyrnn.bench import Case, Measurement, bench, figure, markdown, verdicts
from noisyrnn.bench.peers import CONTENDERS, PlainLoop, Problem, present
from noisyrnn.models import NoisyRNN
from noisyrnn.rnn import native


def measured(name, train, forward, memory=None, sgemm=1e11, **change):
    return Measurement(
        contender=name, case=Case(**change), train=train, forward=forward, memory=memory, sgemm=sgemm,
        share=0.7 if name == "kernel" else None,
    )  # fmt: skip


FOUND = [
    measured("kernel", 0.2, 0.05, memory=100),
    measured("plain loop", 1.0, 0.2, memory=400),
    measured("jax.lax.scan", 0.6, 0.4),
    measured("kernel", 0.36, 0.09, sgemm=6e10, threads=1),
    measured("kernel", 0.01, 0.002, batch=1),
    measured("plain loop", 0.1, 0.03, batch=1),
    measured("kernel", 0.2 * 5000 / 784 * 1.2, 0.4, steps=5000),
]


def test_ratios_are_the_stated_ones():
    found = {name: value for name, (value, _) in verdicts(FOUND).items()}
    assert found == pytest.approx(
        {
            "train": 5.0, "forward": 4.0, "jax": 3.0, "share": 0.7, "memory": 0.25,
            "threads": (0.36 / 0.2) / (1e11 / 6e10), "latency": 15.0, "linear": 1.2,
        }
    )  # fmt: skip


def test_verdicts_follow_the_targets():
    met = {name: good for name, (_, good) in verdicts(FOUND).items()}
    assert met == {
        "train": True, "forward": False, "jax": True, "share": True, "memory": True, "threads": True,
        "latency": True, "linear": False,
    }  # fmt: skip


def test_table_and_figure_show_every_contender(tmp_path):
    text = markdown(FOUND)
    for one in FOUND:
        assert one.contender in text
    assert "| plain loop | 5.00 | 4.00 |" in text
    figure(FOUND, tmp_path / "bench.svg")
    assert "plain loop" in (tmp_path / "bench.svg").read_text() or (tmp_path / "bench.svg").stat().st_size > 5000


@pytest.mark.parametrize("name", [name for name in CONTENDERS if present(name)])
def test_contender_runs(name):
    if name == "kernel" and not native.available():
        pytest.skip(native.status())
    (one,) = bench(chosen=[(Case(steps=3, hidden=4, batch=2, threads=1), [name])], rounds=1, memory=False)
    assert one.forward > 0
    assert one.train > 0


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
    assert Problem(784, 128, 128).flops == pytest.approx(19.7e9, rel=0.01)
