"""Four files from rows: whole, atomic, escaped, quick."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from noisyrnn.report import report
from noisyrnn.report.claims import CONFIDENCE
from noisyrnn.report.figures import STYLES, figures
from noisyrnn.report.paper import TABLES, TASKS
from noisyrnn.report.tables import runs

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>|`*_$\\frac{1}{2}${{ 7 * 7 }}&amp;\n=1+1'

TASK = {task.name: task for task in TASKS}


class Tags(HTMLParser):
    """Names and attributes of all elements, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def whole(synthetic, tmp_path: Path) -> Path:
    records = [*synthetic.tables(["table-3"]), *synthetic.curves("figure-2", [0.2, 0.6, 1.0])]
    records += [synthetic.record(experiment="demo", model="lstm", measure="white", level=level) for level in (0.1, 0.2)]
    synthetic.write(tmp_path / "rows" / "rows.jsonl", records)
    return tmp_path / "rows"


def test_page_shows_ours_beside_the_papers(whole: Path, tmp_path: Path) -> None:
    paths = report(whole, tmp_path / "out")
    page = Tags(paths.html.read_text(encoding="utf-8"))
    content = json.loads(paths.json.read_text(encoding="utf-8"))
    [one] = [
        cell
        for cell in content["tables"]
        if (cell["table"], cell["model"], cell["measure"], cell["level"]) == ("table-3", "cornn", "white", 0.8)
    ]
    assert (one["paper"], one["seeds"], one["protocol"], one["epochs"]) == (92.9, 10, "paper", "100")
    assert one["difference"] == pytest.approx(one["mean"] - 92.9)
    assert f"{one['mean']:.1f}" in page.text
    assert "Table 3" in page.text
    assert "Not run" in page.text
    assert content["not run"] == ["table-1", "table-2", "table-5", "figure-1", "figure-4"]
    assert len(content["claims"]) == sum(content["counts"].values())
    assert CONFIDENCE == 0.95


def test_csv_has_one_line_a_cell(whole: Path, tmp_path: Path) -> None:
    paths = report(whole, tmp_path / "out")
    with paths.csv.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    content = json.loads(paths.json.read_text(encoding="utf-8"))
    assert len(lines) == len(content["tables"])
    assert {line["status"] for line in lines if line["table"] == "table-1"} == {"not run"}
    assert all(float(line["mean"]) > 0 for line in lines if line["status"] == "run")


def test_page_is_self_contained_and_accessible(whole: Path, tmp_path: Path) -> None:
    content = report(whole, tmp_path / "out").html.read_text(encoding="utf-8")
    page = Tags(content)
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "img", "iframe", "object", "embed"}
    links = [
        value
        for _, attributes in page.tags
        for key, value in attributes.items()
        if key in ("href", "src", "xlink:href")
    ]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"@import|url\((?!#)", content)
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    drawings = [attributes for tag, attributes in page.tags if tag == "svg" and attributes.get("role") == "img"]
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert drawings
    assert all(part in ids for drawing in drawings for part in drawing["aria-labelledby"].split())
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)


def test_hostile_names_stay_text(synthetic, tmp_path: Path) -> None:
    hostile = {"model": HOSTILE, "host": HOSTILE, "data": HOSTILE, "version": HOSTILE}
    records = [
        synthetic.record(**hostile, experiment=experiment, seed=seed, measure=measure, level=level, protocol=protocol)
        for experiment in ("table-3", HOSTILE)
        for protocol in ("paper", HOSTILE)
        for seed in range(2)
        for measure, level in (("white", 0.4), ("white", 0.8), (HOSTILE, 0.1), (HOSTILE, 0.2))
    ]
    records += [synthetic.record(model="=cmd()")]
    synthetic.write(tmp_path / "rows" / "rows.jsonl", records)
    paths = report(tmp_path / "rows", tmp_path / "out")
    page = Tags(paths.html.read_text(encoding="utf-8"))
    assert not {tag for tag, _ in page.tags} & {"script", "img"}
    assert not [key for _, attributes in page.tags for key in attributes if key.startswith("on")]
    assert '<script>alert("x")</script>' in page.text
    assert "{{ 7 * 7 }}" in page.text
    text = paths.markdown.read_text(encoding="utf-8")
    assert "<script>" not in text.replace("\\<", "")
    tables = [line for line in text.splitlines() if line.startswith("|")]
    # Every escaped bar is inside a cell, so the number of cells is even within each table.
    assert all(len(re.findall(r"(?<!\\)\|", line)) > 5 for line in tables)
    with paths.csv.open(encoding="utf-8", newline="") as stream:
        models = {line["model"] for line in csv.DictReader(stream)}
    assert {HOSTILE, "'=cmd()"} <= models


