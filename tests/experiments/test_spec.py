"""Experiments as values: the paper's protocol, JSON there and back, stable identities, honest labels."""

from __future__ import annotations

import pytest
from tiny import tiny

from noisyrnn.data import ECG5000
from noisyrnn.experiments import EXPERIMENTS, Experiment, Run, experiment, override, reduced
from noisyrnn.experiments.catalogue import noise_search
from noisyrnn.experiments.plan import jobs
from noisyrnn.models import Convention, Noisy
from noisyrnn.published import tables
from noisyrnn.report import labels
from noisyrnn.rows import OURS


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments_survive_json(name: str) -> None:
    value = EXPERIMENTS[name]
    assert Experiment.model_validate_json(value.model_dump_json()) == value
    assert value.name == name
    runs = [run for _, run in value.runs()]
    assert len({run.key for run in runs}) == len(runs)
    assert Run.model_validate_json(runs[0].model_dump_json()).key == runs[0].key


@pytest.mark.parametrize("name", ["table-1", "table-2", "table-3", "table-5"])
def test_tables_have_the_papers_rows_and_columns(name: str) -> None:
    value = EXPERIMENTS[name]
    assert value.printed is not None
    assert value.printed.lines.keys() <= value.recipes.keys()
    assert set(value.printed.columns) == {(one.name, one.level) for one in value.measurements}
    assert value.protocol == "paper"
    assert value.seeds == 10


def test_the_protocol_is_the_papers() -> None:
    tuning = tables()["tuning"]
    for name, label, row in (
        ("table-1", "nrnn mult 0.02 add 0.02", "ordered-mnist small"),
        ("table-1", "nrnn mult 0.02 add 0.05", "ordered-mnist large"),
        ("table-5", "nrnn mult 0.02 add 0.05", "permuted-mnist large"),
        ("table-3", "nrnn mult 0.03 add 0.06", "ecg"),
    ):
        recipe = EXPERIMENTS[name].recipes[label]
        model, train = recipe.model, recipe.train
        assert isinstance(model, Noisy)
        assert [
            model.hidden, train.lr, train.decay[90], model.beta, model.gamma_a, model.gamma_w, model.dt,
            model.init_scale, model.additive, model.multiplicative,
        ] == tuning[row]  # fmt: skip
        assert train.epochs == 100
        assert model.convention is Convention.RELEASED
    small = {
        "demo",
        "noisy-cells",
        "noisy-cells-search",
        "rivals-mnist",
        "rivals-mnist-search",
        "leader",
        "leader-search",
    }
    for name, value in EXPERIMENTS.items():
        if name in small or name.startswith("certified"):
            assert value.protocol == OURS  # small on purpose, and labelled so
            continue
        for recipe in value.recipes.values():
            assert recipe.model.hidden == 128
            assert (recipe.train.epochs, recipe.train.best, recipe.train.patience) == (100, False, None)


def test_tables_and_figures_share_their_runs() -> None:
    shared = [
        EXPERIMENTS[name]
        for name in (
            "table-1",
            "table-1-readings",
            "table-2",
            "table-2-pgd",
            "table-2-apgd",
            "figure-1",
            "state-faults-mnist",
        )
    ]
    assert len(jobs(shared)) == len(jobs(shared[:1]))
    raw = [EXPERIMENTS[name] for name in ("table-5-raw", "table-5-raw-readings", "table-5-raw-scaled")]
    assert len(jobs(raw)) == len(jobs(raw[:1]))
    assert len(jobs([EXPERIMENTS["table-3"], EXPERIMENTS["figure-2"]])) == len(jobs([EXPERIMENTS["table-3"]]))


def test_figures_have_finer_grids_that_contain_the_tables_levels() -> None:
    for figure, table in (("figure-1", "table-1"), ("figure-2", "table-3"), ("figure-4", "table-5")):
        fine, coarse = ({str(m) for m in EXPERIMENTS[name].measurements} for name in (figure, table))
        assert coarse < fine


def test_identities_do_not_move() -> None:
    """Directories of earlier runs are found by these keys."""
    first = {}
    for label, run in EXPERIMENTS["table-3"].runs():
        first.setdefault(label, run.key)
    assert first["lipschitz"] == "4ae852ca82b2f3af"


