"""A recipe's leads: against the best other of each column, over the seeds that both have."""

from __future__ import annotations

import pytest
from leads import Leads

from noisyrnn.report import Row
from noisyrnn.rows import Description


def row(model: str, seed: int, measure: str, value: float) -> Row:
    return Row(
        experiment="leader", key=f"{model} {seed}", model=model, seed=seed, measure=measure, value=value, epochs=50,
        level=0.0 if measure == "clean" else 0.4, task="ecg", description=Description(kind=model),
    )  # fmt: skip


ROWS = [
    *(row("lru", seed, "clean", value) for seed, value in enumerate((98.0, 98.5, 99.0))),
    *(row("cornn", seed, "clean", value) for seed, value in enumerate((97.0, 97.5, 98.0))),
    *(row("exprnn", seed, "clean", 90.0) for seed in range(3)),
    *(row("lru", seed, "white", value) for seed, value in enumerate((95.0, 96.0, 97.0))),
    *(row("cornn", seed, "white", 90.0) for seed in range(3)),
    row("exprnn", 1, "white", 97.0),
]


def test_each_column_has_the_best_other_and_the_seeds_that_both_have() -> None:
    found = Leads(ROWS, "leader", "lru")
    clean, white = str(found).splitlines()[2:]
    assert clean == "| Clean | 98.5 | 97.5 | coRNN | +1.0 | +1.0 to +1.0 |"
    assert white == "| White noise σ = 0.4 | 96.0 | 97.0 | Exponential RNN | −1.0 | one seed |"
    assert (found.others(), found.columns(), found.ahead(), found.decided()) == ("2", "2", "1", "1")


def test_the_others_may_be_named() -> None:
    clean, white = str(Leads(ROWS, "leader", "lru", among="exp*")).splitlines()[2:]
    assert clean == "| Clean | 98.5 | 90.0 | Exponential RNN | +8.5 | +7.3 to +9.7 |"
    assert white == "| White noise σ = 0.4 | 96.0 | 97.0 | Exponential RNN | −1.0 | one seed |"
    assert Leads(ROWS, "leader", "lru", among="").columns() == "0"


def test_a_recipe_that_was_not_run_is_an_error() -> None:
    with pytest.raises(LookupError, match="no rows of 'lstm'"):
        Leads(ROWS, "leader", "lstm")
    with pytest.raises(LookupError, match="no rows of 'lru'"):
        Leads(ROWS, "leader", "lru", epochs=30)
