"""Studies: networks are found by name, and what a question measures is right on networks and images made up here."""

from __future__ import annotations

import json
import re
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import attack_ablation
import attack_peers
import attack_strength
import certified_soundness
import command
import curvature
import fgsm_readings
import networks
import pytest
import readings
import salt_pepper_readings
import shortened_steps
import smoothed_certificates
import torch
import white_noise_readings
import wide_tables

from noisyrnn.attack import APGD, FGSM, PGD, Schedule, excess, standard
from noisyrnn.data import Split
from noisyrnn.models import Noisy
from noisyrnn.randomness import stream
from noisyrnn.theory import gain_certificate
from noisyrnn.theory.margin.certified_gain import GainCertificate

STUDIES = Path(__file__).parents[2] / "studies"
SCRIPTS = sorted(path.stem for path in STUDIES.glob("*.json") if path.with_suffix(".py").exists())


@pytest.fixture
def images() -> Split:
    generator = torch.Generator().manual_seed(0)
    return Split(x=torch.rand(12, 9, 1, generator=generator), y=torch.arange(12) % 3)


@pytest.fixture
def network() -> torch.nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return Noisy(hidden=5, multiplicative=0.2, additive=0.1).build(1, 3).eval()


def test_published_networks_are_found_and_an_unknown_one_is_answered() -> None:
    name = "ecg/noisy-0.03-0.06-100-epochs-seed-0"
    assert name in networks.names("ecg")
    assert (networks.run_of(name).model.kind, networks.run_of(name).train.epochs) == ("noisy", 100)
    assert not networks.network(name).training
    with pytest.raises(SystemExit, match="has no network 'ecg/no-such-one'; choose one below"):
        networks.network("ecg/no-such-one")


def test_every_network_in_an_answer_is_published() -> None:
    known = set(networks.names(""))
    answers = "".join(path.read_text() for path in STUDIES.glob("*.json"))
    named = set(re.findall(r'[ "]([a-z-]+/[^" ]+-seed-0)"', answers))
    assert len(named) > 10
    assert named <= known


def test_the_papers_row_is_that_of_the_networks_model() -> None:
    row = readings.papers_row("ordered-mnist/noisy-0.02-0.02-30-epochs-seed-0", "table-1")
    assert row["white:0.3"] == 62.9
    with pytest.raises(SystemExit, match="has no row for permuted-mnist"):
        readings.papers_row("permuted-mnist/lipschitz-20-epochs-seed-0", "table-3")


def test_fgsm_readings_move_pixels_as_they_say(network: torch.nn.Module, images: Split) -> None:
    gradient = torch.tensor([2.0, -1.0, 0.5]).view(1, 3, 1)
    x = torch.tensor([0.0, 0.05, 0.99]).view(1, 3, 1)
    moved = {name: step(x, gradient, 0.1).flatten().tolist() for name, step in fgsm_readings.STEPS.items()}
    assert moved["clipped to [0, 1]"] == pytest.approx([0.1, 0.0, 1.0])
    assert moved["only where there is ink"] == pytest.approx([0.0, -0.05, 1.09])
    assert moved["g / max|g|"] == pytest.approx([0.1, 0.0, 1.015])
    found = fgsm_readings.measured(network, images, {"other": network})
    # An attack with its own gradient is an attack with that of the same network under another name.
    assert found["g of other"] == found["x + r sign(g)"]
    assert all(0 <= value <= 100 for row in found.values() for value in row.values())


def test_white_noise_readings_have_the_law_that_they_name() -> None:
    x, u = torch.zeros(10_000), torch.rand(10_000, generator=torch.Generator().manual_seed(0))
    xi = torch.randn(10_000, generator=torch.Generator().manual_seed(1))
    drawn = {name: reading(x, xi, u, 0.3) for name, reading in white_noise_readings.READINGS.items()}
    assert float(drawn["uniform in [0, sigma]"].mean()) == pytest.approx(0.15, abs=0.01)
    assert float(drawn["uniform in [-sigma, sigma]"].mean()) == pytest.approx(0.0, abs=0.01)
    assert float(drawn["as printed"].std()) == pytest.approx(0.3, abs=0.01)
    assert float(drawn["clipped to [0, 1]"].min()) == 0.0


def test_salt_and_pepper_readings_hit_the_share_that_they_name() -> None:
    x, u = torch.full((10_000,), 0.5), torch.rand(10_000, generator=torch.Generator().manual_seed(0))
    hit = {name: reading(x, u, 0.1) for name, reading in salt_pepper_readings.READINGS.items()}
    shares = {name: (float((one == 1).float().mean()), float((one <= 0).float().mean())) for name, one in hit.items()}
    assert shares["as printed"] == pytest.approx((0.05, 0.05), abs=0.01)
    assert shares["alpha each"] == pytest.approx((0.1, 0.1), abs=0.01)
    assert shares["salt only"] == pytest.approx((0.1, 0.0), abs=0.01)
    assert float(hit["pepper is -1"].min()) == -1.0


def test_wide_tables_are_read_whole_by_both_readers(monkeypatch) -> None:
    monkeypatch.setattr(wide_tables, "COLUMNS", (50,))
    (found,) = wide_tables.measured(cells=5000, rounds=1)["files"]
    assert (found["columns"], found["rows"]) == (50, 100)
    assert all(found[reader]["seconds"] > 0 and found[reader]["megabytes"] > 10 for reader in ("noisyrnn", "pyarrow"))
    monkeypatch.setitem(wide_tables.READERS, "noisyrnn", "import numpy; x = numpy.zeros((3, 50))")
    with pytest.raises(SystemExit, match="noisyrnn reads another shape"):
        wide_tables.measured(cells=5000, rounds=1)


