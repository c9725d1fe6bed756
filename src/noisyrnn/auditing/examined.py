"""A classifier under examination: its answers in the audit's classes, whatever its own are called."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from noisyrnn.auditing.answerers import Answerer, Misbehaviour, fingerprint
from noisyrnn.auditing.answers import NOTHING, Answers
from noisyrnn.auditing.series import Form, Series

_PROBES = 4
_FLOOR = 1e-12  # of a probability whose logarithm is taken


def plain_label(label: Any) -> str:
    """A class by its name, so that 1, 1.0 and "1" are one.

    >>> plain_label(1.0), plain_label("1"), plain_label(" sick ")
    ('1', '1', 'sick')
    """
    try:
        return f"{float(label):g}"
    except (TypeError, ValueError):
        return str(label).strip()


@dataclass(eq=False)
class Examined:
    """A name, what asks the classifier, and the form in which it takes series; complaints gather as it is asked."""

    name: str
    asked: Answerer
    form: Form
    classes: tuple[str, ...]
    seen: tuple[str, ...] = ()
    _complaints: dict[str, list[tuple[str, int]]] = field(default_factory=dict)

    def complain(self, what: str, where: str | None = "", series: int = 0) -> None:
        """Something was wrong, somewhere, for so many series; what nobody has to be told of has no place."""
        if where is None:
            return
        self._complaints.setdefault(what, []).append((where, series))

    @property
    def complaints(self) -> list[str]:
        """A sentence for each kind of complaint: how many series in all, and where first."""
        said = []
        for what, places in self._complaints.items():
            total, named = sum(series for _, series in places), [where for where, _ in places if where]
            count = f", {total:,} answers in all" if total else ""
            rest = f" and {len(named) - 2} places more" if len(named) > 2 else ""
            said.append(f"{what}{count}{': ' if named else ''}{', '.join(named[:2])}{rest}")
        return said

    def answers(self, series: Series, y: NDArray[np.int64], where: str) -> Answers:
        """The answers; what is wrong with them is complained of and counts as a wrong answer."""
        try:
            label, probability = self.read(self.asked.ask(series, self.form), len(series), where)
        except Misbehaviour as error:
            self.complain(str(error), where, len(series))
            return Answers.none(len(series))
        except Exception as error:
            self.complain(f"raised {type(error).__name__} ({_line(error)})", where, len(series))
            return Answers.none(len(series))
        return Answers.of(label, y, probability)

    def read(self, found: Any, count: int, where: str | None) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
        """Classes as indices and probabilities in the order of the audit's classes."""
        if not self.asked.probabilities:
            return self._labels(found, count, where), None
        own = self.classes if self.asked.classes is None else tuple(map(plain_label, self.asked.classes))
        if found.ndim != 2 or len(found) != count or found.shape[1] != len(own):
            raise Misbehaviour(
                f"returned probabilities of shape {found.shape} where ({count}, {len(own)}) was expected"
            )
        scores = found.astype(np.float64)
        broken = ~np.isfinite(scores).all(1)
        if broken.any():
            self.complain("returned NaN or infinity", where, int(broken.sum()))
        position = {name: index for index, name in enumerate(self.classes)}
        wins = np.array([position.get(name, NOTHING) for name in own], np.int32)
        label = wins[np.where(np.isfinite(scores), scores, -np.inf).argmax(1)]
        strangers = int((label[~broken] == NOTHING).sum())
        if strangers:
            self.complain("answered with a class that the data do not have", where, strangers)
        probability = np.zeros((count, len(self.classes)))
        for column, index in enumerate(wins):
            if index != NOTHING:
                probability[:, index] = scores[:, column]
        probability[broken] = np.nan
        return np.where(broken, NOTHING, label).astype(np.int32), probability

    def _labels(self, found: NDArray[Any], count: int, where: str | None) -> NDArray[np.int32]:
        if found.shape != (count,):
            raise Misbehaviour(f"returned classes of shape {found.shape} where ({count},) was expected")
        position = {name: index for index, name in enumerate(self.classes)}
        label = np.array([position.get(plain_label(one), NOTHING) for one in found.tolist()], np.int32)
        strangers = int((label == NOTHING).sum())
        if strangers:
            odd = found[int((label == NOTHING).argmax())]
            self.complain(f"answered {str(odd)[:30]!r}, which is no class of the data", where, strangers)
        return label

    def gradients(self) -> Callable[..., Tensor] | None:
        """x (case, time, channel) -> logits in the audit's classes with a gradient, if the classifier has one."""
        network = self.asked.network(self.form)
        if network is None or self.asked.classes is None:
            return network
        own = list(map(plain_label, self.asked.classes))
        if sorted(own) != sorted(self.classes):
            return None
        order = torch.tensor([own.index(name) for name in self.classes])
        return lambda x, **call: network(x, **call)[:, order]

    def scores(self, template: Series) -> Callable[..., Tensor]:
        """x -> log probabilities, or 0 for the answered class and -1 for the others; without gradients.

        One column more than there are classes: an answer that is none wins there.
        """

        def logits(x: Tensor, lengths: Tensor | None = None) -> Tensor:
            if not len(x):
                return x.new_zeros(0, len(self.classes) + 1)
            series = Series(x=x.detach(), lengths=lengths, form=template.form)
            label, probability = self.read(self.asked.ask(series, self.form), len(x), None)
            # The last column is the answer that is none, or a class that the data do not have.
            rows = torch.full((len(x), len(self.classes) + 1), -1.0, dtype=torch.float64)
            if probability is None:
                rows[torch.arange(len(x)), torch.from_numpy(label).long()] = 0.0
            else:
                known = np.nan_to_num(probability, nan=0.0)
                rows[:, :-1] = torch.from_numpy(known)
                rows[:, -1] = torch.from_numpy(np.clip(1 - known.sum(1), 0, 1))
                rows = rows.clamp(min=_FLOOR).log()
            return rows.to(x.dtype)

        return logits

    def fingerprint(self, clean: Answers) -> str:
        """What results are kept under."""
        return fingerprint(self.asked, self.name.encode() + self.form.encode() + clean.to_bytes())


def examined(name: str, asked: Answerer, series: Series, classes: tuple[str, ...], seen: Iterable[str]) -> Examined:
    """The classifier with the first form of series that it takes; Misbehaviour with the reason if it takes none."""
    probes = series.part(slice(0, _PROBES))
    reasons = []
    while True:
        for form in asked.forms(series):
            one = Examined(name=name, asked=asked, form=form, classes=classes, seen=tuple(seen))
            try:
                one.read(asked.ask(probes, form), len(probes), "at first sight")
            except Exception as error:
                wild = not isinstance(error, Misbehaviour)
                reasons.append(f"raised {type(error).__name__} ({_line(error)})" if wild else str(error))
                continue
            one._complaints.clear()
            return one
        if asked.probabilities and callable(getattr(getattr(asked, "told", None), "predict", None)):
            asked.probabilities = False
            continue
        raise Misbehaviour(reasons[0] if reasons else "takes no form of these series")


def _line(error: BaseException) -> str:
    text = " ".join(str(error).split()) or "without a word"
    return text if len(text) <= 160 else f"{text[:157]}..."
