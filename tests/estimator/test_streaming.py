"""Streams: after each sample the probabilities of all so far, for many streams with clocks of their own."""

import numpy as np
import pytest
from made_waves import waves

from noisyrnn import NoisyRNNClassifier

QUICK = {"hidden_size": 6, "n_epochs": 2, "random_state": 0, "causal": True}


@pytest.mark.parametrize("model", ["noisy", "lstm", "cornn"])
@pytest.mark.parametrize("readout", ["mean-max", "mean", "last"])
def test_each_sample_gives_what_the_batch_gives(model, readout):
    X, y = waves(8, steps=130, channels=2)  # a stride of 2
    classifier = NoisyRNNClassifier(model, readout=readout, **QUICK).fit(X, y)
    assert classifier.network_.front_end.stride == 2
    stream = classifier.stream()
    for time in range(12):
        found = stream.push(X[0, :, time])
        assert np.abs(found - classifier.predict_proba(X[:1, :, : time + 1])[0]).max() < 1e-5


@pytest.mark.parametrize(("batch", "steps"), [(1, 1), (7, 50), (7, 784), (1, 784)])
def test_the_end_of_long_streams(batch, steps):
    X, y = waves(8, steps=max(2, steps))
    classifier = NoisyRNNClassifier(**QUICK).fit(X, y)
    stream = classifier.stream(batch)
    for time in range(steps):
        found = stream.push(X[:batch, :, time])
    assert np.abs(found - classifier.predict_proba(X[:batch, :, :steps])).max() < 1e-5


def test_streams_have_clocks_of_their_own_and_begin_again():
    X, y = waves(8, steps=130)
    classifier = NoisyRNNClassifier(**QUICK).fit(X, y)
    stream = classifier.stream(3)
    rng, seen, latest = np.random.default_rng(0), [0, 0, 0], {}
    for _ in range(60):
        some = np.flatnonzero(rng.random(3) < 0.6).tolist()
        if not some:
            continue
        if rng.random() < 0.1:
            stream.reset(some[:1])
            seen[some[0]] = 0
        found = stream.push(np.stack([X[one, :, seen[one]] for one in some]), some)
        for one, probabilities in zip(some, found, strict=True):
            seen[one] += 1
            latest[one] = probabilities
    assert stream.clock.tolist() == seen
    for one, probabilities in latest.items():
        assert np.abs(probabilities - classifier.predict_proba(X[one : one + 1, :, : seen[one]])[0]).max() < 1e-5


def test_gaps_can_be_pushed_to_a_masked_classifier():
    X, y = waves(8)
    X[0, 0, 3:5] = np.nan
    classifier = NoisyRNNClassifier(missing="mask", **QUICK).fit(X, y)
    stream = classifier.stream()
    for value in X[0, 0]:
        found = stream.push(value)
    assert np.abs(found - classifier.predict_proba(X[:1])[0]).max() < 1e-5


@pytest.mark.parametrize("front_end", ["auto", None])
def test_time_stamps_are_step_sizes_as_in_a_batch(front_end):
    X, y = waves(8, steps=130)  # with a front end a stride of 2
    times = np.cumsum(np.random.default_rng(0).uniform(0.3, 1.8, (8, 130)), axis=1)
    classifier = NoisyRNNClassifier(front_end=front_end, **QUICK).fit(X, y, times=times)
    stream, seen = classifier.stream(2), [0, 0]
    for turn in range(40):
        some = [[0, 1], [0], [1], [1, 0]][turn % 4]
        if turn == 20:  # the second begins again, at another time
            stream.reset([1])
            seen[1], times[1] = 0, times[1] + 1000
        samples = np.stack([X[one, :, seen[one]] for one in some])
        found = stream.push(samples, some, times=[times[one, seen[one]] for one in some])
        for one, probabilities in zip(some, found, strict=True):
            seen[one] += 1
            batch = classifier.predict_proba(X[[one], :, : seen[one]], times=times[[one], : seen[one]])
            assert np.abs(probabilities - batch[0]).max() < 1e-5
    even = classifier.predict_proba(X[[0], :, : seen[0]], times=np.arange(seen[0])[None])
    assert np.abs(found[1] - even[0]).max() > 1e-4


def test_long_gaps_count_as_in_a_batch_and_wrong_times_are_one_sentence():
    X, y = waves(8)
    times = np.tile(np.arange(30.0), (8, 1))
    classifier = NoisyRNNClassifier(**QUICK).fit(X, y, times=times)
    late = times.copy()
    late[:, 10:] += 50
    stream = classifier.stream()
    with pytest.warns(UserWarning, match="count as"):
        found = [stream.push(value, times=time) for value, time in zip(X[0, 0], late[0], strict=True)][-1]
    with pytest.warns(UserWarning, match="count as"):
        assert np.abs(found - classifier.predict_proba(X[:1], times=late[:1])[0]).max() < 1e-5
    before = stream.clock
    for wrong, message in ((None, "with its time stamp"), (3.0, "must increase"), (np.nan, "finite")):
        with pytest.raises(ValueError, match=message):
            stream.push(1.0, times=wrong)
    with pytest.raises(ValueError, match="not to fit"):
        NoisyRNNClassifier(**QUICK).fit(X, y).stream().push(1.0, times=1.0)
    assert stream.clock == before


def test_what_cannot_be_streamed_names_the_argument():
    X, y = waves(8)
    for options, message in (
        ({"causal": False}, "causal=True"),
        ({"scaling": "series"}, "scaling='channel'"),
        ({"missing": "interpolate"}, "missing='mask'"),
    ):
        with pytest.raises(ValueError, match=message):
            NoisyRNNClassifier(**{**QUICK, **options}).fit(X, y).stream()
    stream = NoisyRNNClassifier(**QUICK).fit(X, y).stream(2)
    with pytest.raises(ValueError, match="A sample has shape"):
        stream.push(np.zeros(3))
    with pytest.raises(ValueError, match="finite"):
        stream.push([[np.nan], [0.0]])
    with pytest.raises(ValueError, match="different numbers"):
        stream.push([[0.0], [0.0]], [0, 0])
