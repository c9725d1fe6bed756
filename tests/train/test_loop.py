"""Training: resumed equals uninterrupted, bit by bit; rates, groups and doors are what the settings say."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from noisyrnn.attack import FGSM
from noisyrnn.checkpoint import Checkpoint, CheckpointError, load, load_network, save
from noisyrnn.data import Split
from noisyrnn.evaluate import accuracy, predictions
from noisyrnn.models import ClassicRNNSetting, Convention, ExpRNNSetting, Lipschitz, Model, Noisy, Optimiser, preset
from noisyrnn.perturb import White
from noisyrnn.rnn import Classifier
from noisyrnn.setting import InvalidSetting
from noisyrnn.train import Diverged, Moment, Train, fit, fresh, loop, optimiser_for

MODELS: dict[str, Model] = {
    "released": Noisy(hidden=6, additive=0.1, multiplicative=0.1, dt=0.1),
    "ito": Noisy(hidden=6, additive=0.3, multiplicative=0.1, dt=0.1, convention=Convention.ITO),
    "exprnn": ExpRNNSetting(hidden=6, rebase=3, polish=2),
    "lstm with dropout between layers": ClassicRNNSetting(hidden=6, num_layers=2, dropout=0.5),
}


def split(samples: int = 20, seed: int = 0) -> Split:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(samples, 7, 1, generator=generator)
    return Split(x=x, y=(x.sum(dim=(1, 2)) > 0).long())


def network_of(model: Model, seed: int = 0) -> Classifier:
    return fresh(model, inputs=1, classes=2, seed=seed)


def weights(network: Classifier) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


def same(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


class Killed(Exception):
    pass


def killed_at(epoch: int, batch: int):
    def progress(moment: Moment) -> None:
        if (moment.epoch, moment.batch) == (epoch, batch):
            raise Killed

    return progress


@pytest.mark.parametrize("label", MODELS)
@pytest.mark.parametrize(("every", "moment"), [(None, (2, 3)), (1, (2, 2)), (2, (3, 4)), (None, (1, 1))])
def test_a_killed_run_ends_with_the_weights_of_an_uninterrupted_one(label, every, moment, tmp_path) -> None:
    model = MODELS[label]
    rates = {"lr_orthogonal": 1e-3, "optimiser": Optimiser.RMSPROP} if label == "exprnn" else {}
    train = Train(epochs=3, batch=6, lr=1e-2, decay={1: 0.5}, input_noise=White(sigma=0.1), dropout=0.1, **rates)
    whole = network_of(model)
    expected = fit(whole, split(), train, seed=4)
    path = tmp_path / "c.safetensors"
    with pytest.raises(Killed):
        fit(
            network_of(model),
            split(),
            train,
            seed=4,
            path=path,
            every=every,
            setting=model,
            progress=killed_at(*moment),
        )
    torch.rand(3)  # somebody else moves torch's global generator
    resumed = network_of(model, seed=99)  # weights must come from the checkpoint, or from the beginning
    if not path.exists():
        resumed = network_of(model)
    history = fit(resumed, split(), train, seed=4, path=path, every=every, setting=model)
    assert same(weights(resumed), weights(whole))
    assert same(weights(load_network(path)), weights(whole))
    assert [epoch.loss for epoch in history] == [epoch.loss for epoch in expected]


def test_more_epochs_continue_a_finished_run_and_another_schedule_continues_its_branch(tmp_path) -> None:
    model, path, branch = MODELS["released"], tmp_path / "c.safetensors", tmp_path / "b.safetensors"
    short, long = Train(epochs=3, batch=6, decay={1: 0.1}), Train(epochs=5, batch=6, decay={3: 0.1})
    fit(network_of(model), split(), short, seed=0, path=path, branch=branch, setting=model)
    whole, further, other = (network_of(model) for _ in range(3))
    fit(whole, split(), long, seed=0)
    fit(further, split(), short.model_copy(update={"epochs": 4}), seed=0, path=path, setting=model)
    assert load(path).header.position["epoch"] == 4
    with pytest.raises(CheckpointError, match="another seed or training setting"):
        fit(network_of(model), split(), long, seed=0, path=path, setting=model)
    # The branch was taken before the decay was felt, so the longer schedule passes through it too.
    history = fit(other, split(), long, seed=0, path=branch, setting=model)
    assert len(history) == 5
    assert same(weights(other), weights(whole))


@pytest.mark.parametrize("survived", [0, 1, 2, 3])
def test_a_kill_between_two_files_loses_neither_state_nor_branch(survived: int, tmp_path, monkeypatch) -> None:
    model, path, branch = MODELS["released"], tmp_path / "c.safetensors", tmp_path / "b.safetensors"
    train = Train(epochs=3, batch=6, decay={1: 0.1})
    whole, expected = network_of(model), tmp_path / "expected.safetensors"
    fit(whole, split(), train, seed=0, path=tmp_path / "whole.safetensors", branch=expected, setting=model)
    saved: list[Path] = []

    def save_or_die(where: Path, state: Checkpoint) -> None:
        if len(saved) == survived:
            raise Killed
        saved.append(where)
        save(where, state)

    with monkeypatch.context() as patched:
        patched.setattr(loop, "save", save_or_die)
        with pytest.raises(Killed):
            fit(network_of(model), split(), train, seed=0, path=path, branch=branch, setting=model)
    resumed = network_of(model)
    fit(resumed, split(), train, seed=0, path=path, branch=branch, setting=model)
    assert same(weights(resumed), weights(whole))
    assert same(weights(load_network(branch)), weights(load_network(expected)))


@pytest.mark.parametrize("position", [{"epoch": 10**12}, {"epoch": -1}, {"batch": 10**12}])
def test_a_forged_position_is_refused_at_once(position: dict[str, int], tmp_path) -> None:
    model, path = MODELS["released"], tmp_path / "c.safetensors"
    fit(network_of(model), split(), Train(epochs=1, batch=6), seed=0, path=path, setting=model)
    held = load(path)
    told = held.header.model_copy(update={"position": held.header.position | position})
    save(path, replace(held, header=told))
    with pytest.raises(CheckpointError) as caught:
        fit(network_of(model), split(), Train(epochs=2, batch=6), seed=0, path=path, setting=model)
    assert len(str(caught.value).splitlines()) == 1


def test_interruption_leaves_a_checkpoint_in_the_middle_of_an_epoch(tmp_path) -> None:
    model, path = MODELS["released"], tmp_path / "c.safetensors"
    train = Train(epochs=2, batch=5)

    def interrupt(moment: Moment) -> None:
        if (moment.epoch, moment.batch) == (1, 2):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fit(network_of(model), split(), train, seed=1, path=path, setting=model, progress=interrupt)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert load(path).header.position["batch"] == 2
    resumed, whole = network_of(model), network_of(model)
    fit(resumed, split(), train, seed=1, path=path, setting=model)
    fit(whole, split(), train, seed=1)
    assert same(weights(resumed), weights(whole))


def test_doors_are_apart() -> None:
    """Input noise of strength 0 draws numbers but changes nothing else; seeds change everything."""
    model = MODELS["released"]
    outcomes = []
    for noise, seed in ((None, 0), (White(sigma=0.0), 0), (None, 1)):
        network = network_of(model)
        fit(network, split(), Train(epochs=1, batch=6, input_noise=noise), seed=seed)
        outcomes.append(weights(network))
    assert same(outcomes[0], outcomes[1])
    assert not same(outcomes[0], outcomes[2])


def test_batch_order_does_not_depend_on_the_model() -> None:
    """The hidden noise of one model must not move the batch order of another, as a shared generator would."""
    seen: dict[str, list[float]] = {}
    for label in ("released", "exprnn"):
        network = network_of(MODELS[label])
        rows: list[float] = []
        network.register_forward_pre_hook(lambda module, args, rows=rows: rows.append(float(args[0][0, 0, 0])))
        fit(network, split(), Train(epochs=3, batch=6), seed=2)
        seen[label] = rows
    assert seen["released"] == seen["exprnn"]
    assert len(set(seen["released"])) > 4


def test_decay_acts_after_its_epoch() -> None:
    """The authors decay after epoch index 90: 91 epochs at the full rate, 9 at a tenth."""
    prescribed = preset("ordered-mnist", "nrnn-large")
    train = Train(lr=prescribed.lr, epochs=prescribed.epochs, decay=prescribed.decay)
    assert [train.rate(epoch) for epoch in range(100)] == pytest.approx([1e-3] * 91 + [1e-4] * 9)
    rates = fit(network_of(MODELS["released"]), split(), Train(lr=0.1, epochs=4, decay={0: 0.5, 2: 0.1}), seed=0)
    assert [epoch.rate for epoch in rates] == pytest.approx([0.1, 0.05, 0.05, 0.005])


def test_the_optimiser_takes_the_rate_of_the_epoch() -> None:
    """One sample, plain gradient steps of RMSprop: the first step's length is the rate times 1 / sqrt(1 - 0.99)."""
    model = Lipschitz(hidden=4)
    network = network_of(model)
    before = weights(network)
    fit(network, split(1), Train(lr=1e-3, epochs=2, decay={0: 1e-12}, optimiser=Optimiser.RMSPROP), seed=0)
    moved = (network.readout.weight.detach() - before["readout.weight"]).abs().max()
    assert float(moved) == pytest.approx(1e-3 / 0.1, rel=1e-3)


