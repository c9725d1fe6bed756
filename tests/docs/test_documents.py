"""Documents: the code in them runs, their links lead somewhere, their text can be read and edited."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    str(page.relative_to(ROOT))
    for page in sorted(
        [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "studies/README.md")), *ROOT.glob("docs/**/*.md")]
    )
]


def prose(page: Path) -> str:
    """The page without its blocks of code."""
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Names of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "name",
    ["README.md", "CONTRIBUTING.md", "docs/extend.md", "docs/attacks.md", "docs/classifier.md", "docs/hardware.md"],
)
def test_code_in_the_document_runs(name):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), flags=re.DOTALL)
    assert blocks
    # One namespace for the whole page, as a reader would type it.
    exec("\n".join(blocks), {"__name__": "document"})


@pytest.mark.parametrize("name", PAGES)
def test_links_pictures_and_anchors_exist(name):
    page = ROOT / name
    missing = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        path, _, anchor = target.partition("#")
        if ":" in path:
            continue
        there = page.parent / path if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            missing.append(target)
    assert not missing


@pytest.mark.parametrize("name", PAGES)
def test_no_line_but_a_row_of_a_table_is_too_long_to_edit(name):
    long = [line for line in (ROOT / name).read_text().splitlines() if len(line) > 400 and not line.startswith("|")]
    assert not long


@pytest.mark.parametrize("name", [name for name in PAGES if not name.startswith("docs/theory/")])
def test_no_page_has_markers_in_its_text(name):
    assert "<!--n:" not in (ROOT / name).read_text()


def test_files_named_by_the_tour_exist():
    text = (ROOT / "docs/tour.md").read_text()
    named = set(re.findall(r"`((?:sde|rnn|models)/[a-z_]+\.py)`", text))
    assert len(named) > 8
    assert not [name for name in named if not (ROOT / "src/noisyrnn" / name).exists()]
