"""Cells have the right numbers, and what was not run stays visible."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisyrnn.about import About
from noisyrnn.report import labels
from noisyrnn.report.tables import Cell, Table, deviation, mean, printed_number, runs, table
from noisyrnn.rows import Row


def filled(synthetic, rows: list[Row], name: str = "table-3") -> Table:
    about = synthetic.ABOUTS[name]
    members = sorted(synthetic.members(about.place.name), key=lambda member: member.figure)
    return table(about, runs(rows, [member.name for member in members]), labels.names(members, rows))


def own(rows: list[Row], name: str) -> Table:
    """The table of an experiment that the paper does not have."""
    return table(About(name=name), runs(rows, (name,)), {})


def cell(full: Table, model: str, column: tuple[str, float], protocol: str | None = None) -> Cell:
    line = next(line for line in full.lines if line.model == model and protocol in (None, line.protocol))
    return line.cells[full.columns.index(column)]


@given(st.lists(st.floats(0, 100), min_size=2, max_size=20))
def test_mean_and_deviation_are_those_of_the_sample(values: list[float]) -> None:
    assert mean(values) == pytest.approx(statistics.fmean(values))
    assert deviation(values) == pytest.approx(statistics.stdev(values), abs=1e-9)


def test_cell_has_mean_deviation_seeds_and_difference(synthetic) -> None:
    values = [88.0, 89.0, 92.0]
    rows = [synthetic.row(seed=seed, measure="white", level=1.2, value=value) for seed, value in enumerate(values)]
    one = cell(filled(synthetic, rows), "lipschitz", ("white", 1.2))
    assert (one.mean, one.seeds, one.paper) == (pytest.approx(89.6667, abs=1e-4), 3, 88.9)
    assert one.deviation == pytest.approx(statistics.stdev(values))
    assert one.difference == pytest.approx(0.7667, abs=1e-4)
    assert not one.far


@pytest.mark.parametrize(("value", "far"), [(90.8, False), (91.0, True), (86.8, True)])
def test_cells_far_from_the_paper_are_pointed_out(synthetic, value: float, far: bool) -> None:
    full = filled(synthetic, [synthetic.row(measure="white", level=1.2, value=value)])
    assert cell(full, "lipschitz", ("white", 1.2)).far is far
    assert len(full.far) == far


def test_one_seed_has_no_deviation_and_the_rest_is_not_run(synthetic) -> None:
    full = filled(synthetic, [synthetic.row()])
    assert cell(full, "lipschitz", ("clean", 0.0)).deviation is None
    assert cell(full, "lipschitz", ("white", 0.4)).mean is None
    assert cell(full, "lipschitz", ("white", 0.4)).paper == 97.4
    assert [line.model for line in full.lines] == list(synthetic.ABOUTS["table-3"].printed.lines)
    assert [line.protocol for line in full.lines if line.model != "lipschitz"] == ["not run"] * 4
    assert not filled(synthetic, [], "table-5").run


def test_protocols_are_never_mixed(synthetic) -> None:
    rows = [synthetic.row(seed=seed, value=97.0) for seed in range(10)]
    rows += [synthetic.row(seed=seed, value=50.0, epochs=5, overrides={"epochs": 5, "seeds": 2}) for seed in range(2)]
    full = filled(synthetic, rows)
    assert cell(full, "lipschitz", ("clean", 0.0), "paper").mean == 97
    reduced = cell(full, "lipschitz", ("clean", 0.0), "reduced: epochs 5, seeds 2")
    assert (reduced.mean, reduced.seeds) == (50, 2)


@pytest.mark.parametrize("model", ["lipschitz", "lstm"])
def test_longer_training_stands_above_shorter(synthetic, model: str) -> None:
    rows = [
        synthetic.row(model=model, epochs=epochs, overrides={"epochs": epochs, "seeds": 1}) for epochs in (30, 9, 10)
    ]
    rows.append(synthetic.row(model=model))
    shown = [line.epochs for line in filled(synthetic, rows).lines if line.model == model]
    assert shown == ["100", "30", "10", "9"]
    assert [line.epochs for line in own(rows, "table-3").lines] == shown


def test_a_seed_counts_once_whoever_measured_it(synthetic) -> None:
    rows = [synthetic.row(value=97.0), synthetic.row(experiment="figure-2", value=50.0)]
    rows += [synthetic.row(key="again", value=96.0, created="2001-01-02T00:00:00Z")]
    for order in (rows, rows[::-1]):
        one = cell(filled(synthetic, order), "lipschitz", ("clean", 0.0))
        assert (one.mean, one.seeds) == (96.0, 1)


def test_figure_rows_fill_cells_that_the_table_lacks_but_add_no_columns(synthetic) -> None:
    rows = [synthetic.row(experiment="figure-2", measure="white", level=level, value=95.0) for level in (0.4, 0.5)]
    full = filled(synthetic, rows)
    assert full.columns == synthetic.ABOUTS["table-3"].printed.columns
    assert cell(full, "lipschitz", ("white", 0.4)).mean == 95


def test_own_models_and_own_measures_are_shown(synthetic) -> None:
    full = filled(
        synthetic, [synthetic.row(), synthetic.row(model="lstm"), synthetic.row(measure="pgd", level=0.1, value=10.0)]
    )
    assert full.columns[-1] == ("pgd", 0.1)
    assert [line.own for line in full.lines] == [False] * 5 + [True]
    assert cell(full, "lstm", ("clean", 0.0)).paper is None


def test_printed_attacks_stand_beside_clipped_ones_too(synthetic) -> None:
    rows = [synthetic.row(experiment="table-2", measure="fgsm clipped", level=0.1, value=60.0)]
    full = filled(synthetic, rows, "table-2")
    assert cell(full, "lipschitz", ("fgsm clipped", 0.1)).paper == 58.9
    assert cell(full, "lipschitz", ("fgsm", 0.1)).mean is None


def test_best_is_marked_within_one_protocol(synthetic) -> None:
    rows = [synthetic.row(value=97.0), synthetic.row(model="cornn", value=98.0)]
    rows += [synthetic.row(model="exprnn", value=99.0, overrides={"epochs": 5, "seeds": 1}, epochs=5)]
    full = filled(synthetic, rows)
    marked = {line.model: line.cells[0].best for line in full.lines}
    assert marked == {"antisymmetric": False, "cornn": True, "exprnn": False, "lipschitz": False,
                      "nrnn mult 0.03 add 0.06": False}  # fmt: skip


def test_more_seeds_do_not_make_a_best_of_their_own(synthetic) -> None:
    rows = [synthetic.row(model="cornn", value=98.0), synthetic.row(model="lipschitz", value=99.0)]
    rows += [synthetic.row(model="cornn", value=98.0, seed=1)]
    full = filled(synthetic, rows)
    assert [line.model for line in full.lines if line.cells[0].best] == ["lipschitz"]
    assert {line.protocol for line in full.lines if line.seeds} == {"reduced: seeds 1", "reduced: seeds 2"}


def test_own_experiment_takes_its_columns_from_its_rows(synthetic) -> None:
    rows = [
        synthetic.row(experiment="demo", measure=measure, level=level)
        for measure, level in (("white", 0.2), ("clean", 0))
    ]
    full = own(rows, "demo")
    assert full.columns == (("clean", 0.0), ("white", 0.2))


def test_printed_tables_are_whole(synthetic) -> None:
    tables = [about.printed for about in synthetic.PAPER if about.printed and not about.place.variant]
    assert len(tables) == 4
    for printed in tables:
        assert all(len(line) == len(printed.columns) for line in printed.lines.values())
    assert printed_number(synthetic.members("permuted-mnist"), "cornn", ("white", 0.2)) == 38.25
    # The numbers for attacks stand in two columns each, and the paper prints them once.
    assert sum(
        number
        for printed in tables
        for line in printed.lines.values()
        for (measure, _), number in zip(printed.columns, line, strict=True)
        if measure != "fgsm clipped"
    ) == pytest.approx(11527.2, abs=1e-6)