def test_orthogonal_parameters_form_a_second_group() -> None:
    network = network_of(MODELS["exprnn"])
    prescribed = preset("ordered-mnist", "exprnn")
    train = Train(optimiser=prescribed.optimiser, lr=prescribed.lr, lr_orthogonal=prescribed.lr_orthogonal)
    optimiser = optimiser_for(network, train)
    assert isinstance(optimiser, torch.optim.RMSprop)
    rest, orthogonal = optimiser.param_groups
    assert orthogonal["lr"] == pytest.approx(rest["lr"] / 10)
    assert [id(p) for p in orthogonal["params"]] == [id(p) for p in network.layer.orthogonal_parameters()]
    assert len(rest["params"]) + 1 == len(list(network.parameters()))
    with pytest.raises(ValueError, match="has none; leave it out"):
        optimiser_for(network_of(Lipschitz(hidden=4)), train)


def test_divergence_is_one_sentence_and_the_last_checkpoint_stays(tmp_path) -> None:
    model, path = Lipschitz(hidden=4, dt=1.0), tmp_path / "c.safetensors"
    fit(network_of(model), split(), Train(epochs=1, batch=10, lr=1e-3), seed=0, path=path, setting=model)
    before = path.read_bytes()
    broken = network_of(model)
    with torch.no_grad():
        broken.readout.weight.fill_(torch.inf)
    with pytest.raises(Diverged, match=r"epoch 0, batch 0, at rate 0.001: try a smaller lr, or set clip"):
        fit(broken, split(), Train(epochs=1), seed=0)
    # Adam normalises its steps: the first epoch ends with huge but finite weights, the second leaves the numbers.
    far = tmp_path / "d.safetensors"
    with pytest.raises(Diverged, match="epoch 1"):
        fit(network_of(model), split(), Train(epochs=3, lr=1e37), seed=0, path=far)
    assert all(torch.isfinite(tensor).all() for tensor in load(far).network.values())
    assert path.read_bytes() == before


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_unfinite_inputs_are_refused_with_their_position(bad: float) -> None:
    data = split()
    data.x[3, 2, 0] = bad  # after the split's own check
    with pytest.raises(ValueError, match=r"x\[3, 2, 0\] is (nan|inf): fill or remove") as caught:
        fit(network_of(Lipschitz(hidden=4)), data, Train(epochs=1), seed=0)
    assert str(caught.value).count(".") == 1


