"""The paper's printed numbers, from published.json: test accuracy in percent, mean over 10 seeds, hidden size 128.

S. H. Lim, N. B. Erichson, L. Hodgkinson and M. W. Mahoney, "Noisy Recurrent Neural Networks", NeurIPS 2021.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def tables() -> dict[str, Any]:
    """All tables as in published.json.

    >>> tables()["ecg"]["lipschitz"][0]
    97.7
    """
    held: dict[str, Any] = json.loads(files("noisyrnn").joinpath("published.json").read_text())
    return held


def printed(table: str) -> dict[str, dict[str, float]]:
    """The accuracy of each model in each column of a table.

    >>> printed("ecg")["lipschitz"]["white:1.2"]
    88.9
    """
    lines = dict(tables()[table])
    columns = lines.pop("columns")
    return {model: dict(zip(columns, numbers, strict=True)) for model, numbers in lines.items()}
