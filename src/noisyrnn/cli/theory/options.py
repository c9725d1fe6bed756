"""Options that the commands of this group share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[Path | None, typer.Option(help="A checkpoint that noisyrnn wrote, such as checkpoint.safetensors.")]
Data = Annotated[
    str | None,
    typer.Option(
        help="Data set as in `noisyrnn data list`, or a file; by default the one of that list that the model names."
    ),
]
Out = Annotated[Path | None, typer.Option(help="Draw the figure into this file, .svg or .png.")]
Json = Annotated[bool, typer.Option("--json", help="Print the numbers for scripts.")]
Additive = Annotated[
    float | None,
    typer.Option(min=0, max=1e6, help="Suppose noise sigma_1 I + sigma_2 diag(f): its sigma_1, instead of the own."),
]
Multiplicative = Annotated[float | None, typer.Option(min=0, max=1e6, help="The supposed noise's sigma_2.")]
Seed = Annotated[int, typer.Option(min=0, max=2**63 - 1, help="Of every random number that the command draws.")]
