"""What the paper prints, as a report shows it: tables 1, 2, 3 and 5 with captions, and the tasks they are about."""

from __future__ import annotations

from dataclasses import dataclass, replace

from noisyrnn.paper import printed

SEEDS = 10

Column = tuple[str, float]
"""A measure and its strength, such as ("white", 0.2); clean inputs are ("clean", 0.0)."""

CLEAN: Column = ("clean", 0.0)


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A table as printed: its columns, and a line of numbers for each model.

    >>> TABLES["table-1"].number("lipschitz", ("white", 0.2))
    78.9
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    lines: dict[str, tuple[float, ...]]
    note: str = ""

    def number(self, model: str, column: Column) -> float | None:
        """The printed accuracy, or None where the paper has none; it stands for clipped inputs and for others."""
        asked = (column[0].removesuffix(" clipped"), column[1])
        if model not in self.lines or asked not in self.columns:
            return None
        return self.lines[model][self.columns.index(asked)]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A data set of the paper, the tables about it and the figure that draws them.

    A variant reads the paper in another way: it is shown when it was run, and not missed otherwise.
    """

    name: str
    title: str
    about: str
    tables: tuple[str, ...]
    figure: str
    variant: bool = False

    @property
    def experiments(self) -> tuple[str, ...]:
        return (*self.tables, self.figure)

    def number(self, model: str, column: Column) -> float | None:
        """The printed accuracy in any table of the task."""
        found = (TABLES[table].number(model, column) for table in self.tables)
        return next((number for number in found if number is not None), None)


_TASKS = (
    Task(
        name="ordered-mnist",
        title="Ordered MNIST",
        about="Handwritten digits, shown to the network one pixel at a time: 784 steps, ten classes.",
        tables=("table-1", "table-2"),
        figure="figure-1",
    ),
    Task(
        name="ecg",
        title="Electrocardiograms",
        about="Heart beats of 140 steps, normal or abnormal: 500 for training, 500 for validation, 4000 for testing.",
        tables=("table-3",),
        figure="figure-2",
    ),
    Task(
        name="permuted-mnist",
        title="Permuted MNIST",
        about="The digits again, with their pixels shown in one fixed random order.",
        tables=("table-5",),
        figure="figure-4",
    ),
    Task(
        name="permuted-mnist-raw",
        title="Permuted MNIST with pixels from 0 to 255",
        about="Another reading of the paper: pixels are not scaled, so that the same noise is a smaller disturbance.",
        tables=("table-5-raw",),
        figure="figure-4-raw",
        variant=True,
    ),
)


def _read_otherwise(task: Task) -> Task:
    """The same task with other readings of what the paper says of disturbed pixels."""
    return replace(
        task,
        name=f"{task.name}-readings",
        title=f"{task.title}, other readings of the noise",
        about="Uniform noise between 0 and σ for the paper's white noise, and for its salt and pepper defective pixels "
        "that all become 1: readings chosen after the fact, because they come nearer to many of the paper's numbers.",
        tables=(f"{task.tables[0]}-readings",),
        figure=f"{task.figure}-readings",
        variant=True,
    )


TASKS = tuple(one for task in _TASKS for one in ((task, _read_otherwise(task)) if "mnist" in task.name else (task,)))


def _table(name: str, numbers: str, caption: str, note: str = "") -> Printed:
    lines = printed(numbers)
    columns = tuple(_column(label) for label in next(iter(lines.values())))
    return Printed(
        name=name,
        caption=caption,
        columns=columns,
        lines={model: tuple(line.values()) for model, line in lines.items()},
        note=note,
    )


def _column(label: str) -> Column:
    measure, _, level = label.partition(":")
    return measure, float(level or 0)


TABLES = {
    table.name: table
    for table in (
        _table(
            "table-1", "ordered-mnist", "Robustness to white noise (σ) and to salt and pepper (α) on ordered MNIST."
        ),
        _table(
            "table-2",
            "ordered-mnist-fgsm",
            "Robustness to adversarial perturbations (fast gradient sign, radius r) on ordered MNIST.",
            note="The paper does not say whether attacked pixels are clipped; its numbers stand beside both.",
        ),
        _table("table-3", "ecg", "Robustness to white (σ) and multiplicative (σₘ) noise on electrocardiograms."),
        _table(
            "table-5",
            "permuted-mnist",
            "Robustness to white noise (σ) and to salt and pepper (α) on permuted MNIST.",
            note="The paper prints Lipschitz RNN in bold on clean inputs, although its number for coRNN is higher. "
            "At σ = 0.1 both of its numbers for the NRNN are below the one for Lipschitz RNN.",
        ),
    )
}
TABLES["table-5-raw"] = replace(TABLES["table-5"], name="table-5-raw", note="")
_READ_AS = {"white": "uniform", "salt-pepper": "salt"}
for _name in ("table-1", "table-5", "table-5-raw"):
    TABLES[f"{_name}-readings"] = replace(
        TABLES[_name],
        name=f"{_name}-readings",
        caption="Robustness to uniform noise in [0, σ] and to salt (α), beside the paper's numbers for white noise and "
        "for salt and pepper.",
        columns=tuple((_READ_AS.get(measure, measure), level) for measure, level in TABLES[_name].columns),
        note="",
    )
