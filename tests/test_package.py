"""The package: light to import, honest about its names, free of what breaks others."""

import importlib
import importlib.util
import pkgutil
import subprocess
import sys
from importlib.resources import files

import pytest

import noisyrnn


def test_importing_does_not_wait_for_torch():
    code = "import sys, noisyrnn; noisyrnn.__version__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_workers_do_not_wait_for_what_they_may_never_use():
    slow = ["torch._dynamo", "scipy.stats", "scipy.integrate", "sklearn", "matplotlib"]
    code = f"import sys, noisyrnn.experiments.runner, noisyrnn.theory; print([n for n in {slow} if n in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "[]\n"


def test_rooms_are_there_without_being_imported_one_by_one():
    code = "import noisyrnn; noisyrnn.data.Digits, noisyrnn.theory, noisyrnn.perturb.White, noisyrnn.evaluate.accuracy"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_python_m_runs_the_command_line():
    said = subprocess.run([sys.executable, "-m", "noisyrnn", "--help"], capture_output=True, text=True, check=True)
    assert "Usage: " in said.stdout
    assert "demo" in said.stdout


PACKAGES = [found.name for found in pkgutil.walk_packages(noisyrnn.__path__, "noisyrnn.") if found.ispkg]


@pytest.mark.parametrize("package", ["noisyrnn", *PACKAGES])
def test_no_public_name_hides_a_module(package):
    room = importlib.import_module(package)
    modules = {one.name for one in pkgutil.iter_modules(room.__path__) if one.name != "__main__"}
    for name in sorted(modules):
        try:
            importlib.import_module(f"{package}.{name}")
        except ImportError as error:
            if "pip install 'noisyrnn[" not in str(error):  # an extra that is not here
                raise
            modules.remove(name)
    hidden = {name for name in modules if getattr(room, name) is not sys.modules[f"{package}.{name}"]}
    assert not hidden


@pytest.mark.parametrize("name", noisyrnn.__all__)
def test_every_public_name_is_there(name):
    assert getattr(noisyrnn, name) is not None
    assert name in dir(noisyrnn)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="NoisyRNNN"):
        _ = noisyrnn.NoisyRNNN


def test_torchvision_is_not_drawn_in():
    # Its builds clash with torch's CPU build and then break unrelated packages on import.
    assert importlib.util.find_spec("torchvision") is None


def test_type_checkers_of_users_may_read_the_hints():
    assert (files("noisyrnn") / "py.typed").is_file()  # the marker of PEP 561
