"""Four files from rows: whole, atomic, escaped, quick."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from noisyrnn.about import About, Chapter, Printed, Statement
from noisyrnn.disk import DamagedFile, UnwritableFile
from noisyrnn.report import report, tell
from noisyrnn.report.claims import CONFIDENCE, Verdict
from noisyrnn.report.figures import STYLES, figures
from noisyrnn.report.tables import runs

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>|`*_$\\frac{1}{2}${{ 7 * 7 }}&amp;\n=1+1'


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
    told = (*synthetic.PAPER, synthetic.ABOUTS["demo"])
    synthetic.write(tmp_path / "rows" / "rows-a.jsonl", records, told)
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
    assert len([one for one in content["claims"] if one["claim"]["source"]]) == sum(content["counts"].values()) == 65
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
    hostile = {"model": HOSTILE, "host": HOSTILE, "data": {"kind": HOSTILE, HOSTILE: HOSTILE}, "version": HOSTILE}
    hostile |= {"part": HOSTILE, "budget": {HOSTILE: HOSTILE}, "created": HOSTILE}
    records = [
        synthetic.record(**hostile, **regime, experiment=experiment, seed=seed, measure=measure, level=level)
        for experiment in ("table-3", HOSTILE)
        for regime in ({}, {"protocol": HOSTILE}, {"overrides": {HOSTILE: HOSTILE}})
        for seed in range(2)
        for measure, level in (("white", 0.4), ("white", 0.8), (HOSTILE, 0.1), (HOSTILE, 0.2))
    ]
    records += [synthetic.record(model="=cmd()")]
    synthetic.write(tmp_path / "rows" / "rows-a.jsonl", records, synthetic.PAPER)
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


def test_a_task_that_could_not_name_a_file_is_refused(synthetic, tmp_path: Path) -> None:
    synthetic.write(tmp_path / "rows" / "rows-a.jsonl", [synthetic.record(task="../elsewhere")], synthetic.PAPER)
    with pytest.raises(DamagedFile, match=r"line 1 is no row \(task"):
        report(tmp_path / "rows", tmp_path / "out")


def test_a_new_experiment_needs_nothing_but_its_description_and_rows(synthetic, tmp_path: Path) -> None:
    told = About(
        name="lake-levels",
        title="Levels of lakes",
        text="Floods, one gauge reading at a time.",
        statements=(
            Statement(quote="gates help", better=("gated",), worse=("plain",), at=(("drift", 0.5),)),
            Statement(quote="gates hurt", better=("plain",), worse=("gated",), at=(("drift", 0.5),)),
        ),
    )
    point = {"experiment": "lake-levels", "protocol": "ours", "measure": "drift", "level": 0.5}
    records = [
        synthetic.record(**point, model=model, description={"kind": kind}, seed=seed, value=value + seed / 10)
        for model, kind, value in (("gated", "gru", 90.0), ("plain", "rnn", 80.0))
        for seed in range(3)
    ]
    synthetic.write(tmp_path / "rows-a.jsonl", records, [told])
    paths = report(tmp_path, tmp_path / "out")
    page = Tags(paths.html.read_text(encoding="utf-8")).text
    markdown = paths.markdown.read_text(encoding="utf-8")
    for text in (page, markdown):
        assert "Levels of lakes" in text
        assert "Floods, one gauge reading at a time." in text
        assert "gates help" in text
        assert "90.1" in text
    assert "GRU beats RNN under drift 0.5" in page.replace("\u00a0", " ")
    assert "Of 2 claims of these experiments, 1 holds in our runs and 1 does not." in page
    content = json.loads(paths.json.read_text(encoding="utf-8"))
    assert [(one["claim"]["quote"], one["verdict"], one["seeds"]) for one in content["claims"]] == [
        ("gates help", "holds", 3),
        ("gates hurt", "does not hold", 3),
    ]
    assert content["not run"] == []


def test_a_statement_without_a_source_has_no_empty_brackets(synthetic, tmp_path: Path) -> None:
    said = Statement(quote="gates help", better=("gated",), worse=("plain",), at=(("clean", 0.0),))
    synthetic.write(tmp_path / "rows-a.jsonl", [synthetic.record()], [About(name="table-3", statements=(said,))])
    lines = report(tmp_path, tmp_path / "out").markdown.read_text(encoding="utf-8").splitlines()
    assert "> gates help" in lines


def test_claims_of_our_own_are_not_counted_among_the_papers(synthetic) -> None:
    said = Statement(quote="gates help", better=("gated",), worse=("plain",), at=(("clean", 0.0),))
    rows = [synthetic.row(experiment="lakes", model=model, seed=seed, value=value + seed / 10)
            for model, value in (("gated", 90.0), ("plain", 80.0)) for seed in range(3)]  # fmt: skip
    story = tell(
        synthetic.results([*rows, synthetic.row()], [*synthetic.PAPER, About(name="lakes", statements=(said,))])
    )
    assert sum(story.counts.values()) == len(story.findings) - 1 == 65
    assert story.counts[Verdict.HOLDS] == 0
    assert [found.verdict for chapter in story.chapters if chapter.name == "lakes" for found in chapter.findings] == [
        Verdict.HOLDS
    ]


def test_experiments_without_descriptions_are_chapters_of_their_own(synthetic, tmp_path: Path) -> None:
    records = [synthetic.record(experiment=name) for name in ("table-3", "figure-2", "lake-levels")]
    synthetic.write(tmp_path / "rows-a.jsonl", records)
    paths = report(tmp_path, tmp_path / "out")
    heads = [line for line in paths.markdown.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    assert heads == ["## Figure 2", "## Lake levels", "## Table 3", "## Provenance"]
    content = json.loads(paths.json.read_text(encoding="utf-8"))
    assert content["claims"] == content["not run"] == []
    assert {cell["paper"] for cell in content["tables"]} == {None}


def test_networks_of_one_name_are_called_in_each_chapter_what_they_are_there(synthetic, tmp_path: Path) -> None:
    records = [
        synthetic.record(experiment=name, model="mine", description={"kind": kind})
        for name, kind in (("one", "lstm"), ("two", "gru"))
    ]
    synthetic.write(tmp_path / "rows-a.jsonl", records)
    text = report(tmp_path, tmp_path / "out").markdown.read_text(encoding="utf-8")
    first, second = text.split("## Two")
    assert "| LSTM |" in first
    assert "| GRU |" in second


def test_networks_of_one_kind_are_told_apart(synthetic) -> None:
    """Recipes that differ in nothing but their settings have two lines, two names, two styles."""
    rows = [
        synthetic.row(experiment="sizes", model=model, description={"kind": "lipschitz"}, measure="white", level=level)
        for model in ("small", "large")
        for level in (0.1, 0.2)
    ]
    [chapter] = tell(synthetic.results(rows)).chapters
    [table], [figure] = chapter.tables, chapter.figures
    assert len({line.name for line in table.lines}) == 2
    assert len({curve.name for curve in figure.curves}) == 2
    assert len({curve.style for curve in figure.curves}) == 2


def test_a_figure_of_our_own_that_is_drawn_is_not_called_missing(synthetic) -> None:
    told = [About(name="sweep", figure=True, title="A sweep")]
    rows = [synthetic.row(experiment="sweep", measure="white", level=level) for level in (0.1, 0.2)]
    told += [About(name="other", figure=True, title="Another")]
    story = tell(synthetic.results(rows, told))
    assert [len(chapter.figures) for chapter in story.chapters] == [1]
    assert story.undrawn == ("other",)


def test_an_experiment_of_our_own_without_rows_is_not_said_to_be_the_papers(synthetic, tmp_path: Path) -> None:
    synthetic.write(tmp_path / "rows-a.jsonl", [synthetic.record()], [*synthetic.PAPER, synthetic.ABOUTS["ablation"]])
    page = Tags(report(tmp_path, tmp_path / "out").html.read_text(encoding="utf-8")).text
    assert re.search("Table 5: the paper.s numbers", page)
    assert not re.search("Ablation: the paper.s numbers", page)


def test_hostile_descriptions_stay_text(synthetic, tmp_path: Path) -> None:
    told = [
        About(
            name=name,
            title=HOSTILE,
            text=HOSTILE,
            note=HOSTILE,
            claim=HOSTILE,
            chapter=Chapter(name=HOSTILE, title=HOSTILE, text=HOSTILE),
            printed=Printed(columns=((HOSTILE, 0.1),), lines={HOSTILE: (50.0,), "other": (40.0,)}),
            statements=(
                Statement(quote=HOSTILE, source=HOSTILE, better=(HOSTILE,), worse=("other",), at=((HOSTILE, 0.1),)),
            ),
        )
        for name in (HOSTILE, f"unrun {HOSTILE}")
    ]
    records = [
        synthetic.record(experiment=HOSTILE, model=model, seed=seed, measure=HOSTILE, level=level)
        for model in (HOSTILE, "other")
        for seed in range(2)
        for level in (0.1, 0.2)
    ]
    synthetic.write(tmp_path / "rows-a.jsonl", records, told)
    paths = report(tmp_path, tmp_path / "out")
    page = Tags(paths.html.read_text(encoding="utf-8"))
    assert not {tag for tag, _ in page.tags} & {"script", "img"}
    assert not [key for _, attributes in page.tags for key in attributes if key.startswith("on")]
    assert page.text.count('<script>alert("x")</script>') > 8
    text = paths.markdown.read_text(encoding="utf-8")
    assert "<script>" not in text.replace("\\<", "")
    # A line end inside a name would begin a line of its own.
    assert not [line for line in text.splitlines() if line.startswith("=1+1")]


def test_same_rows_make_the_same_files(whole: Path, tmp_path: Path) -> None:
    first, second = report(whole, tmp_path / "one"), report(whole, tmp_path / "two")
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_torn_lines_and_duplicates_are_told(synthetic, whole: Path, tmp_path: Path) -> None:
    with (whole / "rows-a.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(synthetic.record(model="lipschitz", value=1.0)) + '\n{"experiment": "tab')
    paths = report(whole, tmp_path / "out")
    source = json.loads(paths.json.read_text(encoding="utf-8"))["provenance"]
    assert (source["torn"], source["duplicates"], source["conflicts"]) == (1, 1, 1)
    assert source["superseded"] == 0
    assert "1 torn line, 1 duplicate" in Tags(paths.html.read_text(encoding="utf-8")).text


def test_only_another_run_supersedes(synthetic, tmp_path: Path) -> None:
    shared = [synthetic.record(experiment=name, key="shared") for name in ("table-3", "figure-2")]
    for records, count in ((shared, 0), ([*shared, synthetic.record(key="again")], 1)):
        synthetic.write(tmp_path / "rows-a.jsonl", records, synthetic.PAPER)
        content = json.loads(report(tmp_path, tmp_path / "out").json.read_text(encoding="utf-8"))
        assert content["provenance"]["superseded"] == count


def test_page_without_the_papers_tasks_leaves_the_verdicts_out(synthetic, tmp_path: Path) -> None:
    records = [synthetic.record(experiment="demo", measure="white", level=level) for level in (0.0, 0.1)]
    synthetic.write(tmp_path / "rows-a.jsonl", records, [synthetic.ABOUTS["demo"]])
    text = Tags(report(tmp_path, tmp_path / "out").html.read_text(encoding="utf-8")).text
    assert "Handwritten digits" in text
    assert "does not hold" not in text.partition("How to read")[0]


def test_searches_are_folded_and_not_drawn(synthetic, tmp_path: Path) -> None:
    records = [
        synthetic.record(experiment="baseline-search", part="validation", measure="white", level=level)
        for level in (0.0, 0.8)
    ]
    synthetic.write(tmp_path / "rows-a.jsonl", records, [synthetic.ABOUTS["baseline-search"]])
    page = Tags(report(tmp_path, tmp_path / "out").html.read_text(encoding="utf-8"))
    assert "Measured on validation samples" in page.text
    assert "All settings that were tried" in page.text
    assert not [tag for tag, attributes in page.tags if tag == "svg" and attributes.get("role") == "img"]


def test_readings_stand_beside_the_numbers_that_they_read(synthetic, tmp_path: Path) -> None:
    synthetic.write(
        tmp_path / "rows-a.jsonl",
        [synthetic.record(experiment="table-1-readings", model="lipschitz", measure="uniform", level=0.3, value=50.0)],
        synthetic.PAPER,
    )
    text = report(tmp_path, tmp_path / "out").markdown.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("| Lipschitz RNN") and "50.0" in line)
    assert str(synthetic.ABOUTS["table-1"].printed.number("lipschitz", ("white", 0.3))) in line


def test_cells_of_fewer_seeds_than_their_line_say_so(synthetic, tmp_path: Path) -> None:
    records = [synthetic.record(seed=seed) for seed in (0, 1)] + [synthetic.record(measure="white", level=0.4)]
    synthetic.write(tmp_path / "rows-a.jsonl", records, synthetic.PAPER)
    paths = report(tmp_path, tmp_path / "out")
    assert paths.markdown.read_text(encoding="utf-8").count("1 of 2 seeds") == 1
    assert paths.html.read_text(encoding="utf-8").count("1 of 2 seeds") == 1


def test_variant_is_shown_only_when_run(synthetic, whole: Path, tmp_path: Path) -> None:
    assert "0 to 255" not in report(whole, tmp_path / "out").html.read_text(encoding="utf-8")
    synthetic.write(whole / "raw" / "rows-a.jsonl", [synthetic.record(experiment="table-5-raw")])
    assert "0 to 255" in report(whole, tmp_path / "out").html.read_text(encoding="utf-8")


def test_unwritable_place_is_one_sentence(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(UnwritableFile, match=r"report.html cannot be written \(.*\): free space or choose"):
        report(whole, tmp_path / "file" / "out")


def test_full_disk_leaves_earlier_files_and_no_draft(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = report(whole, tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnwritableFile, match="No space left on device"):
        report(whole, tmp_path / "out")
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert set(before) == set(paths)


def test_broken_rows_leave_earlier_files(whole: Path, tmp_path: Path) -> None:
    paths = report(whole, tmp_path / "out")
    before = [path.read_bytes() for path in paths]
    (whole / "rows-a.jsonl").write_text("no row\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 1 is no row"):
        report(whole, tmp_path / "out")
    assert [path.read_bytes() for path in paths] == before


def test_figures_have_bands_of_one_deviation_and_begin_clean(synthetic) -> None:
    rows = [synthetic.row(seed=seed, value=97.0 + seed) for seed in range(3)]
    rows += [synthetic.row(seed=seed, measure="white", level=0.4, value=90.0 + 2 * seed) for seed in range(3)]
    members = synthetic.members("ecg")
    [figure] = figures("figure-2", "", runs(rows, [about.name for about in members]), members)
    [curve] = figure.panels[0].curves
    assert (curve.levels, curve.means, curve.deviations) == ((0.0, 0.4), (98.0, 92.0), (1.0, 2.0))
    assert curve.printed == ((0.0, 97.7), (0.4, 97.4))


def test_the_longest_training_is_drawn(synthetic) -> None:
    levels = (0.1, 0.2)
    rows = [
        synthetic.row(
            experiment="figure-1", model="lipschitz", measure="white", level=level, value=float(epochs), epochs=epochs,
            overrides={"epochs": epochs, "seeds": 1}, key=str(epochs),
        )
        for epochs in (30, 5)
        for level in levels
    ]  # fmt: skip
    members = synthetic.members("ordered-mnist")
    [figure] = figures("figure-1", "", runs(rows, [about.name for about in members]), members)
    assert figure.panels[0].curves[0].means == (30.0, 30.0)


def test_each_measure_is_drawn_in_a_regime_that_has_it(synthetic) -> None:
    """Table 1 with few epochs beside table 2 in full: both are drawn, each labelled."""
    few = {"experiment": "table-1", "measure": "white", "overrides": {"epochs": 5, "seeds": 1}, "epochs": 5}
    rows = [synthetic.row(**few, level=level) for level in (0.1, 0.2)]
    rows += [synthetic.row(experiment="table-2", measure="fgsm", level=level) for level in (0.01, 0.05)]
    members = synthetic.members("ordered-mnist")
    [figure] = figures("figure-1", "", runs(rows, [about.name for about in members]), members)
    drawn = [(panel.measure, panel.curves[0].protocol) for panel in figure.panels]
    assert drawn == [("white", "reduced: epochs 5, seeds 1"), ("fgsm", "reduced: seeds 1")]


def test_no_figure_has_more_curves_than_styles(synthetic) -> None:
    models = ["lipschitz", "nrnn mult 0.03 add 0.06", *(f"own {place}" for place in range(20))]
    rows = [synthetic.row(model=model, measure="white", level=level) for model in models for level in (0.1, 0.2)]
    members = synthetic.members("ecg")
    drawn = figures("figure-2", "", runs(rows, [about.name for about in members]), members)
    assert {curve.model for figure in drawn for curve in figure.curves} == set(models)
    for figure in drawn:
        styles = [curve.style for curve in figure.curves]
        assert len(styles) == len(set(styles)) <= STYLES


def test_a_large_report_needs_no_torch(synthetic, tmp_path: Path) -> None:
    grid = [place / 20 for place in range(1, 25)]
    records = [*synthetic.tables(["table-1", "table-2", "table-3", "table-5"])]
    records += [one for figure in ("figure-1", "figure-2", "figure-4") for one in synthetic.curves(figure, grid)]
    synthetic.write(tmp_path / "rows" / "rows-a.jsonl", records, synthetic.ABOUTS.values())
    program = (
        "import sys; from noisyrnn.report import report; report(sys.argv[1], sys.argv[2]); "
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "rows"), str(tmp_path / "out")], check=True)
    assert (tmp_path / "out" / "report.html").exists()
