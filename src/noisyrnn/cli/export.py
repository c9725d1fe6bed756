"""``noisyrnn export``: a saved classifier for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The directory that `noisyrnn fit` wrote.")],
    out: Annotated[Path, typer.Option(help="The ONNX file.")] = Path("model.onnx"),
    step: Annotated[
        bool, typer.Option("--step", help="One step of a stream, for a model fitted with --causal.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No text; the exit code tells.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the path for scripts.")] = False,
) -> None:
    """Write a saved classifier as ONNX: any batch, any time, lengths as a second input, scaling inside.

    Needs the extra onnx: pip install 'noisyrnn[onnx]'.

    Example: noisyrnn export beats-model --out beats.onnx
    """
    from noisyrnn.disk import check_file
    from noisyrnn.estimator import NoisyRNNClassifier
    from noisyrnn.export import export_onnx, export_step

    check_file(out)
    classifier = NoisyRNNClassifier.load(model)
    path = export_step(classifier, out) if step else export_onnx(classifier, out)
    if as_json:
        typer.echo(json.dumps({"onnx": str(path), "bytes": path.stat().st_size}))
    elif not quiet:
        typer.echo(f"{path}: {path.stat().st_size} bytes; classes are in its metadata.")