def test_same_rows_make_the_same_files(whole: Path, tmp_path: Path) -> None:
    first, second = report(whole, tmp_path / "one"), report(whole, tmp_path / "two")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_torn_lines_and_duplicates_are_told(synthetic, whole: Path, tmp_path: Path) -> None:
    with (whole / "rows.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(synthetic.record(model="lipschitz", value=1.0)) + '\n{"experiment": "tab')
    paths = report(whole, tmp_path / "out")
    source = json.loads(paths.json.read_text(encoding="utf-8"))["provenance"]
    assert (source["torn"], source["duplicates"], source["conflicts"]) == (1, 1, 1)
    assert source["superseded"] == 0
    assert "1 torn line, 1 duplicate" in Tags(paths.html.read_text(encoding="utf-8")).text


def test_only_another_run_supersedes(synthetic, tmp_path: Path) -> None:
    shared = [synthetic.record(experiment=name, key="shared") for name in ("table-3", "figure-2")]
    for records, count in ((shared, 0), ([*shared, synthetic.record(key="again")], 1)):
        synthetic.write(tmp_path / "rows.jsonl", records)
        content = json.loads(report(tmp_path, tmp_path / "out").json.read_text(encoding="utf-8"))
        assert content["provenance"]["superseded"] == count


def test_page_without_the_papers_tasks_leaves_the_verdicts_out(synthetic, tmp_path: Path) -> None:
    records = [synthetic.record(experiment="demo", measure="white", level=level) for level in (0.0, 0.1)]
    synthetic.write(tmp_path / "rows.jsonl", records)
    text = Tags(report(tmp_path, tmp_path / "out").html.read_text(encoding="utf-8")).text
    assert "Handwritten digits" in text
    assert "does not hold" not in text.partition("How to read")[0]


def test_searches_are_folded_and_not_drawn(synthetic, tmp_path: Path) -> None:
    records = [
        synthetic.record(experiment="baseline-search", data="ecg5000 validation", measure="white", level=level)
        for level in (0.0, 0.8)
    ]
    synthetic.write(tmp_path / "rows.jsonl", records)
    page = Tags(report(tmp_path, tmp_path / "out").html.read_text(encoding="utf-8"))
    assert "Measured on validation samples" in page.text
    assert "All settings that were tried" in page.text
    assert not [tag for tag, attributes in page.tags if tag == "svg" and attributes.get("role") == "img"]


def test_readings_stand_beside_the_numbers_that_they_read(synthetic, tmp_path: Path) -> None:
    synthetic.write(
        tmp_path / "rows.jsonl",
        [synthetic.record(experiment="table-1-readings", model="lipschitz", measure="uniform", level=0.3, value=50.0)],
    )
    text = report(tmp_path, tmp_path / "out").markdown.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("| Lipschitz RNN") and "50.0" in line)
    assert str(TABLES["table-1"].number("lipschitz", ("white", 0.3))) in line


def test_cells_of_fewer_seeds_than_their_line_say_so(synthetic, tmp_path: Path) -> None:
    records = [synthetic.record(seed=seed) for seed in (0, 1)] + [synthetic.record(measure="white", level=0.4)]
    synthetic.write(tmp_path / "rows.jsonl", records)
    paths = report(tmp_path, tmp_path / "out")
    assert paths.markdown.read_text(encoding="utf-8").count("1 of 2 seeds") == 1
    assert paths.html.read_text(encoding="utf-8").count("1 of 2 seeds") == 1


def test_variant_is_shown_only_when_run(synthetic, whole: Path, tmp_path: Path) -> None:
    assert "0 to 255" not in report(whole, tmp_path / "out").html.read_text(encoding="utf-8")
    synthetic.write(whole / "raw" / "rows.jsonl", [synthetic.record(experiment="table-5-raw")])
    assert "0 to 255" in report(whole, tmp_path / "out").html.read_text(encoding="utf-8")


