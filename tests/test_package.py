"""The package: light to import, honest about its names, free of what breaks others."""

import importlib.util
import subprocess
import sys
from importlib.resources import files

import pytest

import noisyrnn


def test_importing_does_not_wait_for_torch():
    code = "import sys, noisyrnn; noisyrnn.__version__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


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
