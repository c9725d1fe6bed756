"""Benchmark: ratios, verdicts and plain words are those of the measurements."""

import pytest

from noisyrnn.bench import Case, Limits, Machine, Measurement, figure, markdown, verdicts
from noisyrnn.bench.case import Model, varied
from noisyrnn.bench.spread import ratio


def measured(name, train, forward, memory=None, sgemm=1e11, **change):
    return Measurement(
        contender=name, case=varied(**change), train=train, forward=forward, memory=memory,
        limits=(Limits(peak=1.25e11, sgemm=sgemm),) * 3,
    )  # fmt: skip


FLOPS = Case().flops
FOUND = [
    measured("kernel", (0.2, 0.2, 0.2), (0.05,) * 3, memory=100),
    measured("plain loop", (1.0, 1.2, 0.9), (0.2,) * 3, memory=400),
    measured("jax.lax.scan", (0.6, 0.6, 0.6), (0.4,) * 3),
    measured("torch.nn.RNN", (0.1, 0.1, 0.1), (0.06,) * 3),
    measured("kernel", (FLOPS / 5e10,) * 3, (0.09,) * 3, sgemm=1e11, threads=1),
    measured("plain loop", (2 * FLOPS / 5e10,) * 3, (0.27,) * 3, threads=1),
    measured("torch.nn.RNN", (FLOPS / 6e10,) * 3, (0.07,) * 3, threads=1),
    measured("kernel", (0.01,) * 3, (0.002,) * 3, batch=1, model=Model.SILENT, threads=1),
    measured("plain loop", (0.1,) * 3, (0.03,) * 3, batch=1, model=Model.SILENT, threads=1),
    measured("kernel", (0.2 * 5000 / 784 * 1.2,) * 3, (0.4,) * 3, steps=5000),
]


def test_ratios_are_the_stated_ones():
    found = {name: value.middle for name, (value, _) in verdicts(FOUND).items()}
    assert found == pytest.approx(
        {
            "train, 1 thread": 2.0, "train, 2 threads": 5.0, "forward, 1 thread": 3.0, "forward, 2 threads": 4.0,
            "share": 0.5, "jax": 3.0, "products": 2 * 5 / 6, "memory": 0.25, "latency": 15.0, "linear": 1.2,
        }
    )  # fmt: skip


def test_ratios_are_taken_round_by_round():
    spread = verdicts(FOUND)["train, 2 threads"][0]
    assert (spread.least, spread.most) == pytest.approx((4.5, 6.0))
    # Both were slow in the second round: their ratio is not.
    assert ratio((2.0, 20.0, 2.0), (1.0, 10.0, 1.0)) == (2.0, 2.0, 2.0)


def test_the_share_is_that_of_the_same_round():
    # The machine was half as fast in the second round, for large products and for the kernel.
    fast, slow = Limits(peak=None, sgemm=1e11), Limits(peak=None, sgemm=5e10)
    time = FLOPS / 8e10
    one = Measurement(
        contender="kernel", case=Case(), train=(time, 2 * time, time), forward=(1.0,) * 3, limits=(fast, slow, fast)
    )
    assert one.share == pytest.approx((0.8, 0.8, 0.8))
    assert one.share_of_peak is None


def test_verdicts_follow_the_targets():
    met = {name: good for name, (_, good) in verdicts(FOUND).items()}
    assert met == {
        "train, 1 thread": False, "train, 2 threads": True, "forward, 1 thread": True, "forward, 2 threads": False,
        "share": False, "jax": False, "products": True, "memory": True, "latency": True, "linear": False,
    }  # fmt: skip


def test_a_processor_with_avx2_alone_has_targets_of_its_own():
    where = Machine(processor="x", cores=2, instructions="Native kernel on: avx2 instructions", torch="2", products="x",
                    load=0.0)  # fmt: skip
    met = {name: good for name, (_, good) in verdicts(FOUND, where).items()}
    assert met == {
        "train, 2 threads": True, "forward, 2 threads": False, "share, 2 threads": True,
        "memory": True, "linear": False,
    }  # fmt: skip
    text = markdown(FOUND, where)
    assert "target (machine with AVX2 alone)" in text
    assert "| forward pass, against the plain loop, 2 threads | at least 5.1 |  | 4.00 (4.00 to 4.00) | no |" in text


def test_table_and_figure_show_every_contender_and_the_machine(tmp_path):
    where = Machine(processor="A processor", cores=2, instructions="x", torch="2", products="some library", load=3.0)
    text = markdown(FOUND, where)
    for one in FOUND:
        assert one.contender in text
    assert "| plain loop | 5.00 (4.50 to 6.00) | 4.00 (4.00 to 4.00) |" in text
    for stated in ("A processor", "some library", "registers 125 GFLOP/s", "sgemm 100 GFLOP/s", "not idle"):
        assert stated in text
    figure(FOUND, tmp_path / "bench.svg")
    assert (tmp_path / "bench.svg").stat().st_size > 5000


def test_a_faster_peer_is_named_with_its_reason():
    of_peers = markdown(FOUND).partition("Where the plain loop")[0]
    assert [line for line in of_peers.splitlines() if line.startswith("- ")] == [
        "- T 784, hidden 128, batch 128, 2 threads: torch.nn.RNN takes training 0.50 of the kernel's time; it does "
        "half the matrix products and draws no noise.",
        "- T 784, hidden 128, batch 128, 1 thread: torch.nn.RNN takes training 0.83 and forward 0.78 of the kernel's "
        "time; it does half the matrix products and draws no noise.",
    ]


def test_building_k_is_a_part_of_the_step_and_no_peer():
    case = {"steps": 140, "batch": 32, "threads": 1, "model": Model.CERTIFIED}
    found = [measured("kernel", (4.0,), (1.0,), **case), measured("building K", (1.0,), (0.1,), **case)]
    assert verdicts(found) == {"certified, building": ((0.25, 0.25, 0.25), False)}
    assert "- nowhere" in markdown(found)


def test_without_the_kernel_there_are_no_verdicts():
    assert verdicts(FOUND[1:4]) == {}
    assert "did not run" in markdown(FOUND[1:4])


def test_a_plain_loop_that_beats_the_eager_route_is_named():
    slow = measured("eager", (2.0,) * 3, (0.25,) * 3)
    assert "plain loop is faster than what runs without the kernel:\n\n- nowhere" in markdown(FOUND)
    text = markdown([*FOUND, slow])
    line = next(line for line in text.splitlines() if "of the eager route's time" in line)
    assert "training 0.50 and forward 0.80" in line
    assert "The reason is the noise" in text
