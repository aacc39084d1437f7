"""One BLAS thread in every test process: several processes on few cores would fight otherwise."""

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread() -> Iterator[None]:
    """Limit linear algebra to one thread."""
    with threadpool_limits(1):
        yield
