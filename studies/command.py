"""What every script here is told on the command line, and the file that keeps what it found."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noisyrnn.disk import replace


def arguments(script: str, about: str | None, networks: Sequence[str]) -> argparse.ArgumentParser:
    """Networks by name, by default those of the question, and the file to write: the script's name with .json."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", default=list(networks), help="names, as in results/; default: all")
    parser.add_argument("--out", type=Path, default=Path(script).with_suffix(".json"))
    return parser


def kept(path: Path, about: dict[str, int]) -> dict[str, Any]:
    """What an earlier call with the same settings has found, so that it is not computed again."""
    before = json.loads(path.read_text()) if path.exists() else {}
    return dict(before["found"]) if before.get("about") == about else {}


def keep(path: Path, found: dict[str, Any]) -> None:
    """Everything found so far, in a file that is replaced at once."""
    replace(path, (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode())
