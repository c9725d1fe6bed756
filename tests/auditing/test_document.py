"""docs/audit.md: its code runs, its tables are those of the code."""

import re
from pathlib import Path
from typing import Any

import pytest

from noisyrnn.auditing.budget import budget
from noisyrnn.perturb import severities

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_guide_with_torch_runs():
    document: dict[str, Any] = {"__name__": "document"}
    exec(BLOCKS[1], document)
    small = document["found"]["small"]
    assert 0 <= small.mean.low <= small.mean.value <= small.mean.high <= 1
    assert small.worst_fault in severities()
    for figure in small.attack.accuracy:
        assert 0 <= figure.low <= figure.value <= figure.high <= 1


def test_the_guide_with_aeon_runs(tmp_path, monkeypatch):
    pytest.importorskip("aeon")
    monkeypatch.chdir(tmp_path)
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) <= 10
    exec(BLOCKS[0].replace("progress=True", 'faults=["noise", "stuck"]'), {"__name__": "document"})
    assert (tmp_path / "gunpoint-audit" / "audit.html").is_file()


def test_every_fault_stands_in_the_table_with_its_group():
    rows = dict(re.findall(r"^\| ([a-z, ]+) \| (value|availability|timing) \|", PAGE, flags=re.MULTILINE))
    listed = {name: group for names, group in rows.items() for name in names.split(", ")}
    assert listed == {name: graded.group.value for name, graded in severities().items()}


@pytest.mark.parametrize("name", ["quick", "standard", "thorough"])
def test_budgets_are_those_of_the_table(name):
    (row,) = re.findall(rf"^\| {name} \| (.*) \|$", PAGE, flags=re.MULTILINE)
    spent = budget(name)
    series, attacked, radii, climbs, votes = (cell.strip() for cell in row.split("|"))
    assert series == ("all" if spent.series is None else str(spent.series))
    assert attacked == str(spent.attacked)
    assert radii == " to ".join(dict.fromkeys(f"{radius:g}" for radius in (spent.radii[0], spent.radii[-1])))
    assert climbs == f"{spent.steps}, {spent.queries}"
    assert votes == f"{spent.smoothed}, {spent.draws}"