def test_best_weights_and_patience_follow_the_validation_split() -> None:
    data, model = split(), Lipschitz(hidden=4)
    wrong = Split(x=data.x, y=1 - data.y)  # the better it learns, the worse it gets
    network = network_of(model)
    train = Train(epochs=30, batch=5, lr=0.02, validate_epochs=True, best=True, patience=3)
    history = fit(network, data, train, seed=0, validation=wrong)
    found = [epoch.validation for epoch in history]
    assert len(history) < 30
    assert len(history) == found.index(max(found)) + 1 + 3
    assert accuracy(network, wrong) == max(found)


def test_class_weights_and_clipping_change_what_they_say() -> None:
    data = split()
    network = network_of(Lipschitz(hidden=4))
    fit(network, data, Train(epochs=20, lr=0.05, class_weights=(1.0, 0.0)), seed=0)
    assert predictions(network, data.x).unique().tolist() == [0]
    still, before = network_of(Lipschitz(hidden=4)), weights(network_of(Lipschitz(hidden=4)))
    fit(still, data, Train(epochs=1, lr=1e-3, clip=1e-30, optimiser=Optimiser.RMSPROP), seed=0)
    assert all(torch.allclose(before[name], tensor, atol=1e-9) for name, tensor in weights(still).items())


def test_adversarial_training_is_reproducible_and_different() -> None:
    outcomes = []
    for adversary in (None, FGSM(radius=0.3), FGSM(radius=0.3)):
        network = network_of(MODELS["released"])
        fit(network, split(), Train(epochs=2, batch=10, adversary=adversary), seed=0)
        outcomes.append(weights(network))
    assert same(outcomes[1], outcomes[2])
    assert not same(outcomes[0], outcomes[1])


