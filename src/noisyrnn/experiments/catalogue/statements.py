"""What the text of the paper claims about its tables 1, 2, 3 and 5, in its own words."""

from __future__ import annotations

from noisyrnn.about import Statement
from noisyrnn.experiments.catalogue.chapters import table
from noisyrnn.rows import CLEAN, Column

CLOSE = 0.5
"""Points that an accuracy may be lower and still count as maintained."""

_SMALL, _LARGE, _HEART = "nrnn mult 0.02 add 0.02", "nrnn mult 0.02 add 0.05", "nrnn mult 0.03 add 0.06"
_NOISY, _LIPSCHITZ, _OTHERS = (_SMALL, _LARGE), ("lipschitz",), ("antisymmetric", "cornn", "exprnn")


def _disturbed(name: str) -> tuple[Column, ...]:
    return tuple(column for column in table(name).columns if column != CLEAN)


_ATTACKS = _disturbed("ordered-mnist-fgsm")

TABLE_1 = (
    Statement(
        source="Table 1", quote="the Lipschitz RNN performs best on clean input sequences",
        better=_LIPSCHITZ, worse=(*_OTHERS, *_NOISY), at=(CLEAN,),
    ),
    Statement(
        source="Table 1", quote="the NRNNs show an improved resilience to input perturbations",
        better=_NOISY, worse=_LIPSCHITZ, at=_disturbed("ordered-mnist"),
    ),
)  # fmt: skip
TABLE_2 = (
    Statement(
        source="Table 2", quote="the NRNNs show a superior resilience even to large perturbations",
        better=_NOISY, worse=_LIPSCHITZ, at=_ATTACKS,
    ),
    Statement(
        source="Table 2",
        quote="the Antisymmetric and Exponential RNN appear to be sensitive even to small perturbations",
        better=_LIPSCHITZ, worse=("antisymmetric", "exprnn"), at=_ATTACKS[:2],
    ),
)  # fmt: skip
FIGURE_1 = (
    Statement(
        source="Figure 1",
        quote="In all cases, the NRNN appears to be less sensitive to input perturbations as compared to the other "
        "models",
        better=(_LARGE,), worse=_OTHERS, at=(("white", 0.3), ("salt-pepper", 0.1)),
    ),
    Statement(
        source="Figure 1", quote="while maintaining state-of-the-art performance for clean inputs",
        better=_NOISY, worse=_LIPSCHITZ, at=(CLEAN,), margin=-CLOSE,
    ),
)  # fmt: skip
TABLE_3 = (
    Statement(
        source="Table 3", quote="the NRNN … performs best both on clean as well as on perturbed input sequences",
        better=(_HEART,), worse=_LIPSCHITZ, at=_disturbed("ecg"),
    ),
)  # fmt: skip
FIGURE_2 = (
    Statement(
        source="Figure 2",
        quote="the NRNN appears to be less sensitive to input perturbations as compared to the other models",
        better=(_HEART,), worse=_OTHERS, at=(("white", 1.2), ("multiplicative", 1.2)),
    ),
    # The paper's numbers for the NRNN and for Lipschitz are equal on clean inputs: "best" is read as maintained.
    Statement(
        source="Figure 2", quote="while achieving state-of-the-art performance for clean inputs",
        better=(_HEART,), worse=(*_LIPSCHITZ, *_OTHERS), at=(CLEAN,), margin=-CLOSE,
    ),
)  # fmt: skip
TABLE_5 = (
    Statement(
        source="Table 5", quote="the NRNNs show an improved resilience to input perturbations",
        better=_NOISY, worse=_LIPSCHITZ, at=_disturbed("permuted-mnist"),
    ),
)  # fmt: skip
