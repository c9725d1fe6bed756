"""Training: a setting, a straight loop that resumes bit by bit, fresh networks to start it from; and one cycle of
steps for small sets, with faults and a guard."""

from noisyrnn.train.guard import GuardedStep
from noisyrnn.train.loop import Moment, Progress, fit
from noisyrnn.train.objective import Depth, ExpectedLoss, FeatureMixup
from noisyrnn.train.one_cycle import OneCycle, Reached, Samples, fit_one_cycle
from noisyrnn.train.remarks import Unlearned, remark
from noisyrnn.train.setting import Diverged, Margin, Train
from noisyrnn.train.state import Epoch, Position, continued, optimiser_for
from noisyrnn.train.weights import fresh

__all__ = [
    "Depth",
    "Diverged",
    "Epoch",
    "ExpectedLoss",
    "FeatureMixup",
    "GuardedStep",
    "Margin",
    "Moment",
    "OneCycle",
    "Position",
    "Progress",
    "Reached",
    "Samples",
    "Train",
    "Unlearned",
    "continued",
    "fit",
    "fit_one_cycle",
    "fresh",
    "optimiser_for",
    "remark",
]