def test_settings_that_cannot_be_meant_are_refused() -> None:
    with pytest.raises(InvalidSetting, match="never happens in 30 epochs"):
        Train(epochs=30, decay={90: 0.1})
    with pytest.raises(InvalidSetting, match="set validate_epochs=True"):
        Train(best=True)
    with pytest.raises(ValueError, match="needs a validation split"):
        fit(network_of(Lipschitz(hidden=4)), split(), Train(validate_epochs=True), seed=0)
    data = split()
    with pytest.raises(ValueError, match="Classes must be 0 to 1"):
        fit(network_of(Lipschitz(hidden=4)), Split(x=data.x, y=data.y + 1), Train(), seed=0)


def test_drop_last_leaves_out_what_does_not_fill_a_batch() -> None:
    split = Split(x=torch.randn(10, 5, 1), y=torch.arange(10) % 2)
    seen = []
    for drop in (False, True):
        network = fresh(Lipschitz(hidden=4), inputs=1, classes=2, seed=0)
        moments: list[int] = []
        [epoch] = fit(network, split, Train(epochs=1, batch=4, drop_last=drop), seed=0,
                      progress=lambda moment, moments=moments: moments.append(moment.batches))  # fmt: skip
        seen.append(moments)
        assert epoch.accuracy in [100 * right / (8 if drop else 10) for right in range(11)]
    assert seen == [[3, 3, 3], [2, 2]]
    with pytest.raises(ValueError, match="10 samples do not fill a batch of 11"):
        fit(network, split, Train(batch=11, drop_last=True), seed=0)


def test_runs_from_before_a_field_was_there_keep_their_names() -> None:
    assert "drop_last" not in Train().model_dump()
    dropping = Train(drop_last=True)
    assert Train.model_validate(dropping.model_dump(mode="json")) == dropping


def test_lengths_reach_the_network() -> None:
    """What lies beyond a sequence's end must not matter to training."""
    data = split()
    lengths = torch.full((len(data),), 4)
    beyond = data.x.clone()
    beyond[:, 4:] = 100.0
    outcomes = []
    for x in (data.x, beyond):
        network = network_of(Lipschitz(hidden=4))
        fit(network, Split(x=x, y=data.y, lengths=lengths), Train(epochs=2), seed=0)
        outcomes.append(weights(network))
    assert same(*outcomes)


def test_the_written_checkpoint_belongs_to_its_model(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    fit(network_of(MODELS["released"]), split(), Train(epochs=1), seed=0, path=path, setting=MODELS["released"])
    with pytest.raises(CheckpointError, match="belongs to another model"):
        fit(network_of(MODELS["exprnn"]), split(), Train(epochs=1), seed=0, path=path, setting=MODELS["exprnn"])
    with pytest.raises(CheckpointError, match="the model 'noisy'"):
        fit(network_of(MODELS["exprnn"]), split(), Train(epochs=1), seed=0, path=path)
