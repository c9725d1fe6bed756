"""Names as a reader sees them: models, measures, strengths, numbers."""

from __future__ import annotations

import re

from noisyrnn.report.paper import Column

_MODELS = {
    "antisymmetric": "Antisymmetric RNN",
    "cornn": "coRNN",
    "exprnn": "Exponential RNN",
    "lipschitz": "Lipschitz RNN",
}
_WORDS = {
    "nrnn": "NRNN", "rnn": "RNN", "lstm": "LSTM", "gru": "GRU", "fgsm": "FGSM", "ito": "Itô",
    "lipschitz": "Lipschitz", "cornn": "coRNN", "exprnn": "expRNN",
}  # fmt: skip
_MEASURES = {
    "clean": ("Clean", ""),
    "white": ("White noise", "σ"),
    "multiplicative": ("Multiplicative noise", "σₘ"),
    "salt-pepper": ("Salt and pepper", "α"),
    "uniform": ("Uniform noise", "σ"),
    "salt": ("Salt", "α"),
    "fgsm": ("Adversarial, FGSM", "r"),
    "fgsm clipped": ("Adversarial, FGSM clipped", "r"),
    "pgd": ("Adversarial, PGD", "r"),
}


def model(label: str) -> str:
    """The model's name in a table.

    >>> model("nrnn mult 0.02 add 0.05"), model("lstm input noise 0.8"), model("cornn")
    ('NRNN 0.02/0.05', 'LSTM input noise 0.8', 'coRNN')
    >>> model("nrnn ito matched mult 0.03 add 0.06")
    'NRNN 0.03/0.06, Itô matched'
    """
    if label in _MODELS:
        return _MODELS[label]
    if noisy := re.fullmatch(r"nrnn (.*?) ?mult ([\d.]+) add ([\d.]+) ?(.*)", label):
        kinds = [_words(kind) for kind in (noisy[1], noisy[4]) if kind]
        return ", ".join((f"NRNN {noisy[2]}/{noisy[3]}", *kinds))
    words = _words(label)
    return words if words.split(" ")[0] in _WORDS.values() else words[:1].upper() + words[1:]


def _words(text: str) -> str:
    return " ".join(_WORDS.get(word, word) for word in text.split(" "))


def measure(name: str) -> str:
    """The name of a measure.

    >>> measure("salt-pepper"), measure("time-jitter")
    ('Salt and pepper', 'Time jitter')
    """
    if name in _MEASURES:
        return _MEASURES[name][0]
    return name[:1].upper() + name[1:].replace("-", " ")


def strength(column: Column) -> str:
    """The strength of a measure with its symbol.

    >>> strength(("white", 0.2)), strength(("clean", 0.0)), strength(("dropped", 0.1))
    ('σ = 0.2', '', '0.1')
    """
    name, level = column
    if name == "clean":
        return ""
    return f"{symbol(name)} = {level:g}" if symbol(name) else f"{level:g}"


def symbol(name: str) -> str:
    """The symbol of a measure's strength, if it has one.

    >>> symbol("white"), symbol("dropped")
    ('σ', '')
    """
    return _MEASURES.get(name, ("", ""))[1]


def place(column: Column) -> str:
    """Where an accuracy was measured, at the end of a sentence.

    >>> place(("white", 0.2)), place(("clean", 0.0)), place(("fgsm", 0.1))
    ('under white noise σ = 0.2', 'on clean inputs', 'under FGSM r = 0.1')
    """
    if column[0] == "clean":
        return "on clean inputs"
    name = measure(column[0]).removeprefix("Adversarial, ")
    return f"under {name if name[:2].isupper() else name[:1].lower() + name[1:]} {strength(column)}"


def signed(number: float, digits: int = 1) -> str:
    """A difference with its sign, and with a true minus.

    >>> signed(-0.25), signed(1.0), signed(-0.04)
    ('−0.2', '+1.0', '0.0')
    """
    text = f"{number:+.{digits}f}"
    if float(text) == 0:
        return text[1:]
    return text.replace("-", "−")


def printed(number: float) -> str:
    """An accuracy with as many digits as the paper gives it, at least one.

    >>> printed(97.0), printed(38.25)
    ('97.0', '38.25')
    """
    return f"{number:.1f}" if round(number, 1) == number else f"{number:g}"
