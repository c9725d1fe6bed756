"""The pages on results: each is what its template and the recorded rows say, and what they quote is computed right."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from jinja2 import Environment, StrictUndefined
from make import PAGES, results, templates
from prose import wrapped
from quoted_rows import Recorded
from quoted_studies import Curvature, Readings

from noisyrnn.experiments import EXPERIMENTS
from noisyrnn.report import Reading, Results, Row, tell

PLAIN, NOISY = "lipschitz", "nrnn mult 0.02 add 0.05"


def test_pages_are_what_templates_and_rows_say() -> None:
    assert {Path(template).stem for template in templates()} == {path.name for path in PAGES.glob("*.md")}
    results(PAGES, check=True)


def test_a_stale_page_is_found(tmp_path: Path) -> None:
    for page in PAGES.glob("*.md"):
        shutil.copy(page, tmp_path)
    page = tmp_path / "readings.md"
    assert "on average 0.8 (Lipschitz)" in page.read_text()
    page.write_text(page.read_text().replace("on average 0.8 (Lipschitz)", "on average 0.9 (Lipschitz)"))
    with pytest.raises(SystemExit, match=r"readings\.md is stale at line \d+, .*0\.9 .* should be .*0\.8 "):
        results(tmp_path, check=True)


def rows() -> list[Row]:
    """Two models of table 1 with two seeds each; the noisy one after 10 epochs, too."""
    given = {
        (PLAIN, 100, "clean", 0.0): (99.0, 98.0),
        (PLAIN, 100, "white", 0.1): (90.0, 91.0),
        (PLAIN, 100, "white", 0.2): (72.0, 72.0),
        (NOISY, 100, "clean", 0.0): (98.0, 98.0),
        (NOISY, 100, "white", 0.1): (96.0, 97.0),
        (NOISY, 10, "white", 0.1): (50.0, 52.0),
    }
    return [
        Row(
            experiment="table-1", key=f"{model} {epochs} {seed}", model=model, seed=seed, measure=measure, level=level,
            value=value, epochs=epochs, overrides={} if epochs == 100 else {"epochs": epochs}, task="ordered-mnist",
            description=EXPERIMENTS["table-1"].recipes[model].description,
        )
        for (model, epochs, measure, level), seeds in given.items()
        for seed, value in enumerate(seeds)
    ]  # fmt: skip


def written(call: str) -> str:
    experiments = {name: EXPERIMENTS[name].about() for name in ("table-1", "table-2", "figure-1")}
    values = Recorded(tell(Results(reading=Reading(tuple(rows())), experiments=experiments))).values()
    return Environment(undefined=StrictUndefined).from_string("{{ " + call + " }}").render(values)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("accuracy('table-1', 'lipschitz')", "98.5"),
        ("accuracy('table-1', 'lipschitz', 'white', 0.1)", "90.5"),
        ("accuracy('table-1', 'nrnn mult 0.02 add 0.05', 'white', 0.1, epochs=10)", "51.0"),
        ("paper('table-1', 'lipschitz', 'white', 0.3)", "47.1"),
        ("difference('table-1', 'nrnn mult 0.02 add 0.05', 'lipschitz', 'white', 0.1)", "6.0"),
        ("paper_difference('table-1', 'nrnn mult 0.02 add 0.05', 'lipschitz', 'white', 0.3)", "26.4"),
        ("lost('table-1', 'lipschitz', 'white', 0.2)", "26.5"),
        ("paper_lost('table-1', 'lipschitz', 'white', 0.3)", "52.1"),
        ("away('table-1', 'lipschitz', 'white')", "7.4"),  # 98.4 and 78.9 in the paper
        ("furthest('table-1', 'lipschitz', 'white')", "7.9"),
        ("lowest('table-1', ['lipschitz', 'nrnn mult 0.02 add 0.05'])", "98.0"),
        ("highest('table-1', ['lipschitz', 'nrnn mult 0.02 add 0.05'])", "98.5"),
        ("best('table-1')", "Lipschitz RNN"),
    ],
)
def test_calls_give_numbers_of_the_rows(call: str, text: str) -> None:
    assert written(call) == text


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("accuracy('table-9', 'lipschitz')", "There is no table 'table-9'"),
        ("accuracy('table-1', 'lstm')", "0 lines of 'lstm' after 100 epochs"),
        ("accuracy('table-1', 'lipschitz', epochs=30)", "0 lines of 'lipschitz' after 30 epochs"),
        ("accuracy('table-1', 'lipschitz', 'white', 0.7)", "no column white 0.7"),
        ("accuracy('table-1', 'lipschitz', 'white', 0.3)", "not measured under white 0.3"),
        ("paper('table-1', 'lstm')", "The paper has no accuracy of lstm"),
    ],
)
def test_what_was_not_run_is_an_error(call: str, reason: str) -> None:
    with pytest.raises(LookupError, match=reason):
        written(call)


def test_a_table_has_ours_beside_the_papers() -> None:
    table = written("table('table-1')")
    assert "| NRNN 0.02/0.05 | 2 | 100 | reduced: seeds 2 |" in table
    assert "**96.5 ± 0.7** (98.9, −2.4)" in table
    assert "### " not in table


def test_claims_have_verdicts() -> None:
    claims = written("claims('ordered-mnist')")
    assert "> the NRNNs show an improved resilience to input perturbations (Table 1)" in claims
    assert "| NRNN 0.02/0.05 beats Lipschitz RNN under white noise σ = 0.1 | +0.5 | +6.0 |" in claims
    assert "1 holds" in written("verdicts('ordered-mnist')")


def test_sentences_are_counted_with_the_protocol_that_decides_and_what_opposes_them_is_listed() -> None:
    sentences = written("sentences()")
    assert (
        "| “the NRNNs show an improved resilience to input perturbations” | Table 1, Ordered MNIST | 12 |" in sentences
    )
    assert "| 1 holds, 11 not run | reduced: seeds 2 |" in sentences
    assert written("decided_by('ordered-mnist')") == "reduced: seeds 2"
    assert written("opposed()") == "No comparison comes out against the paper."
    assert [written(call) for call in ("ran('table-1', 'lipschitz')", "ran('table-1', 'lstm')", "ran('table-3')")] == [
        "True", "False", "False",
    ]  # fmt: skip
    assert written("seeds('table-1')") == "2"


def test_studies_are_averaged_over_levels_networks_and_groups() -> None:
    found = {"a": {"clipped": {"accuracy": {"0.1": 90.04}, "distance": 1.0}}, "b": {"clipped": {"distance": 2.0}}}
    readings = Readings({"found": found})
    assert (readings.accuracy("a", "clipped", 0.1), readings.away("b", "clipped")) == ("90.0", "2.0")
    assert readings.mean_away("clipped") == "1.5"
    curvature = Curvature({"found": {"a": {"top": [1.0, 3.0]}, "b": {"top": [11.0, 33.0]}}})
    assert curvature.mean("b", "top") == "22 ± 11"
    assert curvature.change("a", "b", "top") == "−20 ± 10"


def test_prose_is_wrapped_and_all_else_is_left() -> None:
    word = "noise " * 50
    table, code = "| " + word * 3 + "|", "    " + word * 2
    text = wrapped(lambda: f"# Title\n\n{word}\n\n- {word}\n- two\n\n{table}\n\n{code}\n")
    lines = text.splitlines()
    assert table.rstrip() in lines
    assert code.rstrip() in lines
    assert max(len(line) for line in lines if not line.startswith(("|", "    "))) <= 120
    assert sum(line.startswith("- ") for line in lines) == 2


def test_wrapping_makes_no_list_of_a_dash() -> None:
    # The dash would be the first sign of the second line.
    text = wrapped(lambda: "x" * 117 + " yy - and more")
    assert text.splitlines() == ["x" * 117 + " yy - and more"]
