"""Pages made from templates: a page is written, or only compared with what its template says now.

A template is Jinja in docs/templates; every name in it must have a value. Its lines are the page's lines, so that
whoever edits it also wraps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

TEMPLATES = Path(__file__).parent / "templates"


def page(template_name: str, values: Mapping[str, object]) -> str:
    """The text of a page: a first line that says where it comes from, and its template with these values."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True
    )
    origin = f"<!-- Made from docs/templates/{template_name} by make docs; edit that. -->\n"
    return origin + environment.get_template(template_name).render(values)


def render(template_name: str, target: Path, values: Mapping[str, object], *, check: bool = False) -> None:
    """Write the page at ``target``; with ``check`` it stays as it is, and a stale one ends the program."""
    text = page(template_name, values)
    if not check:
        target.write_text(text, encoding="utf-8")
        return
    present = target.read_text(encoding="utf-8") if target.exists() else ""
    lines = zip_longest(present.splitlines(keepends=True), text.splitlines(keepends=True), fillvalue="")
    for number, (old, new) in enumerate(lines, start=1):
        if old != new:
            raise SystemExit(f"{_named(target)} is stale at line {number}, {old!r} should be {new!r}: run `make docs`.")


def _named(target: Path) -> str:
    """The page's path in the repository, or as it is given when it lies elsewhere."""
    root = TEMPLATES.parents[1]
    return str(target.resolve().relative_to(root) if target.resolve().is_relative_to(root) else target)
