"""Names as a reader sees them: models, measures, strengths, numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from noisyrnn.about import About, Claim
from noisyrnn.rows import Column, Description, Row, plain

_KINDS = {
    "antisymmetric": "Antisymmetric RNN",
    "certified": "Certified RNN",
    "cornn": "coRNN",
    "exprnn": "Exponential RNN",
    "lipschitz": "Lipschitz RNN",
    "noisy": "NRNN",
    "rnn": "RNN",
    "lstm": "LSTM",
    "gru": "GRU",
    "noisy-gru": "GRU",
    "mingru": "minGRU",
    "lru": "LRU",
}
_MEASURES = {
    "clean": ("Clean", ""),
    "white": ("White noise", "σ"),
    "multiplicative": ("Multiplicative noise", "σₘ"),
    "salt-pepper": ("Salt and pepper", "α"),
    "uniform": ("Uniform noise", "σ"),
    "salt": ("Salt", "α"),
    "certified": ("Certified", "RMS"),
    "certified l2": ("Certified", "l2"),
    "fgsm": ("Adversarial, FGSM", "r"),
    "fgsm clipped": ("Adversarial, FGSM clipped", "r"),
    "pgd": ("Adversarial, PGD", "r"),
    "apgd": ("Adversarial, APGD", "r"),
    "square": ("Adversarial, Square", "r"),
    "union": ("Adversarial, worst of several", "r"),
    "state-noise": ("State noise", "σ"),
    "state-noise absolute": ("State noise, absolute", "σ"),
    "state-rounding": ("State rounded", "bits"),
    "state-rounding stochastic": ("State rounded by chance", "bits"),
    "stuck-units": ("Units stuck at 0", "p"),
    "flipped-units": ("Units flipped", "p"),
    "weight-noise": ("Weight noise", "σ"),
    "weight-rounding": ("Weights rounded", "bits"),
}


def model(description: Description) -> str:
    """The network's name in a table.

    >>> model(Description(kind="noisy", multiplicative=0.02, additive=0.05)), model(Description(kind="cornn"))
    ('NRNN 0.02/0.05', 'coRNN')
    >>> model(Description(kind="lipschitz", variant="input noise 0.8"))
    'Lipschitz RNN, input noise 0.8'
    """
    kind = _KINDS.get(description.kind, description.kind[:1].upper() + description.kind[1:])
    strengths = "/".join(f"{strength:g}" for strength in description.strengths or ())
    name = f"{kind} {strengths}".strip()
    return f"{name}, {description.variant}" if description.variant else name


def names(experiments: Iterable[About], rows: Iterable[Row]) -> dict[str, str]:
    """Names in tables by the names of recipes, of all that were described or measured."""
    described = {recipe: about for experiment in experiments for recipe, about in experiment.models.items()}
    described |= {row.model: row.description for row in rows}
    plainly = {recipe: model(description) for recipe, description in described.items()}
    shared = Counter(plainly.values())
    # Networks of one kind that nothing else sets apart are known by the names of their recipes.
    return {recipe: name if shared[name] == 1 else f"{name}, {recipe}" for recipe, name in plainly.items()}


def claim(claim: Claim, names: dict[str, str]) -> str:
    """A claim as a sentence.

    >>> one = Claim("ecg", "Table 3", "", "lipschitz", "cornn", ("white", 0.4))
    >>> claim(one, {"lipschitz": "Lipschitz RNN", "cornn": "coRNN"})
    'Lipschitz RNN beats coRNN under white noise σ = 0.4'
    """
    better, worse = (names.get(model, model) for model in (claim.better, claim.worse))
    where = place(claim.column)
    if claim.margin < 0:
        return f"{better} is at most {-claim.margin:g} points below {worse} {where}"
    more = f" by more than {claim.margin:g} points" if claim.margin else ""
    return f"{better} beats {worse} {where}{more}"


def data(row: Row) -> str:
    """Data set, settings and part of a row.

    >>> data(Row(experiment="", model="", description=Description(kind="lstm"), key="", seed=0, epochs=1, value=1,
    ...          measure="clean", task="permuted-mnist", data={"kind": "permuted-mnist", "scale": "raw"}))
    'permuted-mnist scale=raw'
    """
    settings = [f"{name}={plain(value)}" for name, value in sorted(row.data.items()) if name != "kind"]
    part = [] if row.part == "test" else [row.part]
    unverified = [] if row.verified else ["(unverified)"]
    return " ".join([str(row.data.get("kind", row.task)), *settings, *part, *unverified])


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
