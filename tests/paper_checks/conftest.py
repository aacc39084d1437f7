"""One thread in every check, as the command runs them."""

import pytest

from paper_checks.checking.running import one_thread


@pytest.fixture(autouse=True)
def single_thread():
    """Keep the compiled loops on one thread."""
    with one_thread():
        yield
