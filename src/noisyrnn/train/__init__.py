"""Training: a setting, a straight loop that resumes bit by bit, and fresh networks to start it from."""

from noisyrnn.train.loop import Moment, Progress, fit
from noisyrnn.train.objective import Depth, ExpectedLoss, FeatureMixup
from noisyrnn.train.remarks import Unlearned, remark
from noisyrnn.train.setting import Diverged, Train
from noisyrnn.train.state import Epoch, Position, continued, optimiser_for
from noisyrnn.train.weights import fresh

__all__ = [
    "Depth",
    "Diverged",
    "Epoch",
    "ExpectedLoss",
    "FeatureMixup",
    "Moment",
    "Position",
    "Progress",
    "Train",
    "Unlearned",
    "continued",
    "fit",
    "fresh",
    "optimiser_for",
    "remark",
]
