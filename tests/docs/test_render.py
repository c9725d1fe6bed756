"""Pages from templates: written, compared, and refused where a value is missing."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import jinja2
import pytest

DOCS = Path(__file__).parents[2] / "docs"
FIRST = "<!-- Made from docs/templates/page.md.j2 by make docs; edit that. -->\n"


@pytest.fixture
def render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """docs/render.py with one template of its own."""
    monkeypatch.syspath_prepend(str(DOCS))
    import render

    (tmp_path / "page.md.j2").write_text("# Accuracy\n\n{{ clean }} % < {{ table.best }} %\n")
    monkeypatch.setattr(render, "TEMPLATES", tmp_path)
    return render


VALUES = {"clean": 97.5, "table": {"best": "99 & more"}}


def test_values_are_put_in_as_they_are(render: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    render.render("page.md.j2", page, VALUES)
    assert page.read_text() == f"{FIRST}# Accuracy\n\n97.5 % < 99 & more %\n"
    render.render("page.md.j2", page, VALUES, check=True)


@pytest.mark.parametrize(
    ("present", "line"),
    [
        (f"{FIRST}# Accuracy\n\n97.4 % < 99 & more %\n", 4),
        (f"{FIRST}# Accuracy\n", 3),
        (f"{FIRST}# Accuracy\n\n97.5 % < 99 & more %\nmore\n", 5),
        (f"{FIRST}# Accuracy\n\n97.5 % < 99 & more %", 4),
        (None, 1),
    ],
)
def test_the_first_stale_line_is_named_and_the_page_stays(
    render: ModuleType, tmp_path: Path, present: str | None, line: int
) -> None:
    page = tmp_path / "page.md"
    if present is not None:
        page.write_text(present)
    with pytest.raises(SystemExit, match=rf"page\.md is stale at line {line}, .*: run `make docs`\.$"):
        render.render("page.md.j2", page, VALUES, check=True)
    assert (page.read_text() if page.exists() else None) == present


@pytest.mark.parametrize("values", [{"clean": 97.5}, {"clean": 97.5, "table": {}}])
def test_a_value_that_nobody_gives_is_refused(render: ModuleType, tmp_path: Path, values: dict[str, object]) -> None:
    page = tmp_path / "page.md"
    with pytest.raises(jinja2.UndefinedError):
        render.render("page.md.j2", page, values)
    assert not page.exists()
