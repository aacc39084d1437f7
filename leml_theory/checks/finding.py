"""What a check found about one claim, and the verdict on all of them."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from leml_theory.arrays import Array

# Largest share of one draw in a sum of squares at which a mean is still taken for normal.
_LARGEST_SHARE = 0.02
# Claims that hold exactly are computed along two routes, each with its rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Finding:
    """One claim and what was measured about it.

    Parameters
    ----------
    claim : str
        What is claimed, in a few words.
    measured : str
        What was measured, with numbers.
    p_value : float
        Smallest p-value of the tests; one or zero for a claim that simply holds or fails.
    tests : int
        Number of tests, zero for a claim that does not depend on chance.
    """

    claim: str
    measured: str
    p_value: float
    tests: int = 0


def plain(claim: str, holds: Any, measured: str) -> Finding:
    """Return the finding on a claim that does not depend on chance."""
    return Finding(claim, measured, 1.0 if holds else 0.0)


def settle(subject: str, findings: Sequence[Finding], level: float = 1.0) -> list[Finding]:
    """Return the findings, or raise an AssertionError that names each claim that fails.

    The tests, where there are any, share the family-wise error `level` evenly (Bonferroni): a
    subject that is what it claims to be fails with at most this probability.
    """
    allowed = level / max(1, sum(finding.tests for finding in findings))
    failed = [finding for finding in findings if finding.p_value < allowed]
    if failed:
        lines = "".join(f"\n  {finding.claim}: {finding.measured}" for finding in failed)
        raise AssertionError(f"{subject} is not what it claims to be:{lines}")
    return list(findings)


def mean_finding(claim: str, values: Array, expected: Any) -> Finding:
    """Test the means of the columns of `values`, shape (n,) or (n, k), against what is expected."""
    table = values.reshape(len(values), -1)
    squares = np.square(table - table.mean(axis=0))
    total = squares.sum(axis=0)
    share = squares.max(axis=0) / np.where(total > 0, total, 1.0)
    errors = np.sqrt(total / (len(table) - 1) / len(table))
    return normal_finding(claim, table.mean(axis=0), errors, expected, share)


def normal_finding(claim: str, means: Array, errors: Array, expected: Any, share: Array) -> Finding:
    """Test means with their standard errors against what is expected.

    Where a single draw holds too large a `share` of the sum of squares, as with heavy tails, the
    mean is not normal, and the claim stays unmeasured, with a warning.
    """
    target = np.broadcast_to(np.asarray(expected, dtype=np.float64), means.shape)
    slack = ROUNDING * (np.abs(target) + np.abs(means))
    gaps = np.maximum(np.abs(means - target) - slack, 0.0)
    # A mean without an error is off by rounding, or wrong.
    deviations = np.divide(gaps, errors, out=np.where(gaps > 0, np.inf, 0.0), where=errors > 0)
    measurable = (share <= _LARGEST_SHARE) | (errors == 0)
    if not measurable.any():
        unknown = "not measurable, the tails are too heavy for so few draws"
        warnings.warn(f"{claim}: {unknown}.", stacklevel=2)
        return plain(claim, True, unknown)
    worst = np.unravel_index(np.argmax(np.where(measurable, deviations, -1.0)), means.shape)
    place = f" at {tuple(int(i) for i in worst)}" if means.size > 1 else ""
    measured = (
        f"{means[worst]:.6g} +- {errors[worst]:.2g} measured{place}, {target[worst]:.6g} claimed"
    )
    p_value = 2 * float(norm.sf(deviations[worst]))
    return Finding(claim, measured, p_value, int(measurable.sum()))


def upper_finding(claim: str, values: Array, bound: float) -> Finding:
    """Test whether the mean of `values` is at most `bound`."""
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(values.size)
    excess = max(mean - bound - ROUNDING * abs(bound), 0.0)
    deviation = excess / error if error > 0 else math.inf if excess > 0 else 0.0
    measured = f"{mean:.6g} +- {error:.2g} measured, at most {bound:.6g} claimed"
    return Finding(claim, measured, float(norm.sf(deviation)), 1)
