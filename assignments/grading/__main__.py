"""Grade one notebook without pytest: ``python -m grading SPECIFICATION NOTEBOOK``."""

import argparse
import resource
import sys
from dataclasses import asdict
from pathlib import Path

from .results import write_json
from .runner import grade
from .sandbox import Limits
from .specification import Specification

_MEMORY = 8 * 2**30  # bytes


def main(arguments: list[str] | None = None) -> int:
    """Grade, print one line per test, and write the feedback; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("specification", type=Path)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--feedback", type=Path, help="a JSON file with everything")
    parser.add_argument(
        "--limit", type=float, default=Limits.seconds, help="seconds per cell or call"
    )
    parser.add_argument("--weak-fence", action="store_true", help="grade even if it is down")
    options = parser.parse_args(arguments)
    _limit_itself()
    specification = Specification.load(options.specification)
    limits = Limits.of(options.limit, weak_fence=options.weak_fence)
    result = grade(specification, options.notebook, limits)
    if options.feedback is not None:
        write_json(options.feedback, asdict(result))
    for outcome in result.outcomes:
        points = f"{outcome.points:g}/{outcome.max_points:g}"
        print(f"{points:>7s}  {outcome.test}: {outcome.message or 'passed'}")
    print(f"{result.total:g} of {specification.points:g}", *result.remarks, sep="\n  ")
    return 0


def _limit_itself() -> None:
    """Limit the memory of this process, which reads what a student's process sends."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _MEMORY if hard == resource.RLIM_INFINITY else min(_MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


if __name__ == "__main__":
    sys.exit(main())
