"""The names of the theory: each means one thing, and none costs more than it must."""

import pkgutil
import subprocess
import sys
from functools import reduce
from importlib import import_module

import pytest

from noisyrnn import theory

MODULES = [found.name for found in pkgutil.walk_packages(theory.__path__, "noisyrnn.theory.")]
ROOMS = ["noisyrnn.theory", *(name for name in MODULES if hasattr(import_module(name), "__path__"))]


@pytest.mark.parametrize("name", MODULES)
def test_no_name_hides_a_module(name):
    assert reduce(getattr, name.split(".")[1:], sys.modules["noisyrnn"]) is import_module(name)


@pytest.mark.parametrize("name", ROOMS)
def test_no_exported_name_is_also_that_of_a_module_elsewhere(name):
    room, modules = import_module(name), {path.rsplit(".", 1)[1]: path for path in MODULES}
    shared = [one for one in room.__all__ if one in modules]
    assert [one for one in shared if getattr(room, one) is not sys.modules[modules[one]]] == []


@pytest.mark.parametrize("name", ROOMS)
def test_exports_are_there_once(name):
    room = import_module(name)
    assert len(set(room.__all__)) == len(room.__all__)
    assert [one for one in room.__all__ if not hasattr(room, one)] == []


def test_matplotlib_is_not_imported_before_something_is_drawn():
    asked = "import sys, noisyrnn.theory; print([name for name in sys.modules if name.startswith('matplotlib')])"
    ended = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
