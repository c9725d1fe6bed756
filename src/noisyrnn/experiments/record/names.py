"""Names of published networks: what a person would call them, and never a hash."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from typing import Any

from noisyrnn.experiments.spec import Recipe, Run
from noisyrnn.rows import Description, Row, plain
from noisyrnn.setting import own_settings

_LONGEST = 150  # letters: a file's name has room for 255
_NOT_A_SETTING = ("kind", "split_seed")


def network_name(run: Run, rows: Sequence[Row], epochs: int, taken: Collection[str] = ()) -> str:
    """A name that is not taken: model and noise, what sets it apart, epochs, seed.

    >>> from noisyrnn.data import MNIST
    >>> from noisyrnn.models import Noisy
    >>> from noisyrnn.train import Train
    >>> run = Run(data=MNIST(), model=Noisy(additive=0.05, multiplicative=0.02), train=Train(), seed=0)
    >>> network_name(run, [], 100)
    'noisy-0.02-0.05-100-epochs-seed-0'
    >>> network_name(run, [], 100, taken=["noisy-0.02-0.05-100-epochs-seed-0"])
    'noisy-0.02-0.05-again-2-100-epochs-seed-0'
    """
    described = [row.description for row in rows] or [Recipe(model=run.model, train=run.train).description]
    known_by = min(described, key=lambda description: (len(description.variant), description.variant))
    said = [*_said(known_by), *_data(run), *_changes(rows)]
    end = f"{epochs}-epochs-seed-{run.seed}"
    for extra in ([], _training(run), *([*_training(run), f"again-{k}"] for k in range(2, 1000))):
        name = f"{slug('-'.join((*said, *extra)))[:_LONGEST]}-{end}".strip("-.")
        if name not in taken:
            return name
    raise ValueError(f"There are a thousand networks called {slug('-'.join(said))}: record them apart.")


def _said(description: Description) -> list[str]:
    strengths = description.strengths or ()
    return [description.kind, *(f"{strength:g}" for strength in strengths), *filter(None, [description.variant])]


def _data(run: Run) -> list[str]:
    return [plain(v) for name, v in own_settings(run.data).items() if name not in (*_NOT_A_SETTING, "name")]


def _changes(rows: Sequence[Row]) -> list[str]:
    changes: dict[str, Any] = rows[0].overrides if rows else {}
    return [f"{name}-{plain(value)}" for name, value in changes.items() if name not in ("epochs", "seeds")]


def _training(run: Run) -> list[str]:
    """Settings of the training in words, for a second network of the same name."""
    own = own_settings(run.train)
    return [f"{name}-{plain(value)}" for name, value in own.items() if name in ("lr", "batch", "dropout", "clip")]


def slug(text: str) -> str:
    """Small letters, digits, points and dashes.

    >>> slug("noisy 0.03/0.06, Itô matched")
    'noisy-0.03-0.06-ito-matched'
    """
    plain_letters = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"-+", "-", re.sub(r"[^a-z0-9.]+", "-", plain_letters)).strip("-.")
