"""What a release and its tools rest on: one version in three files, and the same tools by make, hooks and workflow."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION = PROJECT["project"]["version"]


def test_citation_and_changelog_have_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert citation["version"] == VERSION
    assert headings[0] == "Unreleased"
    if ".dev" in VERSION:
        assert "date-released" not in citation
        assert not headings[1].startswith(VERSION.split(".dev")[0])
    else:
        assert headings[1] == f"{VERSION} - {citation['date-released']}"


def test_hooks_and_make_run_the_same_tools():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    entries = {hook["entry"] for repository in hooks for hook in repository["hooks"]}
    assert {repository["repo"] for repository in hooks} == {"local"}, "a hook that is fetched has a version of its own"
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe is not None
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()]

    def tool(command: str) -> tuple[str, ...]:
        words = [word for word in command.split() if word not in {"--force-exclude", "--check"}]
        kept = 3 if "check-jsonschema" in words[0] else 2 if "ruff" in words[0] else 1
        return tuple(words[:kept])

    assert {tool(entry) for entry in entries} == {tool(command) for command in commands}


def test_workflows_use_commands_that_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    used = set(re.findall(r"run: make ([a-z]+)", workflow))
    assert used >= {"lint", "test", "sanitize"}
    assert used <= targets


def test_tools_have_tested_versions():
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()}
    wanted = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["dev"]]
    names = {re.split(r"[><=!\[; ]", one)[0].lower().replace("_", "-") for one in wanted}
    assert names <= pinned, names - pinned


def test_the_wheel_without_kernel_is_for_every_python():
    (fallback,) = [one for one in PROJECT["tool"]["scikit-build"]["overrides"] if one["if"] == {"failed": True}]
    assert fallback["wheel"] == {"cmake": False, "py-api": "py3"}, "cp312 is refused for a package without a module"
    assert "-Cwheel.cmake=false -Cwheel.py-api=py3" in (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