def test_unwritable_place_is_one_sentence(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(OSError, match=r"^The report cannot be written to .*; name another directory\.$"):
        report(whole, tmp_path / "file" / "out")


def test_full_disk_leaves_earlier_files_and_no_draft(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = report(whole, tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        report(whole, tmp_path / "out")
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert set(before) == set(paths)


def test_broken_rows_leave_earlier_files(whole: Path, tmp_path: Path) -> None:
    paths = report(whole, tmp_path / "out")
    before = [path.read_bytes() for path in paths]
    (whole / "rows.jsonl").write_text("no row\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 1 is no row"):
        report(whole, tmp_path / "out")
    assert [path.read_bytes() for path in paths] == before


def test_figures_have_bands_of_one_deviation_and_begin_clean(synthetic) -> None:
    rows = [synthetic.row(seed=seed, value=97.0 + seed) for seed in range(3)]
    rows += [synthetic.row(seed=seed, measure="white", level=0.4, value=90.0 + 2 * seed) for seed in range(3)]
    task = TASK["ecg"]
    [figure] = figures(task.figure, "", runs(rows, task.experiments), task)
    [curve] = figure.panels[0].curves
    assert (curve.levels, curve.means, curve.deviations) == ((0.0, 0.4), (98.0, 92.0), (1.0, 2.0))
    assert curve.printed == ((0.0, 97.7), (0.4, 97.4))


def test_the_longest_training_is_drawn(synthetic) -> None:
    levels = (0.1, 0.2)
    rows = [
        synthetic.row(
            experiment="figure-1", model="lipschitz", measure="white", level=level, value=float(epochs), epochs=epochs,
            protocol=f"reduced: epochs {epochs}, seeds 1", key=str(epochs),
        )
        for epochs in (30, 5)
        for level in levels
    ]  # fmt: skip
    [figure] = figures("figure-1", "", runs(rows, TASK["ordered-mnist"].experiments), TASK["ordered-mnist"])
    assert figure.panels[0].curves[0].means == (30.0, 30.0)


def test_each_measure_is_drawn_in_a_regime_that_has_it(synthetic) -> None:
    """Table 1 with few epochs beside table 2 in full: both are drawn, each labelled."""
    few = {"experiment": "table-1", "measure": "white", "protocol": "reduced: epochs 5, seeds 1", "epochs": 5}
    rows = [synthetic.row(**few, level=level) for level in (0.1, 0.2)]
    rows += [synthetic.row(experiment="table-2", measure="fgsm", level=level) for level in (0.01, 0.05)]
    [figure] = figures("figure-1", "", runs(rows, TASK["ordered-mnist"].experiments), TASK["ordered-mnist"])
    drawn = [(panel.measure, panel.curves[0].protocol) for panel in figure.panels]
    assert drawn == [("white", "reduced: epochs 5, seeds 1"), ("fgsm", "reduced: seeds 1")]


def test_no_figure_has_more_curves_than_styles(synthetic) -> None:
    models = ["lipschitz", "nrnn mult 0.03 add 0.06", *(f"own {place}" for place in range(20))]
    rows = [synthetic.row(model=model, measure="white", level=level) for model in models for level in (0.1, 0.2)]
    drawn = figures("figure-2", "", runs(rows, TASK["ecg"].experiments), TASK["ecg"])
    assert {curve.model for figure in drawn for curve in figure.curves} == set(models)
    for figure in drawn:
        styles = [curve.style for curve in figure.curves]
        assert len(styles) == len(set(styles)) <= STYLES


def test_report_is_quick_and_needs_no_torch(synthetic, tmp_path: Path) -> None:
    grid = [place / 20 for place in range(1, 25)]
    records = [*synthetic.tables(["table-1", "table-2", "table-3", "table-5"])]
    records += [one for figure in ("figure-1", "figure-2", "figure-4") for one in synthetic.curves(figure, grid)]
    synthetic.write(tmp_path / "rows" / "rows.jsonl", records)
    program = (
        "import sys; from noisyrnn.report import report; report(sys.argv[1], sys.argv[2]); "
        "sys.exit('torch' in sys.modules)"
    )
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "rows"), str(tmp_path / "out")], check=True)
    assert time.perf_counter() - begin < 10
