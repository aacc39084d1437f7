"""The outer loop over rows in blocks: that of `fit_factors`, with passes in place of products."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leml_solver._blocked.certificate import certify_blocks
from leml_solver._blocked.general import BlockedGeneral
from leml_solver._blocked.passes import Passes
from leml_solver._blocked.problem import BlockedProblem, CountedPasses
from leml_solver._blocked.squared import BlockedSquared
from leml_solver._factored.algorithm_1 import GeneralOptions
from leml_solver._factored.fit import AlternatingOptions, FactorResult, Fit
from leml_solver.losses import Squared

if TYPE_CHECKING:
    from leml_solver.blocks import FolderSource, MemorySource


class BlockedFit(Fit):
    """One fit to rows in blocks, whose passes someone runs."""

    def __init__(
        self,
        passes: Passes,
        source: FolderSource | MemorySource,
        *,
        rank: int,
        penalty: float,
        options: AlternatingOptions | None,
    ) -> None:
        _check_options(options or AlternatingOptions())
        began, self.source = time.perf_counter(), source
        problem = BlockedProblem.of(passes, source.loss, source.dtype)
        super().__init__(problem, rank, penalty, options, began)  # type: ignore[arg-type]

    def _iterate(self) -> Any:
        """Choose Algorithm 2 for squared loss with full labels, Algorithm 1 otherwise."""
        problem: Any = self.problem
        options, quadratic = self.options, type(problem.loss) is Squared
        passes = CountedPasses(problem, self.rank, intercept=options.intercept)
        self.features = passes  # type: ignore[assignment]
        if quadratic and problem.labels.is_full:
            return BlockedSquared(
                problem, passes, self.penalty, options.plan, intercept=options.intercept
            )
        general = GeneralOptions(options.intercept, quadratic)
        return BlockedGeneral(problem, passes, self.penalty, options.plan, general)

    def _data_checksum(self) -> int:
        return self.source.checksum()

    def _certified(self, ended: FactorResult) -> FactorResult:
        """Certify the factors; blocks have no splitting steps that would close a gap."""
        problem: Any = self.problem
        made = certify_blocks(problem, ended.W, ended.H, ended.intercept, self.penalty)
        return replace(ended, certificate=made)


def _check_options(options: AlternatingOptions) -> None:
    """Refuse what needs all rows at once."""
    if options.certify == "rank" or options.refine is not None:
        raise ValueError(
            "`certify` must be True or False and `refine` None for rows in blocks: the search of "
            "a rank and splitting steps need all rows at once."
        )
    if options.warm_start_rows is not None:
        raise ValueError("`warm_start_rows` must be None for rows in blocks.")
