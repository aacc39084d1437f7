"""What a grid will cost: seconds learnt from measured cells, and the memory of the largest cell."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import nnls

from command_line import counted
from leml_theory.measurements.precision import LOOKS
from leml_theory.runs import Cell
from leml_theory.worlds import LAWS, observation_of
from safe_files import free_memory
from simulations.features import FeatureLaw

# n, d and L, and draws of pilot cells. The first two tell a cell's start from what a draw costs;
# many draws outweigh the chance in its start.
_PILOTS = ((64, 4, 2), (64, 4, 40), (512, 16, 40), (2048, 32, 20), (4096, 64, 10), (16384, 64, 4))
_FEWEST = 3  # pilots, however long they take
_SECONDS = 9.0  # for all pilots of a grid together
_BASE = 3e8  # bytes of a process that has loaded everything
_SAMPLED = ("erm", "slots")  # kinds of cells that draw every point
_LARGE = 1e10  # n d L from which a cell is announced before it starts

Clock = Callable[[], float]


@dataclass(slots=True)
class _Learnt:
    """Measured seconds of one kind of cells, and the draws that a precision takes."""

    kind: str
    features: list[list[float]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    spread: float = 0.5

    def add(self, parameters: Mapping[str, Any], draws: float, seconds: float) -> None:
        self.features.append(_features(self.kind, parameters, draws))
        self.seconds.append(max(seconds, 1e-6))

    def predicted(self, parameters: Mapping[str, Any], draws: float) -> float:
        """Fit non-negative costs to relative errors, and apply them."""
        seconds = np.array(self.seconds)
        weights, _ = nnls(np.array(self.features) / seconds[:, None], np.ones(seconds.size))
        return float(weights @ _features(self.kind, parameters, draws))


@dataclass(frozen=True, slots=True)
class Effort:
    """What is left of a grid.

    Attributes
    ----------
    cells, measured : int
        Cells of the grid, and those that are there already.
    seconds, longest : float
        Of one process for the rest, and of its longest cell; NaN where nothing was learnt.
    memory : float
        Bytes that the largest cell needs in its process.
    learnt_from : int
        Measured cells behind the seconds.
    """

    cells: int
    measured: int
    seconds: float
    longest: float
    memory: float
    learnt_from: int

    def lines(self, jobs: int) -> list[str]:
        """Return the effort in words."""
        left = self.cells - self.measured
        there = f", {self.measured} of them measured" if self.measured else ""
        said = [f"{counted(self.cells, 'cell')}{there}"]
        if left and self.learnt_from:
            # No process is faster than the longest cell.
            wall = max(self.seconds / min(jobs, left), self.longest)
            processes = counted(jobs, "process", "processes")
            said.append(
                f"about {duration(wall)} in {processes}, the longest cell {duration(self.longest)} "
                f"(learnt from {counted(self.learnt_from, 'measured cell')}; expect a factor of 5 "
                "either way)"
            )
        return [*said, *self.memory_lines(jobs)]

    def memory_lines(self, jobs: int) -> list[str]:
        """Return what is needed of memory, with a warning where it is more than there is."""
        there, needed = free_memory(), self.memory * min(jobs, max(1, self.cells))
        said = f"memory: up to {self.memory / 1e9:.1f} GB per process"
        if there is None or needed <= there:
            return [said]
        most = int(there // self.memory)
        remedy = f"give --jobs {most}" if most else "lower n, d or L, or take a larger machine"
        return [
            f"{said}, {needed / 1e9:.1f} GB in all",
            f"WARNING: only {there / 1e9:.1f} GB is available; {remedy}.",
        ]


def duration(seconds: float) -> str:
    """Return a time in words: 5 s, 12 min, 3.4 h, 2.1 days."""
    units = ((120, 1, "s"), (7200, 60, "min"), (2 * 86400, 3600, "h"), (math.inf, 86400, "days"))
    unit, name = next((unit, name) for limit, unit, name in units if seconds < limit)
    return f"{max(1.0, seconds / unit):.3g} {name}"


def predicted_effort(
    cells: Sequence[Cell],
    known: Mapping[str, float],
    measure: Callable[[Cell], Iterable[Mapping[str, Any]]],
    *,
    clock: Clock = time.perf_counter,
) -> Effort:
    """Predict what the cells that are not known yet will cost.

    Parameters
    ----------
    cells : sequence of Cell
        The whole grid.
    known : mapping of str to float
        Seconds of the cells that are measured, by key.
    measure : callable
        Measures small cells of the same kinds, for some seconds; their results are lost.
    clock : callable
        Returns the present time in seconds.
    """
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        # All but sizes and numbers of draws makes cells comparable.
        words = {k: v for k, v in cell.parameters.items() if isinstance(v, str) and k != "skew"}
        kind = cell.kind, *sorted(words.items()), "rank" in cell.parameters
        groups.setdefault(kind, []).append(cell)
    rest, learnt_from = [], 0
    for group in groups.values():
        left = [cell for cell in group if cell.key not in known]
        learnt = _Learnt(group[0].kind)
        for cell in group:
            if cell.key in known:
                learnt.add(cell.parameters, _draws(cell, learnt), known[cell.key])
        if left:
            _pilot(left, learnt, measure, clock, _SECONDS / len(groups))
            rest += [learnt.predicted(cell.parameters, _draws(cell, learnt)) for cell in left]
            learnt_from += len(learnt.seconds)
    memory = max(memory_of(cell) for cell in cells)
    done = sum(cell.key in known for cell in cells)
    return Effort(len(cells), done, sum(rest), max(rest, default=0.0), memory, learnt_from)


def is_large(cells: Iterable[Cell]) -> bool:
    """Return whether a cell is so large that its effort is predicted before it starts."""
    sizes = (cell.parameters for cell in cells if cell.kind in _SAMPLED)
    return any(math.prod(p.get(size, 1) for size in "ndL") >= _LARGE for p in sizes)


def _pilot(
    cells: Sequence[Cell],
    learnt: _Learnt,
    measure: Callable[[Cell], Iterable[Mapping[str, Any]]],
    clock: Clock,
    seconds: float,
) -> None:
    """Measure cells of the same kind, small ones first, until the time is used up."""
    last = max(cells, key=lambda cell: _features(cell.kind, cell.parameters, 1.0)[::-1])
    start = clock()
    tried: list[dict[str, Any]] = []
    for sizes in _PILOTS:
        pilot = Cell(last.kind, _shrunk(last.parameters, *sizes), last.seed)
        late = clock() - start > seconds / 3 and len(tried) >= _FEWEST
        if pilot.parameters in tried or late or clock() - start > 5 * seconds:
            continue
        if not tried:
            list(measure(pilot))  # what is new to this process is compiled
        begun = clock()
        rows = list(measure(pilot))
        draws = pilot.parameters["draws"]
        learnt.add(pilot.parameters, draws, clock() - begun)
        tried.append(pilot.parameters)
        spreads = [r["stderr"] * draws**0.5 / abs(r["value"]) for r in rows if r.get("value")]
        learnt.spread = max(0.1, float(np.median(spreads))) if spreads else 0.5


def _shrunk(parameters: dict[str, Any], n: int, size: int, draws: int) -> dict[str, Any]:
    """Return the parameters of a small cell."""
    small = {**parameters, "draws": min(draws, int(parameters.get("draws", draws)))}
    small.pop("precision", None)
    caps = {"n": n, "d": size, "L": size, "s": max(1, size // 2), "rank": size}
    return small | {k: min(v, small[k]) for k, v in caps.items() if k in small}


def _draws(cell: Cell, learnt: _Learnt) -> float:
    """Return how many draws a cell takes, on the schedule of its precision if it has one."""
    first = int(cell.parameters.get("draws", 1))
    if "precision" not in cell.parameters:
        return first
    needed = (learnt.spread / float(cell.parameters["precision"])) ** 2
    sizes = [first * 2**look for look in range(LOOKS)]
    return float(next((size for size in sizes if size >= needed), sizes[-1]))


def _features(kind: str, parameters: Mapping[str, Any], draws: float) -> list[float]:
    """Return what costs grow with: a start, draws, matrices, entries."""
    n, d, n_labels = (float(parameters.get(name, 1)) for name in ("n", "d", "L"))
    s = observation_of(
        parameters.get("skew", "uniform"), int(n_labels), int(parameters.get("s", 1))
    )
    matrix = d * n_labels * min(d, n_labels)
    points = n * s.labels_per_point if _draws_points(kind, parameters) else 0.0
    return [1.0, draws, draws * matrix, draws * points * d]


def _draws_points(kind: str, parameters: Mapping[str, Any]) -> bool:
    """Whether a cell draws its points, not sums whose distribution the law knows."""
    made = LAWS.get(parameters.get("law", "gaussian"))
    if kind in _SAMPLED or made is None:
        return True
    return type(made(int(parameters.get("d", 1)))).signed_sums is FeatureLaw.signed_sums


def memory_of(cell: Cell) -> float:
    """Return about how many bytes a cell needs: its sample, its matrices, and the process itself.

    Samples count where they are drawn; averages of one label per point need none.
    """
    p = cell.parameters
    n, d, n_labels = (float(p.get(name, 1)) for name in ("n", "d", "L"))
    numbers = 8 * d * n_labels
    if cell.kind in _SAMPLED:
        skew, s = p.get("skew", "uniform"), int(p.get("s", 1))
        entries = n * observation_of(skew, int(n_labels), s).labels_per_point
        all_labels = "observed" in skew or (skew == "uniform" and s > 1)
        numbers += 3 * n * d + 12 * entries + (2 * n * n_labels if all_labels else 0.0)
        numbers += d * d * n_labels if d * d * n_labels <= 1 << 23 else 0.0
    if cell.kind == "slots":
        numbers += 2 * d * n_labels * float(p["draws"])
    return _BASE + 8 * numbers
