"""Everything that the package roots export is shown by an example, and the example runs."""

import doctest
import importlib
import inspect
import io
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "docs"))
from making import reference

PACKAGES = ("leml_solver", "leml_theory", "simulations")
EXPORTED = [(p, name) for p in PACKAGES for name in importlib.import_module(p).__all__]


def example(package, name):
    """Return the doctest of an export; a plain table is shown in the docstring of its package."""
    module = importlib.import_module(package)
    exported = getattr(module, name)
    shown = exported if hasattr(exported, "__module__") else module
    # Without names from the module: a reader who copies the example has none either.
    return doctest.DocTestFinder(recurse=False).find(shown, name, module=False, globs={})[0]


@pytest.mark.parametrize(("package", "name"), EXPORTED)
def test_every_export_has_an_example_that_runs(package, name, tmp_path, monkeypatch, own_names):
    monkeypatch.chdir(tmp_path)  # where an example may write files
    test, complaints = example(package, name), io.StringIO()
    assert test.examples, f"the docstring of {package}.{name} has no example"
    with np.printoptions(precision=8, suppress=False, threshold=1000, linewidth=75):
        doctest.DocTestRunner(verbose=False).run(test, out=complaints.write)
    assert not complaints.getvalue(), complaints.getvalue()


MODULES = [name for package in reference.PACKAGES for name in reference.modules(package)]


@pytest.mark.parametrize("name", MODULES)
def test_every_example_of_the_reference_runs(name, tmp_path, monkeypatch, own_names):
    """Names of public modules need no example; where they have one, it runs."""
    monkeypatch.chdir(tmp_path)
    module, complaints = importlib.import_module(name), io.StringIO()
    exported = {name for package, name in EXPORTED if package == module.__name__.split(".")[0]}
    assert module.__doc__
    for shown in set(reference.public_names(name)) - exported:
        value = getattr(module, shown)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, f"{name}.{shown} is public and says nothing"
            for test in doctest.DocTestFinder(recurse=False).find(value, module=False, globs={}):
                doctest.DocTestRunner(verbose=False).run(test, out=complaints.write)
    assert not complaints.getvalue(), complaints.getvalue()
