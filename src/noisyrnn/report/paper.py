"""What the paper prints: tables 1, 2, 3 and 5, test accuracy in percent, mean over 10 seeds, hidden size 128.

S. H. Lim, N. B. Erichson, L. Hodgkinson and M. W. Mahoney, "Noisy Recurrent Neural Networks", NeurIPS 2021.
"""

# ruff: noqa: RUF001 (Greek letters and the minus sign are meant)
from __future__ import annotations

from dataclasses import dataclass, replace

SEEDS = 10
EPOCHS = 100

Column = tuple[str, float]
"""A measure and its strength, such as ("white", 0.2); clean inputs are ("clean", 0.0)."""

CLEAN: Column = ("clean", 0.0)
_PIXELS = (
    CLEAN, ("white", 0.1), ("white", 0.2), ("white", 0.3),
    ("salt-pepper", 0.03), ("salt-pepper", 0.05), ("salt-pepper", 0.1),
)  # fmt: skip
_BEATS = (
    CLEAN, ("white", 0.4), ("white", 0.8), ("white", 1.2),
    ("multiplicative", 0.4), ("multiplicative", 0.8), ("multiplicative", 1.2),
)  # fmt: skip


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


TASKS = (
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

TABLES = {
    table.name: table
    for table in (
        Printed(
            name="table-1",
            caption="Robustness to white noise (σ) and to salt and pepper (α) on ordered MNIST.",
            columns=_PIXELS,
            lines={
                "antisymmetric": (97.5, 45.7, 22.3, 17.0, 77.1, 63.9, 42.6),
                "cornn": (99.1, 96.6, 61.9, 32.1, 95.6, 88.1, 58.9),
                "exprnn": (96.7, 86.7, 58.1, 33.3, 83.6, 70.7, 43.4),
                "lipschitz": (99.2, 98.4, 78.9, 47.1, 97.6, 93.4, 73.5),
                "nrnn mult 0.02 add 0.02": (99.1, 98.9, 88.4, 62.9, 98.3, 95.6, 78.7),
                "nrnn mult 0.02 add 0.05": (99.1, 98.9, 92.2, 73.5, 98.5, 97.1, 85.5),
            },
        ),
        Printed(
            name="table-2",
            caption="Robustness to adversarial perturbations (fast gradient sign, radius r) on ordered MNIST.",
            columns=(("fgsm", 0.01), ("fgsm", 0.05), ("fgsm", 0.1), ("fgsm", 0.15)),
            lines={
                "antisymmetric": (79.4, 24.7, 11.4, 10.2),
                "cornn": (97.5, 85.5, 55.9, 35.1),
                "exprnn": (94.5, 59.3, 19.7, 14.3),
                "lipschitz": (98.1, 85.7, 58.9, 37.1),
                "nrnn mult 0.02 add 0.02": (98.8, 94.3, 79.6, 58.3),
                "nrnn mult 0.02 add 0.05": (98.8, 95.5, 86.8, 70.6),
            },
            note="The paper does not say whether attacked pixels are clipped; its numbers stand beside both.",
        ),
        Printed(
            name="table-3",
            caption="Robustness to white (σ) and multiplicative (σₘ) noise on electrocardiograms.",
            columns=_BEATS,
            lines={
                "antisymmetric": (97.1, 96.6, 91.6, 77.0, 96.6, 94.6, 91.2),
                "cornn": (97.5, 96.8, 92.9, 87.2, 93.9, 85.4, 78.4),
                "exprnn": (97.4, 95.6, 86.4, 76.7, 95.7, 89.4, 81.3),
                "lipschitz": (97.7, 97.4, 95.1, 88.9, 97.6, 97.0, 95.6),
                "nrnn mult 0.03 add 0.06": (97.7, 97.5, 96.3, 92.6, 97.7, 97.3, 96.5),
            },
        ),
        Printed(
            name="table-5",
            caption="Robustness to white noise (σ) and to salt and pepper (α) on permuted MNIST.",
            columns=_PIXELS,
            lines={
                "antisymmetric": (92.8, 92.4, 89.5, 81.9, 90.5, 87.9, 72.6),
                "cornn": (96.05, 65.1, 38.25, 29.1, 84.8, 73.8, 52.6),
                "exprnn": (93.3, 90.6, 78.4, 61.6, 80.4, 70.6, 51.6),
                "lipschitz": (95.9, 95.4, 93.5, 83.7, 93.7, 90.2, 70.8),
                "nrnn mult 0.02 add 0.02": (94.9, 94.8, 94.6, 94.3, 94.0, 93.1, 88.6),
                "nrnn mult 0.02 add 0.05": (94.7, 94.6, 94.6, 94.4, 94.0, 93.2, 90.5),
            },
            note="The paper prints Lipschitz RNN in bold on clean inputs, although its number for coRNN is higher. "
            "At σ = 0.1 both of its numbers for the NRNN are below the one for Lipschitz RNN.",
        ),
    )
}
TABLES["table-5-raw"] = replace(TABLES["table-5"], name="table-5-raw", note="")
