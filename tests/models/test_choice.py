"""Closed choices are refused when a layer is made, with the names that there are; a layer shows what was chosen."""

import subprocess
import sys

import pytest

import noisyrnn
from noisyrnn.models import Convention, Damping, Parametrisation

# Outside this process: here every argument's type is checked before the layer sees it.
WRONG = """
import noisyrnn
for layer, choice in (
    (noisyrnn.NoisyRNN, {"activation": "relu"}), (noisyrnn.NoisyRNN, {"convention": "ito"}),
    (noisyrnn.LipschitzRNN, {"scheme": "heun"}), (noisyrnn.AntisymmetricRNN, {"initialisation": "chang"}),
    (noisyrnn.CoRNN, {"damping": "explicit"}), (noisyrnn.ExpRNN, {"parametrisation": "cayley"}),
    (noisyrnn.ExpRNN, {"start": "henaff"}), (noisyrnn.ClassicRNN, {"recurrence": "lstm"}),
):
    try:
        layer(2, 8, **choice)
        print("accepted", layer, choice)
    except ValueError as error:
        print(error)
"""


def test_strings_in_place_of_choices_are_refused_with_the_names_to_choose_from():
    said = subprocess.run([sys.executable, "-c", WRONG], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == 8
    assert said[0].startswith("activation must be one of ActivationName.TANH, ")
    assert said[0].endswith("ActivationName.SOFTSIGN, or an own Activation, got 'relu'.")
    assert said[1] == "convention must be one of Convention.ITO, Convention.RELEASED, got 'ito'."
    assert all(" must be one of " in sentence for sentence in said)


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (noisyrnn.NoisyRNN(1, 4, additive=0.05), "convention=released, additive=0.05, multiplicative=0.02"),
        (noisyrnn.NoisyRNN(1, 4, convention=Convention.ITO), "convention=ito, additive=0.02, multiplicative=0.02"),
        (noisyrnn.LipschitzRNN(1, 4, beta=0.9), "beta_a=0.9, gamma_a=0.001, beta_w=0.9"),
        (noisyrnn.CoRNN(1, 4, damping=Damping.IMPLICIT), "damping=implicit"),
        (noisyrnn.ExpRNN(1, 4, parametrisation=Parametrisation.CAYLEY), "parametrisation=cayley"),
    ],
)
def test_a_layer_shows_its_strengths_and_conventions(layer, words):
    assert words in repr(layer)


@pytest.mark.parametrize(
    ("layer", "axes"),
    [
        (noisyrnn.NoisyRNN(1, 4), "axes=(time, batch, inputs)"),
        (noisyrnn.CoRNN(1, 4, batch_first=True), "axes=(batch, time, inputs)"),
        (noisyrnn.Classifier(noisyrnn.ExpRNN(1, 4), 2), "(\n  axes=(batch, time, inputs), pooling=last"),
    ],
)
def test_layers_and_classifiers_name_their_axes(layer, axes):
    assert axes in repr(layer)


MISTAKEN = """
import numpy, torch, noisyrnn
for mistake in (
    lambda: noisyrnn.NoisyRNN(2.5, 8), lambda: noisyrnn.CoRNN(1, 0), lambda: noisyrnn.ExpRNN(1, 4, "two"),
    lambda: noisyrnn.LipschitzRNN(1, 4, dropout=0.5), lambda: noisyrnn.Classifier(torch.nn.Linear(3, 4), 2),
    lambda: noisyrnn.Classifier(noisyrnn.NoisyRNN(1, 4), 2)(numpy.zeros((2, 3, 1))),
    lambda: noisyrnn.LipschitzRNN(numpy.int64(2), numpy.int32(4)),
):
    try:
        print(mistake().hidden_size)
    except ValueError as error:
        print(error)
"""


def test_wrong_arguments_are_refused_where_they_are_given():
    said = subprocess.run([sys.executable, "-c", MISTAKEN], capture_output=True, text=True, check=True).stdout
    expected = (
        "input_size must be a whole number of at least 1, got 2.5.",
        "hidden_size must be a whole number of at least 1, got 0.",
        "num_layers must be a whole number of at least 1, got 'two'.",
        "dropout=0.5 acts between layers, and there is one: leave it out, or give num_layers=2.",
        "A classifier takes a layer such as NoisyRNN(1, 8), got Linear; an own layer is made with noisyrnn.rnn.Layer.",
        "A classifier takes a tensor, got ndarray: give torch.as_tensor(x).",
        "4",
    )
    assert said.splitlines() == list(expected)
