"""What the tables of Section 5 show, and which cells have to be measured for a selection of them.

Paper: Section 5.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import pandas as pd

from leml_solver.datasets import available, content_checksum, load_dataset
from leml_solver.readers import Dataset
from leml_theory.runs.cells import Cell
from paper_checks import printed

KIND = "reproduce"
SPLIT_CHECK = ("xmlrepo", "random")  # other splits of delicious, for CPLST in Table 10
SPLIT_RATIOS = (0.2, 0.4, 0.6)
LARGE = frozenset({4})  # a table of data sets that are not at hand
RATIOS = (0.2, 0.4, 0.6, 0.8, 1.0)
SHARES = (0.05, 0.1, 0.2, 0.4)


@dataclass(frozen=True, slots=True)
class Method:
    """What is known of a method before it is trained.

    Attributes
    ----------
    losses : tuple of str
        As `printed.load` calls them.
    protocols : tuple of str
        How its open parameters are found.
    low_rank : bool
        Whether it depends on k.
    takes_missing : bool
        Whether it stands in the tables with missing labels.
    repetitions : int
        Runs from other random numbers with all labels observed; 1 if it is deterministic.
    """

    losses: tuple[str, ...]
    protocols: tuple[str, ...]
    low_rank: bool = True
    takes_missing: bool = False
    repetitions: int = 1


_LOSSES = ("squared", "logistic", "squared_hinge")
METHODS = {
    "LEML": Method(_LOSSES, ("early-stopped", "selected"), takes_missing=True),
    "CPLST": Method(("squared",), ("closed form",)),
    "BCS": Method(("squared",), ("fixed", "selected"), takes_missing=True, repetitions=3),
    "BR": Method(_LOSSES, ("unit penalty", "selected"), low_rank=False, takes_missing=True),
    "WSABIE": Method(("weighted_rank",), ("selected",), repetitions=3),
    "PLST": Method(("squared",), ("closed form",)),
    "CS": Method(("squared",), ("fixed",), repetitions=3),
    "frequencies": Method(("none",), ("fixed",), low_rank=False, takes_missing=True),
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """One table: metrics, k/L, shares observed, and the methods and losses it has room for."""

    metrics: tuple[str, ...]
    ratios: tuple[float, ...] = RATIOS
    shares: tuple[float, ...] = (1.0,)
    methods: tuple[str, ...] = tuple(METHODS)
    losses: tuple[str, ...] = (*_LOSSES, "weighted_rank", "none")


_TAKE_MISSING = tuple(name for name, method in METHODS.items() if method.takes_missing)
TABLES = {
    3: _Layout(("top-3", "auc"), (0.2, 0.4, 0.6), methods=("LEML", "WSABIE")),
    5: _Layout(("top-3", "hamming", "auc"), (0.4,), (0.2,), ("LEML", "BCS", "BR"), ("squared",)),
    **{6 + i: _Layout((metric,)) for i, metric in enumerate(printed.METRICS)},
    **{
        11 + i: _Layout((metric,), (0.2, 0.4, 0.6), SHARES, _TAKE_MISSING)
        for i, metric in enumerate(printed.METRICS)
    },
}


@dataclass(frozen=True, slots=True)
class Row:
    """One number of a table, by one protocol."""

    table: int
    dataset: str
    method: str
    loss: str
    ratio: float
    observed: float
    metric: str
    protocol: str


def rows_of(table: int, dataset: str, methods: frozenset[str]) -> Iterator[Row]:
    """Yield the rows of a table for a data set, whether the paper prints them or not.

    Paper: Section 5.
    """
    layout = TABLES[table]
    for method in (name for name in layout.methods if name in methods):
        how = METHODS[method]
        losses = [loss for loss in how.losses if loss in layout.losses]
        axes = (layout.metrics, losses, layout.ratios, layout.shares, how.protocols)
        for metric, loss, ratio, observed, protocol in product(*axes):
            if not (metric == "hamming" and loss == "weighted_rank"):  # it scores no threshold
                yield Row(table, dataset, method, loss, ratio, observed, metric, protocol)


def paper_values() -> pd.Series:
    """Return the printed values by table, data set, method, loss, ratio, observed and metric."""
    frame = printed.load(*TABLES)
    return frame.set_index(["table", *printed.KEY, "metric"])["value"]


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asks for; empty means everything that there is."""

    folder: Path
    datasets: tuple[str, ...] = ()
    tables: tuple[int, ...] = ()
    methods: tuple[str, ...] = ()
    quick: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """One training: all five metrics come out of it.

    `ratio` is None for a method without k; `content` is the checksum of the data.
    """

    dataset: str
    content: str
    method: str
    loss: str
    ratio: float | None
    observed: float
    protocol: str
    folds: int
    split: str = "default"

    def cell(self, repetition: int, seed: int) -> Cell:
        """Return the cell of one repetition."""
        return Cell(KIND, {**asdict(self), "repetition": repetition}, seed)


@dataclass(frozen=True, slots=True)
class Plan:
    """The rows to fill, the cells that fill each, and sentences about what was left out."""

    rows: tuple[tuple[Row, Task], ...]
    repetitions: dict[Task, int]
    seed: int
    notes: tuple[str, ...]

    def cells(self, task: Task) -> list[Cell]:
        """Return the cells of a task, one per repetition."""
        return [task.cell(i, self.seed) for i in range(self.repetitions[task])]

    def all_cells(self) -> list[Cell]:
        """Return every cell: first one task of each kind, which tells what the others take.

        Cheap kinds come first, so that a small budget shows most of the methods.
        """
        before: Counter[tuple[str, ...]] = Counter()
        parts = []
        for task in self.repetitions:
            cells = self.cells(task)
            kind = kind_of(cells[0])
            parts.append((before[kind], _cost(cells[0]), cells))
            before[kind] += 1
        parts.sort(key=lambda part: part[:2])
        return [cell for _, _, cells in parts for cell in cells]


