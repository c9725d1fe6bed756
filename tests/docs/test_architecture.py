"""Pages about the code: every file, name, command and layer in them exists, and the hour of reading is one.

Code in the pages is left out here; tests/docs/test_documents.py runs it.
"""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import noisyrnn
from noisyrnn.cli import app

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/noisyrnn"
PAGES = ["CONTRIBUTING.md", "docs/architecture.md", "docs/tour.md", "docs/extend.md"]
FILE = r"[\w.][\w./-]*\.(?:py|cpp|hpp|sh|md|j2|toml|txt)\b"
NAME = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
ELSEWHERE = {"nn.Module", "torch.nn.RNN", "torch.func", "ValueError", "eval", "make", "utils", "get_"}
"""Names in the pages that are not ours: of torch, of Python, of the shell; and what nobody should write."""
OF_A_RECORD = r"[\w./<>-]+\.(?:json|jsonl|csv|safetensors)"


def text(page: str) -> str:
    """The page without its blocks of code; diagrams stay."""
    return re.sub(r"```(?:python|jinja)\n.*?```", "", (ROOT / page).read_text(), flags=re.DOTALL)


def diagrams() -> list[str]:
    """The diagrams of the architecture: the layers, then the three walks."""
    return re.findall(r"```mermaid\n(.*?)```", (ROOT / "docs/architecture.md").read_text(), flags=re.DOTALL)


def found(file: str) -> Path | None:
    """The file in the repository, in the package or beside a page; one that is named without its room, in any room."""
    places = [place / file for place in (ROOT, SOURCE, ROOT / "docs")]
    return next((path for path in (*places, *(SOURCE.rglob(file) if "/" not in file else ())) if path.is_file()), None)


@cache
def defined(path: Path) -> frozenset[str]:
    """Functions, their arguments, classes, members and assigned names of a Python file; every word of any other."""
    if path.suffix != ".py":
        return frozenset(re.findall(r"\w+", path.read_text()))
    names: set[str] = set()

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for one in body:
            if isinstance(one, ast.FunctionDef | ast.ClassDef):
                names.add(prefix + one.name)
            if isinstance(one, ast.FunctionDef):
                names.update(f"{prefix}{one.name}.{each.arg}" for each in (*one.args.args, *one.args.kwonlyargs))
            if isinstance(one, ast.ClassDef):
                collect(one.body, f"{prefix}{one.name}.")
            targets = (
                one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
            )
            names.update(prefix + target.id for target in targets if isinstance(target, ast.Name))

    body = ast.parse(path.read_text()).body
    collect(body, "")
    if path.name == "__init__.py":  # a room also has what it imports from its modules
        names.update(alias.name for one in body if isinstance(one, ast.ImportFrom) for alias in one.names)
    return frozenset(names)


@cache
def vocabulary() -> frozenset[str]:
    """All that a name in the pages may be: a room, a module, what a module defines, a member of a class, or a test."""
    names: set[str] = {path.name for path in (*ROOT.iterdir(), *SOURCE.iterdir()) if path.is_dir()} | {"noisyrnn"}
    for path in sorted(SOURCE.rglob("*.py")):
        dotted = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        own = defined(path)
        names |= {dotted, path.stem, f"noisyrnn.{dotted}", *own, *(one.rpartition(".")[2] for one in own)}
        names |= {f"{module}.{one}" for one in own for module in (dotted, path.stem, f"noisyrnn.{dotted}")}
    names |= {f"noisyrnn.{name}" for name in noisyrnn.__all__}
    names |= {".".join(path.relative_to(SOURCE).parts) for path in SOURCE.rglob("*") if path.is_dir()}
    for path in (ROOT / "tests").rglob("test_*.py"):
        names |= {name for name in defined(path) if name.startswith("test_")}
    return frozenset(names)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_exists(page: str) -> None:
    named = set(re.findall(FILE, text(page)))
    assert named or page == "docs/extend.md"
    assert not sorted(file for file in named if found(file) is None)


