r"""What the arguments of a classifier mean for a data set: network and training, each as one setting.

The rule of sizes: front end s = max(1, round(T / 64)), width 4 s + 3; batch min(32, max(8, n)); steps at least
``STEPS`` and at least ten times through the data; classes change the readout only.
"""

from __future__ import annotations

import math
from typing import Any, get_args

from torch import nn

from noisyrnn.estimator.random_convolutions import LONGEST, RandomConvolutionsSetting
from noisyrnn.models import ClassicRNNSetting, FrontedSetting, FrontEndSetting, Model, Noisy, Recurrence
from noisyrnn.models.model import ModelSetting
from noisyrnn.perturb.mixture import FaultMixture
from noisyrnn.rnn.fronted import FrontedClassifier
from noisyrnn.rnn.pooling import Pooling
from noisyrnn.sde.convention import Convention
from noisyrnn.train.one_cycle import OneCycle

STEPS = 3000
"""Steps of a training, at least."""
_EPOCHS = 10
_HIDDEN_NOISE = 0.0
# Skew matrices that turn faster than Euler steps of this size and decay allow make a training diverge.
_STEP = {"dt": 0.5, "learned_step": False, "gamma_a": 0.2, "gamma_w": 0.2, "beta": 0.75}


def names() -> list[str]:
    """Models that have a name.

    >>> {"noisy", "lipschitz", "lstm", "gru"} <= set(names())
    True
    """
    return sorted([*_kinds(), *Recurrence])


def _kinds() -> dict[str, type[ModelSetting]]:
    found = {one.model_fields["kind"].default: one for one in get_args(get_args(Model)[0])}
    return {kind: one for kind, one in found.items() if kind != "classic"}


def model_setting(
    model: Any, *, hidden_size: int, hidden_noise: float | None, readout: str, causal: bool
) -> ModelSetting:
    """The setting of a model given by name or as a setting, which is then taken as it is.

    >>> model_setting("noisy", hidden_size=8, hidden_noise=None, readout="mean", causal=True).bidirectional
    False
    """
    if isinstance(model, ModelSetting):
        if hidden_noise is not None:
            raise ValueError("hidden_noise is for models by name: set additive= in the model's setting instead.")
        return model
    if not isinstance(model, str) or model not in names():
        raise ValueError(f"model must be one of {', '.join(names())}, a model's setting or a layer, got {model!r}.")
    if hidden_noise is not None and not (model == "noisy" and 0 <= hidden_noise < math.inf):
        raise ValueError(
            f"hidden_noise is a strength of at least 0 of model='noisy', got {hidden_noise!r} for {model!r}."
        )
    given: dict[str, Any] = {"hidden": hidden_size, "bidirectional": not causal, "pooling": _pooling(readout)}
    if model in list(Recurrence):
        return ClassicRNNSetting(recurrence=Recurrence(model), **given)
    if model == "noisy":
        additive = _HIDDEN_NOISE if hidden_noise is None else hidden_noise
        return Noisy(convention=Convention.ITO, additive=additive, multiplicative=0.0, **_STEP, **given)
    kind = _kinds()[model]
    own = {name: value for name, value in _STEP.items() if name in kind.model_fields and model == "lipschitz"}
    return kind(**own, **{name: value for name, value in given.items() if name in kind.model_fields})


def front_end_setting(front_end: Any, *, steps: int, causal: bool) -> FrontEndSetting | None:
    """The front end: by the rule for this length, none, or as it is given."""
    if front_end is None or isinstance(front_end, FrontEndSetting):
        return front_end
    if front_end != "auto":
        raise ValueError(f"front_end must be 'auto', None or a FrontEndSetting, got {front_end!r}.")
    return FrontEndSetting.for_length(steps, causal=causal)


def companion_setting(companion: Any, *, steps: int, causal: bool) -> RandomConvolutionsSetting | None:
    """What stands beside the network, for series of up to ``steps`` instants; it looks at whole series.

    >>> companion_setting("auto", steps=140, causal=False).steps, companion_setting("auto", steps=140, causal=True)
    (140, None)
    """
    if companion is None or isinstance(companion, RandomConvolutionsSetting):
        return companion
    if companion != "auto":
        raise ValueError(f"companion must be 'auto', None or a RandomConvolutionsSetting, got {companion!r}.")
    return None if causal else RandomConvolutionsSetting(steps=min(steps, LONGEST))


def network_setting(
    model: Any, *, front_end: Any, hidden_size: int, hidden_noise: float | None, readout: str, causal: bool, steps: int
) -> FrontedSetting:
    """The whole network as a setting, for series of up to ``steps`` instants."""
    recurrent = model_setting(model, hidden_size=hidden_size, hidden_noise=hidden_noise, readout=readout, causal=causal)
    return FrontedSetting(front_end=front_end_setting(front_end, steps=steps, causal=causal), model=recurrent)


def network_around(
    layer: nn.Module, *, front_end: Any, readout: str, causal: bool, steps: int, inputs: int, classes: int
) -> FrontedClassifier:
    """The network around somebody's own layer, with a front end that fits its inputs."""
    wanted = getattr(layer, "input_size", None)
    if not hasattr(layer, "output_size") or not hasattr(layer, "batch_first") or wanted is None:
        raise ValueError(
            f"model={type(layer).__name__} is no layer of this library, nor called like one: it needs input_size, "
            "output_size, batch_first, and layer(x, lengths=..) -> (outputs, h_n)."
        )
    setting = front_end_setting(front_end, steps=steps, causal=causal)
    if setting is not None and front_end == "auto":
        setting = setting.model_copy(update={"features": wanted})
    front = None if setting is None else setting.build(inputs)
    given = inputs if front is None else front.features
    if given != wanted:
        raise ValueError(f"The layer takes {wanted} inputs, but would get {given}: make them equal.")
    return FrontedClassifier(layer, classes, front_end=front, pooling=_pooling(readout))


def training(
    samples: int,
    *,
    n_epochs: int | str,
    batch_size: int | str,
    lr: float,
    weight_decay: float,
    label_smoothing: float,
    faults: Any,
    input_noise: float,
) -> OneCycle:
    """How a set of this many samples is trained on.

    >>> training(67, n_epochs="auto", batch_size="auto", lr=2e-3, weight_decay=0.01, label_smoothing=0.05,
    ...     faults="default", input_noise=0.0).steps
    3000
    """
    batch = min(32, max(8, samples)) if batch_size == "auto" else batch_size
    if not isinstance(batch, int) or batch < 1:
        raise ValueError(f"batch_size must be 'auto' or a whole number of at least 1, got {batch_size!r}.")
    if n_epochs == "auto":
        steps = max(STEPS, math.ceil(_EPOCHS * samples / batch))
    elif isinstance(n_epochs, int) and n_epochs >= 1:
        steps = math.ceil(n_epochs * samples / batch)
    else:
        raise ValueError(f"n_epochs must be 'auto' or a whole number of at least 1, got {n_epochs!r}.")
    if not (faults is None or faults == "default" or isinstance(faults, FaultMixture)):
        raise ValueError(f"faults must be 'default', None or a FaultMixture, got {faults!r}.")
    return OneCycle(
        steps=steps,
        batch=batch,
        lr=lr,
        weight_decay=weight_decay,
        label_smoothing=label_smoothing,
        faults=FaultMixture() if isinstance(faults, str) else faults,
        input_noise=input_noise,
    )


def _pooling(readout: str) -> Pooling:
    try:
        return Pooling(readout)
    except ValueError:
        known = ", ".join(one.value for one in Pooling)
        raise ValueError(f"readout must be one of {known}, got {readout!r}.") from None