def kind_of(cell: Cell) -> tuple[str, ...]:
    """Return what trainings of similar length have in common."""
    return tuple(str(cell.parameters[name]) for name in ("dataset", "method", "loss", "protocol"))


def _cost(cell: Cell) -> int:
    """Return by how many tens a training is longer than a closed form, roughly."""
    of = cell.parameters
    quick = of["protocol"] in ("closed form", "unit penalty") or of["loss"] == "none"
    slow = of["loss"] in ("logistic", "squared_hinge", "weighted_rank")
    more = (slow, of["protocol"] == "selected", of["method"] == "BCS")
    return sum(map(int, more)) - int(quick)


@functools.cache
def loaded(name: str, folder: Path) -> tuple[Dataset, str]:
    """Return a data set and the checksum of its content; read once per process."""
    data = load_dataset(name, folder)
    return data, content_checksum(data)


def chosen_datasets(request: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the data sets to use, and those of the paper that are not at hand."""
    there = available(request.folder)
    listed = tuple(dict.fromkeys(printed.load(*TABLES, *LARGE)["dataset"]))
    wanted = request.datasets or tuple(name for name in listed if name in there)
    if absent := [name for name in wanted if name not in there]:
        raise ValueError(
            f"no data set {', '.join(absent)} in {request.folder}; there are {', '.join(there)}."
        )
    if not wanted:
        raise ValueError(f"{request.folder} has none of the paper's data sets {', '.join(listed)}.")
    return wanted, tuple(name for name in listed if name not in there)


def make_plan(request: Request) -> Plan:
    """Return what has to be measured.

    Paper: Section 5.
    """
    datasets, absent = chosen_datasets(request)
    tables = request.tables or tuple(TABLES)
    methods = frozenset(request.methods or METHODS)
    rows = [
        (row, _task(row, request))
        for table in tables
        if table not in LARGE
        for dataset in datasets
        if table in _tables_of(dataset)
        for row in rows_of(table, dataset, methods)
        if _makes_sense(row, request)
    ]
    if not rows:
        raise ValueError(_nothing(request, datasets, absent))
    tasks = [task for _, task in rows]
    if any((row.table, row.dataset, row.method) == (10, "delicious", "CPLST") for row, _ in rows):
        tasks += _split_tasks(request)
    repetitions = {task: _repetitions(task, request.quick) for task in tasks}
    return Plan(tuple(rows), repetitions, request.seed, _notes(absent, tables, datasets))


def _nothing(request: Request, datasets: Sequence[str], absent: Sequence[str]) -> str:
    """Say why a selection has no rows."""
    tables = ", ".join(map(str, request.tables)) or "any"
    return (
        f"nothing to do: table {tables} has no rows of {', '.join(request.methods) or 'any method'}"
        f" on {', '.join(datasets)}; data sets not at hand: {', '.join(absent) or 'none'}."
    )


def _tables_of(dataset: str) -> frozenset[int]:
    """Return the tables of the paper that list a data set; all of them for one of the user's."""
    frame = printed.load(*TABLES)
    listed = frozenset(frame.loc[frame["dataset"] == dataset, "table"])
    return listed or frozenset(TABLES)


def _task(row: Row, request: Request) -> Task:
    """Return the training that fills a row."""
    method = METHODS[row.method]
    content, folds = loaded(row.dataset, request.folder)[1], 2 if request.quick else 3
    ratio = row.ratio if method.low_rank else None
    return Task(
        row.dataset, content, row.method, row.loss, ratio, row.observed, row.protocol, folds
    )


def _makes_sense(row: Row, request: Request) -> bool:
    """Leave out early stopping at ranks above d, where W H^T gains nothing but cost."""
    if row.protocol != "early-stopped":
        return True
    data = loaded(row.dataset, request.folder)[0]
    return rank_of(row.ratio, data.Y.shape[1]) <= int(data.X.shape[1])


def rank_of(ratio: float, n_labels: int) -> int:
    """Return k for a ratio k/L, rounded up as in the printed rows of CPLST."""
    return max(1, math.ceil(ratio * n_labels - 1e-9))  # 0.6 * 5 is a little above 3


def _repetitions(task: Task, quick: bool) -> int:
    """Return how many starts, measurement matrices or observation patterns are tried."""
    if task.observed < 1:
        return 2 if quick else 3
    if task.protocol == "early-stopped":
        number = 10 if task.loss == "squared" else 2  # the others take ten times as long
    else:
        number = METHODS[task.method].repetitions
    return min(number, 2) if quick else number


def _split_tasks(request: Request) -> list[Task]:
    """Return CPLST on other splits of delicious: how much do splits matter to its AUC?"""
    content, folds = loaded("delicious", request.folder)[1], 2 if request.quick else 3
    return [
        Task("delicious", content, "CPLST", "squared", ratio, 1.0, "closed form", folds, split)
        for split, ratio in product(SPLIT_CHECK, SPLIT_RATIOS)
    ]


def _notes(
    absent: Sequence[str], tables: Sequence[int], datasets: Sequence[str]
) -> tuple[str, ...]:
    """Say what was left out."""
    notes = []
    if absent:
        notes.append(f"Left out, data not at hand: {', '.join(absent)}.")
    if empty := [t for t in tables if not any(t in _tables_of(name) for name in datasets)]:
        notes.append(f"Tables without any of {', '.join(datasets)}: {', '.join(map(str, empty))}.")
    return tuple(notes)
