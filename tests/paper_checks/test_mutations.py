"""Every check can fail: each is run with a statement, a datum or a solver bent, and must notice."""

from importlib import import_module

import numpy as np
import pytest
from mutations import FILES, MUTATIONS

from paper_checks.checking import CHECKS, Effort
from paper_checks.statements import PAPER

SEED = 20240
CASES = [(name, mutation) for name, mutations in MUTATIONS.items() for mutation in mutations]


def comes_out(statement_id):
    """Run the quick check of a statement and say whether it comes out as recorded."""
    outcome = CHECKS[statement_id](Effort(True, np.random.default_rng(SEED)))
    return outcome.verdict is PAPER[statement_id].verdict


def is_killed(statement_id):
    """Say whether the check notices; breaking down counts, but failing an assertion does not."""
    try:
        return not comes_out(statement_id)
    except AssertionError:
        return False
    except Exception:
        return True


def test_every_statement_has_a_mutation_in_the_file_of_its_name():
    there = {(file, name) for file, found in FILES.items() for name in found}
    assert there == {(CHECKS[name].__module__.rsplit(".", 1)[1], name) for name in PAPER}
    assert all(MUTATIONS.values())


@pytest.mark.parametrize(
    ("statement_id", "mutation"), CASES, ids=[f"{name}-{m.name}" for name, m in CASES]
)
def test_the_check_notices(statement_id, mutation, monkeypatch, record_property):
    owner, name = mutation.target.rsplit(".", 1)
    original = lookup(owner, name)
    monkeypatch.setattr(mutation.target, mutation.replacement(original))
    killed = is_killed(statement_id)
    record_property("mutation_killed", killed)  # counted by this folder's conftest
    assert killed, f"{statement_id} still comes out as recorded with {mutation.name}"


def lookup(owner, name):
    """Return the object at a dotted path whose tail may be attributes of a class."""
    parts = owner.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in [*parts[end:], name]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(owner)


@pytest.mark.parametrize("statement_id", list(PAPER))
def test_the_check_comes_out_when_nothing_is_bent(statement_id):
    """Without this a check that always fails would kill every mutation."""
    assert comes_out(statement_id)