def test_reduced_protocols_are_labelled() -> None:
    value = reduced(experiment("table-1"), epochs=30, seeds=1, models=["lipschitz", "nrnn*0.05"])
    assert (value.protocol, value.overrides) == ("paper", {"epochs": 30, "seeds": 1})
    assert [*value.recipes] == [
        "lipschitz", "nrnn mult 0.02 add 0.05", "nrnn ito mult 0.02 add 0.05", "nrnn ito matched mult 0.02 add 0.05",
    ]  # fmt: skip
    assert value.recipes["lipschitz"].train.decay == {27: 0.1}
    assert reduced(experiment("table-1"), epochs=20).recipes["lipschitz"].train.decay == {18: 0.1}
    assert reduced(experiment("table-3"), epochs=100, seeds=10, models=["lstm"]).overrides == {}
    further = reduced(value, overrides={"model.hidden": 16})
    assert further.overrides == {"epochs": 30, "seeds": 1, "model.hidden": 16}
    assert {recipe.model.hidden for recipe in further.recipes.values()} == {16}
    searched = reduced(noise_search(draws=2), seeds=1)
    assert (searched.protocol, searched.overrides) == ("ours", {"seeds": 1})


def test_overrides_reach_data_and_only_models_that_have_them() -> None:
    value = reduced(
        experiment("table-3"),
        overrides=dict(map(override, ["data.split_seed=3", "model.additive=0.2", 'train.decay={"5": 0.5}'])),
    )
    assert value.data == ECG5000(split_seed=3)
    assert value.recipes["nrnn mult 0.03 add 0.06"].model.additive == 0.2
    assert value.recipes["lstm"].model == experiment("table-3").recipes["lstm"].model
    assert value.recipes["lstm"].train.decay == {5: 0.5}


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("train.learning_rate", 1, "valid keys of train are adversary, batch"),
        ("model.sigma", 1, "valid keys of model are activation"),
        ("lr", 1, "keys begin with train., model. or data."),
        ("data.colour", 1, "valid keys of data are classes"),
        ("train.lr", -1, "train.lr=-1 is refused: lr: input should be greater than 0, got -1."),
        ("train.optimiser", "sgd", "train.optimiser=sgd is refused"),
        ("train.decay", {100: 0.1}, "never happens in 100 epochs"),
    ],
)
def test_wrong_overrides_are_one_sentence(key: str, value: object, complaint: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        reduced(experiment("table-3"), overrides={key: value})
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_models_and_names_are_one_sentence() -> None:
    with pytest.raises(ValueError, match="has no model 'gru'; choose from 'antisymmetric'"):
        reduced(experiment("table-3"), models=["gru"])
    with pytest.raises(ValueError, match=r"did you mean table-\d\?"):
        experiment("table-4")
    with pytest.raises(ValueError, match="form key=value"):
        override("train.lr")


def test_noise_levels_are_drawn_from_the_papers_range() -> None:
    models = [recipe.model for recipe in noise_search(draws=40).recipes.values()]
    strengths = [strength for model in models for strength in (model.additive, model.multiplicative)]
    assert 0.01 <= min(strengths) < 0.02
    assert 0.09 < max(strengths) <= 0.1
    assert noise_search(seed=1).recipes.keys() != noise_search(seed=2).recipes.keys()
    assert all(measurement.part.value == "validation" for measurement in noise_search().measurements)


def test_what_is_known_of_an_experiment_is_said_once_and_travels() -> None:
    for name, value in EXPERIMENTS.items():
        about = value.about()
        assert about.name == name
        assert about.claim
        assert about.place.title
        assert about.place.text
        assert about.models.keys() == value.recipes.keys()
        compared = {model for claim in about.claims() for model in (claim.better, claim.worse)}
        assert compared <= about.models.keys()
    claims = [claim for value in EXPERIMENTS.values() for claim in value.claims()]
    assert len(claims) == len(set(claims)) == 65 + 5  # the paper's, and the demonstration's


def test_every_name_in_a_table_is_its_own() -> None:
    for value in EXPERIMENTS.values():
        names = [labels.model(recipe.description) for recipe in value.recipes.values()]
        assert len(names) == len(set(names)), value.name


def test_every_whole_number_that_a_file_can_set_has_an_end() -> None:
    """What strangers write into an experiment may ask for much work, but not for work or memory without end."""
    kinds = Experiment.model_json_schema()
    assert len(kinds["$defs"]) > 30
    endless = [
        f"{name}.{field}"
        for name, kind in kinds["$defs"].items()
        for field, told in kind.get("properties", {}).items()
        for form in (told, *told.get("anyOf", ()))
        if form.get("type") == "integer" and not {"maximum", "exclusiveMaximum", "enum"} & form.keys()
    ]
    # A column's number is looked up in the table, which has as many as it has.
    assert [name for name in endless if name != "Table.label"] == []


def test_two_workers_get_runs_of_a_slow_model_by_turns() -> None:
    models = ["lipschitz", "nrnn", "exprnn"]
    runs = [(label, run.seed) for label, run in tiny(seeds=3).runs()]
    assert runs == [(label, seed) for seed in range(3) for label in (reversed(models) if seed == 1 else models)]
