"""Training: a setting, a straight loop that resumes bit by bit, and four doors of randomness."""

from noisyrnn.train.loop import Moment, Progress, fit
from noisyrnn.train.randomness import Doors, doors, fresh
from noisyrnn.train.setting import Diverged, Train
from noisyrnn.train.state import Epoch, Position, continued, optimiser_for

__all__ = [
    "Diverged",
    "Doors",
    "Epoch",
    "Moment",
    "Position",
    "Progress",
    "Train",
    "continued",
    "doors",
    "fit",
    "fresh",
    "optimiser_for",
]
