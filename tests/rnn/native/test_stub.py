"""Signatures of the compiled module, for editors and type checkers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from noisyrnn.rnn.native import kernel


def test_the_stub_beside_the_module_names_all_that_it_has():
    if kernel._native is None:
        pytest.skip("the kernel was not compiled")
    stub = Path(str(kernel._native.__file__)).with_name("_native.pyi")
    defined = {
        node.name for node in ast.parse(stub.read_text()).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert defined == {name for name in vars(kernel._native) if not name.startswith("_")}
