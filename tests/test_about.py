"""Descriptions travel beside the rows: added, never lost, and damage is one sentence."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from filelock import FileLock

from noisyrnn.about import ABOUT, About, Chapter, Claim, Printed, Statement, abouts_in, describe
from noisyrnn.disk import DamagedFile, UnwritableFile
from noisyrnn.experiments import EXPERIMENTS
from noisyrnn.rows import Description
from noisyrnn.setting import InvalidSetting

WHOLE = About(
    name="lake-levels",
    title="Levels of lakes",
    claim="gates help",
    text="Floods, “one” gauge\nat a time.",
    note="σ",
    chapter=Chapter(name="lakes", title="Lakes", text="", variant=True),
    figure=True,
    aside=True,
    printed=Printed(columns=(("clean", 0.0), ("drift", 0.5)), lines={"gated": (90.0, 38.25)}),
    statements=(Statement(quote="gates help", better=("gated",), worse=("plain",), at=(("drift", 0.5),), margin=-0.5),),
    models={"gated": Description(kind="gru", variant="wide"), "noisy": Description(kind="noisy", additive=0.1)},
)


def test_descriptions_come_back_as_they_were_told(tmp_path: Path) -> None:
    told = [WHOLE, *(experiment.about() for experiment in EXPERIMENTS.values())]
    describe(tmp_path, told)
    assert list(abouts_in(tmp_path).values()) == told


def test_a_place_without_descriptions_has_none(tmp_path: Path) -> None:
    assert abouts_in(tmp_path) == {}


def test_new_descriptions_are_added_and_others_stay(tmp_path: Path) -> None:
    first, second = About(name="one", title="One"), About(name="two")
    describe(tmp_path, [first, second])
    before = (tmp_path / ABOUT).stat()
    describe(tmp_path, [second])
    after = (tmp_path / ABOUT).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns), "nothing new, nothing written"
    newer = About(name="one", title="The first")
    describe(tmp_path, [newer, WHOLE])
    assert abouts_in(tmp_path) == {"one": newer, "two": second, "lake-levels": WHOLE}


def test_descriptions_told_at_once_are_all_kept(tmp_path: Path) -> None:
    told = [About(name=f"experiment-{place}") for place in range(8)]
    threads = [threading.Thread(target=describe, args=(tmp_path, [about])) for about in told]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(abouts_in(tmp_path)) == [about.name for about in told]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"experiments": []}',
        b'{"experiments": {"a": {}}}',
        b'{"experiments": {"a\\nb": 3}}',
        b'{"experiments": {"a": {"name": "a", "colour": "red"}}}',
        b'{"experiments": {"a": {"name": "a", "printed": {"columns": [["clean", 0]], "lines": {"b": [1, 2]}}}}}',
    ],
    ids=range(10),
)
def test_damage_is_one_sentence_and_the_file_stays(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / ABOUT
    path.write_bytes(content)
    sentence = (
        rf"^\S+{ABOUT} is not a description of experiments \(.+\): remove it, and `noisyrnn run` writes it again\.$"
    )
    with pytest.raises(DamagedFile, match=sentence):
        abouts_in(tmp_path)
    with pytest.raises(DamagedFile, match=sentence):
        describe(tmp_path, [WHOLE])
    assert path.read_bytes() == content


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(
        UnwritableFile,
        match=r"^\S+file cannot be written \(.*\): .*choose another directory; what was written before is intact",
    ):
        describe(tmp_path / "file", [WHOLE])


def test_an_experiment_without_a_chapter_is_one_itself() -> None:
    assert About(name="lake-levels").place == Chapter(name="lake-levels", title="Lake levels", text="")
    assert About(name="a", title="Title", text="Text").place == Chapter(name="a", title="Title", text="Text")
    assert WHOLE.place is WHOLE.chapter


def test_each_of_the_better_is_compared_with_each_of_the_worse_at_each_column() -> None:
    columns = (("clean", 0.0), ("drift", 0.5))
    said = Statement(quote="q", source="s", better=("a", "b"), worse=("c", "d"), at=columns, margin=1.0)
    claims = About(name="lakes", statements=(said,)).claims()
    assert len(set(claims)) == 8
    assert claims[0] == Claim("lakes", "s", "q", "a", "c", ("clean", 0.0), 1.0)
    assert WHOLE.claims()[0].chapter == "lakes"


def test_a_printed_table_has_a_number_for_each_column() -> None:
    with pytest.raises(InvalidSetting, match="gated has 1 numbers for 2 columns"):
        Printed(columns=(("clean", 0.0), ("drift", 0.5)), lines={"gated": (1.0,)})
    assert WHOLE.printed is not None
    assert WHOLE.printed.number("gated", ("drift", 0.5)) == 38.25
    assert WHOLE.printed.number("gated", ("drift", 0.6)) is None


def test_what_is_described_already_waits_for_nobody(tmp_path: Path) -> None:
    about = About(name="mine")
    describe(tmp_path, [about])
    with FileLock(tmp_path / f".{ABOUT}.lock"):
        describe(tmp_path, [about])  # would wait for a minute
    assert abouts_in(tmp_path) == {"mine": about}


def test_a_run_that_is_restricted_leaves_the_other_models_described(tmp_path: Path) -> None:
    plain, noisy = Description(kind="lipschitz"), Description(kind="noisy")
    describe(tmp_path, [About(name="mine", text="old", models={"plain": plain, "noisy": noisy})])
    describe(tmp_path, [About(name="mine", text="new", models={"noisy": noisy})])
    assert abouts_in(tmp_path)["mine"] == About(name="mine", text="new", models={"plain": plain, "noisy": noisy})
