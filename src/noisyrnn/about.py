"""What is known of a table or figure: its title and text, the paper's printed numbers, the claims that it decides.

It travels with the experiment: it is kept beside the rows, so that a report, which knows nothing but files, can show an
experiment that somebody made up yesterday as it shows the paper's. Without torch.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout
from pydantic import Field, model_validator

from noisyrnn import disk
from noisyrnn.rows import Column, Description
from noisyrnn.setting import Setting

ABOUT = "experiments.json"


class Chapter(Setting):
    """Tables and figures that a report shows together, because they are about one task.

    A variant reads the paper in another way: it is shown when it was run, and not missed otherwise.
    """

    name: str
    title: str
    text: str
    variant: bool = False


class Printed(Setting):
    """A table as the paper prints it: accuracies in percent, a line of numbers for each model.

    >>> table = Printed(columns=(("clean", 0.0), ("white", 0.2)), lines={"lipschitz": (99.2, 78.9)})
    >>> table.number("lipschitz", ("white", 0.2)), table.number("lstm", ("white", 0.2))
    (78.9, None)
    """

    columns: tuple[Column, ...]
    lines: dict[str, tuple[float, ...]]

    @model_validator(mode="after")
    def _rectangular(self) -> Printed:
        for model, numbers in self.lines.items():
            if len(numbers) != len(self.columns):
                raise ValueError(f"{model} has {len(numbers)} numbers for {len(self.columns)} columns; give one each")
        return self

    def number(self, model: str, column: Column) -> float | None:
        """The printed accuracy, or None where the paper has none."""
        if model not in self.lines or column not in self.columns:
            return None
        return self.lines[model][self.columns.index(column)]


class Claim(NamedTuple):
    """``better`` is more accurate than ``worse`` at ``column``, by more than ``margin`` points.

    A negative margin says that it is not much less accurate.
    """

    chapter: str
    source: str
    quote: str
    better: str
    worse: str
    column: Column
    margin: float = 0.0


class Statement(Setting):
    """A sentence, and the comparisons that decide it: each of the better with each of the worse at each column.

    >>> said = Statement(quote="noise helps", better=("nrnn",), worse=("lstm", "gru"), at=(("white", 0.1),))
    >>> [claim.worse for claim in said.claims("demo")]
    ['lstm', 'gru']
    """

    quote: str
    source: str = ""
    better: tuple[str, ...]
    worse: tuple[str, ...]
    at: tuple[Column, ...]
    margin: float = 0.0

    def claims(self, chapter: str) -> list[Claim]:
        """One claim for each comparison, about the rows of a chapter."""
        return [
            Claim(chapter, self.source, self.quote, better, worse, column, self.margin)
            for better, worse, column in product(self.better, self.worse, self.at)
        ]


class About(Setting):
    """Everything that a report has to know of an experiment besides its rows."""

    name: str
    title: str = ""
    """Of its own chapter; a part of another chapter needs none."""
    claim: str = ""
    """In one line, what it is to show: for lists."""
    text: str = ""
    note: str = ""
    chapter: Chapter | None = None
    """The chapter that it is a part of; without one it is a chapter of its own."""
    figure: bool = False
    """Curves over many strengths, drawn beside the tables of its chapter."""
    aside: bool = False
    """Served to choose settings, and shows no results."""
    printed: Printed | None = None
    statements: tuple[Statement, ...] = Field(default=())
    models: dict[str, Description] = Field(default={})

    def beside(self, earlier: About | None) -> About:
        """The same with the models that an earlier run of the experiment had: a run may be restricted to some."""
        return self if earlier is None else self.model_copy(update={"models": earlier.models | self.models})

    @property
    def place(self) -> Chapter:
        """The chapter in which it is shown."""
        title = self.title or self.name[:1].upper() + self.name[1:].replace("-", " ")
        return self.chapter or Chapter(name=self.name, title=title, text=self.text)

    def claims(self) -> list[Claim]:
        """What its statements compare."""
        return [claim for statement in self.statements for claim in statement.claims(self.place.name)]


class Abouts(Setting):
    """The file beside the rows: every experiment that was run there, by name."""

    experiments: dict[str, About] = Field(default={})


def abouts_in(directory: Path) -> dict[str, About]:
    """What the directory's file says of experiments, by name; empty where there is none."""
    remedy = "remove it, and `noisyrnn run` writes it again"
    try:
        return disk.read_as(Abouts, directory / ABOUT, what="a description of experiments", remedy=remedy).experiments
    except FileNotFoundError:
        return {}


def describe(directory: Path, told: Iterable[About]) -> None:
    """The descriptions added to the directory's file; what it says of other experiments and of other models stays."""
    new = {about.name: about for about in told}
    if directory.is_dir() and new.items() <= abouts_in(directory).items():
        return  # nobody has to wait for a lock whose holder may be suspended
    try:
        with disk.writing(directory), FileLock(directory / f".{ABOUT}.lock", timeout=60):
            before = abouts_in(directory)
            after = before | {name: about.beside(before.get(name)) for name, about in new.items()}
            if after != before:
                text = Abouts(experiments=after).model_dump_json(indent=1, exclude_defaults=True)
                disk.save(directory / ABOUT, f"{text}\n".encode())
    except Timeout as error:
        raise ValueError(f"{directory / ABOUT} is locked by another process: run again when it is done.") from error