@pytest.mark.parametrize("page", PAGES)
def test_every_name_exists(page: str) -> None:
    quoted = re.findall(r"`([^`\n]+)`", text(page))
    # A call, such as fit(...) or noise=True, is checked by what stands before it; sentences of a shell are not names.
    names = {match[1] for one in quoted if (match := re.fullmatch(rf"({NAME})(?:\(.*\)|=\w+)?", one))}
    files = {name for name in names if re.fullmatch(f"{FILE}|{OF_A_RECORD}", name)}
    assert len(names) >= 5
    assert not sorted(names - files - vocabulary() - ELSEWHERE)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_exists(page: str) -> None:
    commands = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    commands |= {group.name for group in app.registered_groups}
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert not set(re.findall(r"(?:`|^    )noisyrnn ([a-z]+)", text(page), flags=re.MULTILINE)) - commands
    assert not set(re.findall(r"(?:`|^    )make ([a-z]+)", text(page), flags=re.MULTILINE)) - targets


def test_the_diagram_of_layers_is_the_contract() -> None:
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    drawn = dict(re.findall(r'(L\d+)\["([^"]+)"\]', diagrams()[0]))
    assert list(drawn.values()) == [layer.replace("noisyrnn.", "") for layer in contract]
    order = list(drawn)
    assert re.findall(r"(L\d+)(?:\[[^]]*\])? --> (L\d+)", diagrams()[0]) == list(pairwise(order))


def test_every_room_has_a_line() -> None:
    table = text("docs/architecture.md").partition("| room |")[2].partition("\n\n")[0]
    rooms = {room for label in re.findall(r'\["([^"]+)"\]', diagrams()[0]) for room in label.split(" | ")}
    assert {name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line.split("|")[1])} == rooms


def test_the_walks_name_what_their_files_define() -> None:
    pairs = [
        (name, file)
        for diagram in diagrams()[1:]
        for names, file in re.findall(rf'\["([^"<]+)<br/>({FILE})"\]', diagram)
        for name in names.split(", ")
    ]
    for diagram in diagrams()[1:]:
        files = dict(re.findall(rf"participant (\w) as ({FILE})", diagram))
        pairs += [(name, files[to]) for to, name in re.findall(rf"\w->>(\w): ({NAME})", diagram)]
    assert len(pairs) > 40
    assert not [(name, file) for name, file in pairs if name not in defined(found(file) or SOURCE / file)]


def test_rooms_without_torch_are_those_of_the_contracts() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    free = {room for one in contracts if one.get("forbidden_modules") == ["torch"] for room in one["source_modules"]}
    section = text("docs/architecture.md").partition("## Where torch is not allowed")[2]
    said = section.partition("by way of others:")[2].partition(".")[0]
    assert {f"noisyrnn.{name}" for name in re.findall(r"`(\w+)`", said)} == free


def path_of_reading() -> list[tuple[int, str]]:
    """Minutes and files of each line, in order; the minutes of a line of two files stand with the first."""
    lines = re.findall(rf"^\| (\d+) \| (`{FILE}`(?:, `{FILE}`)*) \| .* \|$", text(PAGES[0]), flags=re.MULTILINE)
    files = [(int(minutes), re.findall(FILE, named)) for minutes, named in lines]
    return [(minutes if place == 0 else 0, file) for minutes, named in files for place, file in enumerate(named)]


def test_the_path_of_reading_takes_an_hour() -> None:
    assert sum(minutes for minutes, _ in path_of_reading()) == 60


def test_each_line_of_the_path_names_what_its_files_define() -> None:
    for line in re.findall(rf"^\| \d+ \| (`{FILE}`.*) \|$", text(PAGES[0]), flags=re.MULTILINE):
        files, _, teaches = line.partition(" | ")
        own = {name for file in re.findall(FILE, files) for name in defined(SOURCE / file)}
        own |= {name.rpartition(".")[2] for name in own}
        assert set(re.findall(rf"`({NAME})`", teaches)) <= own, line


def test_the_path_meets_every_file_before_its_use() -> None:
    order = [file for _, file in path_of_reading()]
    assert len(set(order)) == len(order) > 40
    for place, file in enumerate(order):
        assert not used(file, order) - set(order[:place]) - {file}, file


def used(file: str, order: list[str]) -> set[str]:
    """Files of the path that a file imports, or imports a name of by way of their room."""
    needed = set()
    for one in ast.parse((SOURCE / file).read_text()).body:
        if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("noisyrnn"):
            room = "/".join(str(one.module).split(".")[1:])
            for name in [alias.name for alias in one.names]:
                direct = {f"{room}.py", f"{room}/{name}.py".removeprefix("/")} & set(order)
                needed |= direct or {
                    other for other in order if other.startswith(f"{room}/") and name in defined(SOURCE / other)
                }
    return needed