def test_shortened_steps_leave_the_network_as_it_was(network: torch.nn.Module, images: Split) -> None:
    before = {name: weight.clone() for name, weight in network.state_dict().items()}
    found = shortened_steps.shortened(network, 0.2, images)
    assert list(found) == ["1.000", "0.950", "0.900", "0.850"]
    assert all(torch.equal(weight, before[name]) for name, weight in network.state_dict().items())


def test_certified_accuracy_falls_with_the_radius(network: torch.nn.Module, images: Split) -> None:
    found = list(smoothed_certificates.certified(network, images, 0.1, draws=100).values())
    assert found == sorted(found, reverse=True)


def test_a_certificate_beyond_an_attack_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    network, x = certified_soundness.random_network(1)
    honest = certified_soundness.tried(network, x[:4], "honest")
    assert (honest["pairs"], honest["attacked"], honest["violations"]) == (4, 4, 0)

    def boastful(*given: object) -> GainCertificate:
        found = gain_certificate(*given)
        return replace(found, radius=100 * found.radius)

    monkeypatch.setattr(certified_soundness, "gain_certificate", boastful)
    assert certified_soundness.tried(network, x[:4], "boastful")["violations"] == 4


def test_climbs_of_the_ablation_are_the_librarys_attacks(network: torch.nn.Module, images: Split) -> None:
    start = 0.4 * (2 * torch.rand(images.x.shape, generator=stream("attack ablation"), dtype=torch.float64) - 1)
    for climb, attack in (
        (attack_ablation.PGD, PGD(radius=0.4, steps=12)),
        (attack_ablation.CLIMBS["PGD, step 2 r to 0"], PGD(radius=0.4, steps=12, schedule=Schedule.FALLING)),
        (attack_ablation.APGD, APGD(radius=0.4, steps=12)),
    ):
        found = attack_ablation.reached(network, images, climb, 0.4, steps=12)
        case = attack._case(network, images.x, images.y, None, None)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(attack), "_starts", lambda *_: [images.x + start.to(images.x.dtype)])
            own = excess(network(attack._worked(case)), images.y).detach()
        # An attack also looks at the sample itself, and leaves it alone if it is wrong already.
        clean = excess(network(images.x), images.y).detach()
        standing = clean <= 0 if attack.kind == "apgd" else clean <= torch.inf
        assert int(standing.sum()) >= 3
        torch.testing.assert_close(own[standing], torch.maximum(found, clean)[standing], atol=1e-4, rtol=0)


def test_strengths_are_those_of_attacks_at_a_radius(network: torch.nn.Module, images: Split) -> None:
    right = Split(x=images.x, y=network(images.x).argmax(1))
    assert attack_strength.left(network, right, FGSM(radius=0.0)) == {"accuracy": 100.0}
    told = attack_strength.left(network, right, standard(9.0, steps=3, queries=5))
    assert told["apgd"] == 12 - told["clean"] - told["square"] - told["apgd dlr 3 targets"] - told["accuracy"] * 0.12
    assert {attack.level for attack in attack_strength.ATTACKS.values()} == {0.0}


class Line(torch.nn.Module):
    """Two classes by the sign of a sequence's mean less 0.6; an attack moves the mean by its radius, and no further."""

    def __init__(self) -> None:
        super().__init__()
        self.signs = torch.nn.Parameter(torch.tensor([1.0, -1.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.mean(1) - 0.6) * self.signs


def test_attacks_of_others_leave_what_is_further_than_the_radius(images: Split) -> None:
    pytest.importorskip("art")
    network = Line()
    right = Split(x=images.x, y=network(images.x).argmax(1))
    distance = (images.x.mean(1) - 0.6).abs()
    radius = float(distance.sort(0).values[5:7].mean())
    assert attack_peers.left(network, right, radius) == dict.fromkeys(("PGD", "ART", "transcription", "union"), 50.0)
    assert attack_peers.radius_of("permuted-mnist/noisy-0.02-0.05-raw-20-epochs-seed-0") == pytest.approx(2.55)


def test_the_union_leaves_no_more_than_another_attack_on_any_published_network() -> None:
    found = json.loads((STUDIES / "attack_peers.json").read_text())["found"]
    assert len(found) > 10
    for name, one in found.items():
        assert one["union"] <= 1 + min(one["PGD"], one["ART"], one["transcription"]), name


def test_groups_of_samples_are_disjoint_and_the_same_again() -> None:
    train = Split(x=torch.arange(50.0).view(50, 1, 1), y=torch.zeros(50, dtype=torch.long))
    groups = curvature.groups(train, samples=40, group=10)
    assert len({float(value) for group in groups for value in group.x.flatten()}) == 40
    assert torch.equal(groups[0].x, curvature.groups(train, samples=40, group=10)[0].x)


def test_what_was_found_with_the_same_settings_is_kept(tmp_path: Path) -> None:
    path, about = tmp_path / "found.json", {"samples": 5}
    assert command.kept(path, about) == {}
    command.keep(path, {"about": about, "found": {"a": [1.0]}})
    assert command.kept(path, about) == {"a": [1.0]}
    assert command.kept(path, {"samples": 6}) == {}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_say_what_they_do_and_take_networks(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(STUDIES / f"{name}.py"), run_name="__main__")
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert f"python studies/{name}.py" in said
    assert "--out" in said
    if "import arguments" in (STUDIES / f"{name}.py").read_text():
        assert "networks" in said


def test_a_script_writes_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "scales.json"
    monkeypatch.setattr(sys, "argv", ["pixel_scales", "--out", str(out)])
    runpy.run_path(str(STUDIES / "pixel_scales.py"), run_name="__main__")
    assert json.loads(out.read_text()) == json.loads((STUDIES / "pixel_scales.json").read_text())
