"""The ablation's figure follows each kind of noise over its strengths."""

from __future__ import annotations

import pytest

from noisyrnn.report.ablation import ablation_figures
from noisyrnn.report.page import page
from noisyrnn.report.story import tell
from noisyrnn.report.tables import runs


@pytest.fixture
def rows(synthetic):
    """Accuracies that say where they come from: 90, less ten times the additive noise, less the multiplicative."""
    pairs = [(0, 0)] + [pair for s in (0.1, 0.4) for pair in ((s, 0), (0, s), (s, s))]
    return [
        synthetic.row(
            experiment="ablation", model=f"nrnn mult {m:g} add {a:g}", seed=seed, protocol="ours", measure=measure,
            level=level, value=90 - 10 * a - m - seed, key=f"{m} {a} {seed}",
            description={"kind": "noisy", "multiplicative": m, "additive": a},
        )
        for a, m in pairs
        for seed in (0, 2)
        for measure, level in (("clean", 0), ("white", 0.4), ("white", 1.2), ("multiplicative", 1.2))
    ]  # fmt: skip


def test_each_kind_runs_over_its_strengths_from_none(rows) -> None:
    [figure] = ablation_figures("ablation", "Which noise", runs(rows, ("ablation",)))
    assert [panel.heading for panel in figure.panels] == [
        "Clean",
        "White noise σ = 1.2",
        "Multiplicative noise σₘ = 1.2",
    ]
    additive, multiplicative, both = figure.panels[1].curves
    assert additive.levels == multiplicative.levels == both.levels == (0, 0.1, 0.4)
    assert additive.means == pytest.approx((89, 88, 85))
    assert multiplicative.means == pytest.approx((89, 88.9, 88.6))
    assert both.means == pytest.approx((89, 87.9, 84.6))
    assert additive.deviations == pytest.approx((2**0.5,) * 3)


def test_other_rows_have_no_such_figure(rows, synthetic) -> None:
    lonely = [row for row in rows if row.model.endswith("add 0")]
    assert ablation_figures("ablation", "", runs(lonely, ("ablation",))) == ()
    assert ablation_figures("table-3", "", runs([synthetic.row()], ("table-3",))) == ()


def test_the_page_draws_it(rows, synthetic) -> None:
    drawn = page(tell(synthetic.results(rows)))
    assert "strength in training" in drawn
    assert "only multiplicative noise" in drawn
