"""Documents: the code in them runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["README.md", "docs/extend.md"])
def test_code_in_the_document_runs(name):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), flags=re.DOTALL)
    assert blocks
    # One namespace for the whole page, as a reader would type it.
    exec("\n".join(blocks), {"__name__": "document"})


@pytest.mark.parametrize(
    "name", ["README.md", "docs/tour.md", "docs/extend.md", "docs/results/README.md", "docs/theory/README.md"]
)
def test_links_and_pictures_exist(name):
    page = ROOT / name
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text())
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


def test_files_named_by_the_tour_exist():
    text = (ROOT / "docs/tour.md").read_text()
    named = set(re.findall(r"`((?:sde|rnn|models)/[a-z_]+\.py)`", text))
    assert len(named) > 8
    assert not [name for name in named if not (ROOT / "src/noisyrnn" / name).exists()]
