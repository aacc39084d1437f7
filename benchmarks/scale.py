"""More than one machine, data larger than memory: `python -m benchmarks.scale --out FILE.json`.

Each row is a ratio within one run, with its bars and the load average. Every fit runs in a process
of its own, whose peak of anonymous memory is sampled: pages of files that the system may drop at
any time do not count. `--skip-full` leaves out the full Wikipedia shape (about 15 minutes and
9 GB), `--scale 0.1` makes everything small.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks import scale_sweeps, shapes
from leml_solver import AlternatingOptions, available_threads, fit_factors
from leml_solver.algorithms import FAST
from leml_solver.blocks import BlockFolder, fit_blocks, write_blocks
from leml_solver.readers import Dataset

OPTIONS = AlternatingOptions(
    max_iter=5, tol=0.0, certify=False, start="normal", method=replace(FAST, factorise=False)
)


def row(name, value, bar=None, least=None, **rest):
    """Return one row of the table: `bar` is the largest value allowed, `least` the smallest."""
    load = round(os.getloadavg()[0], 2)
    return {"row": name, "value": value, "bar": bar, "least": least, "load": load, **rest}


def said(line):
    """Return the bars of a row in words, and whether they are met."""
    least, bar = line.get("least"), line["bar"]
    words = [f"{word} {x:g}" for word, x in (("at least", least), ("at most", bar)) if x]
    missed = (bar and line["value"] > bar) or (least and line["value"] < least)
    return " and ".join(words) + (", missed" if missed else "")


class Memory(threading.Thread):
    """Samples the anonymous memory of this process."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.ended = 0, threading.Event()

    def run(self):
        """Look twenty times a second."""
        while not self.ended.wait(0.05):
            lines = Path("/proc/self/status").read_text().splitlines()
            line = next((line for line in lines if line.startswith("RssAnon")), "x 0")
            self.peak = max(self.peak, int(line.split()[1]) * 1024)


def prepare(folder, shape, nonzeros):
    """Write synthetic data as a folder of blocks."""
    parts = (Dataset(sp.csr_array(X), sp.csr_array(Y)) for X, Y in shapes.chunks(shape))
    write_blocks(folder, parts, nonzeros=nonzeros)


def child(job):
    """Fit in this process and return what was measured."""
    folder = BlockFolder.open(job["folder"])
    arguments = {"rank": job["rank"], "penalty": 1.0}
    options = replace(OPTIONS, max_iter=job["iterations"])
    small = [(np.eye(40, dtype="f4"), np.eye(40)), (np.ones((9, 40), "f4"), np.ones((9, 40)))]
    fit_blocks(small, rank=4, penalty=1.0, options=OPTIONS)  # imports
    if job["kind"] == "memory":
        parts = [folder.dataset(number) for number in range(len(folder.blocks))]
        X, Y = (sp.vstack([getattr(p, name) for p in parts], format="csr") for name in "XY")
        del parts
    memory = Memory()
    memory.start()  # before the limit: a thread that finds no memory would never start
    if job.get("limit"):
        resource.setrlimit(resource.RLIMIT_DATA, (job["limit"], job["limit"]))
    cpu = time.process_time()
    moved = None
    if job["kind"] == "memory":
        fit = fit_factors(X, Y, **arguments, options=options)
    elif job["kind"] == "blocks":
        fit = fit_blocks(folder, **arguments, options=options)
    else:
        fit, moved = _on_cluster(folder, job["kind"], arguments, options)
    memory.ended.set()
    seconds = [point.seconds for point in fit.trace]
    return {
        "seconds": seconds[-1] - seconds[0],
        "cpu_seconds": time.process_time() - cpu,
        "objective": fit.objective,
        "products": fit.products,
        "anonymous_bytes": memory.peak,
        "moved": moved,
    }


def _on_cluster(folder, address, arguments, options):
    """Fit on a cluster; return the fit and the bytes that client and workers received."""
    from leml_solver.distributed import connected, fit_factors

    with connected(address) as client:
        fit_factors(client, folder, **arguments, options=replace(options, max_iter=1))  # warm
        before, scatter, sent = _received(client), client.scatter, [0]

        def counted(data, *args, **kwargs):
            sent[0] += getattr(data, "nbytes", 0) * len(client.nthreads())
            return scatter(data, *args, **kwargs)

        client.scatter = counted
        fit = fit_factors(client, folder, **arguments, options=options)
        between = _received(client) - before
    return fit, {"broadcast": sent[0], "sent_by_workers": between}


def _received(client):
    """Return the bytes that workers have sent, to each other and to the client."""
    found = client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
    return sum(found.values())


def formula(shape, workers, iterations, steps=4):
    """Return the bytes that docs/scale.md predicts for a squared loss with full labels."""
    d, L, k, p = shape.d, shape.L, shape.rank, workers
    down, up = ((steps + 1) * d + L) * k, (steps * d + L) * k
    first = d * k, L * k  # the objective at the start
    return {
        "broadcast": 4 * p * (iterations * down + first[0]),
        "sent_by_workers": 4 * p * (iterations * up + first[1]),
    }


def run_child(kind, folder, shape, iterations=5, **more):
    """Run `child` in a process of its own."""
    job = {"kind": kind, "folder": str(folder), "rank": shape.rank, "iterations": iterations}
    command = [sys.executable, "-m", "benchmarks.scale", "--child", json.dumps({**job, **more})]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def cluster(args, place):
    """Wikipedia shape / 10: two worker processes against two threads of one process."""
    shape = shapes.WIKI_TENTH.scaled(args.scale)
    nonzeros = int(1.1 * shape.n * shape.nonzeros / 2)  # a block for each worker
    prepare(place / "tenth", shape, nonzeros)
    kinds = ("memory", "local:2", "blocks")
    rounds = [[run_child(kind, place / "tenth", shape) for kind in kinds] for _ in range(3)]
    one, two, disk = (min(runs, key=itemgetter("seconds")) for runs in zip(*rounds, strict=True))
    name = "Wikipedia shape / 10"
    rows = [
        row(f"{name}: in memory, seconds for 5 iterations", one["seconds"], **_rest(one)),
        row(f"{name}: local:2 / in memory", two["seconds"] / one["seconds"], 1.6, **_rest(two)),
        row(f"{name}: out of core / in memory", disk["seconds"] / one["seconds"], **_rest(disk)),
        row(f"{name}: difference of objectives", abs(two["objective"] / one["objective"] - 1)),
    ]
    expected = formula(shape, 2, 5)
    for part, found in two["moved"].items():
        rows.append(row(f"{name}: bytes, {part}, per iteration", found / 5))
        rows.append(row(f"{name}: the same / formula", found / expected[part]))
    return rows


def _rest(measured):
    return {name: measured[name] for name in ("cpu_seconds", "anonymous_bytes", "products")}


def full(args, place):
    """The full Wikipedia shape: in memory, and out of core in the same run."""
    shape = shapes.WIKI.scaled(args.scale)
    prepare(place / "full", shape, 1 << 23)
    one = run_child("memory", place / "full", shape)
    disk = run_child("blocks", place / "full", shape)
    name = "Wikipedia shape, 5 iterations"
    return [
        row(f"{name}: in memory, seconds", one["seconds"], 600, **_rest(one)),
        row(f"{name}: in memory, GB", one["anonymous_bytes"] / 1e9, 8),
        row(f"{name}: out of core / in memory", disk["seconds"] / one["seconds"], 1.5),
        row(f"{name}: out of core, anonymous GB", disk["anonymous_bytes"] / 1e9, 4, **_rest(disk)),
    ]


def limit(args, place):
    """X ten times larger than the memory that the process may have."""
    shape = shapes.Shape(round(2_700_000 * args.scale), 50_000, 50, 300, 3, 8)
    prepare(place / "limit", shape, 1 << 20)
    stored = sum(file.stat().st_size for file in (place / "limit").rglob("X_*.npy"))
    allowed = stored // 10
    disk = run_child("blocks", place / "limit", shape, 2, limit=allowed)
    return [
        row(
            "stored X / memory limit",
            stored / allowed,
            least=10,
            limit_bytes=allowed,
            **_rest(disk),
        )
    ]


def growth(args, place):
    """Seconds of CPU for six outer iterations, without setting up, while n grows sixteenfold."""
    base, sizes, seconds, rows = shapes.EURLEX.scaled(args.scale), [], [], []
    base = replace(base, rank=64)
    for factor in (1, 4, 16):
        shape = replace(base, n=base.n * factor)
        folder = place / f"growth{factor}"
        prepare(folder, shape, 1 << 20)
        few, many = (_least_cpu(folder, shape, iterations) for iterations in (2, 8))
        sizes.append(shape.n)
        seconds.append(many - few)
        rows.append(row(f"growth: n = {shape.n}, CPU seconds for 6 iterations", seconds[-1]))
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    return [*rows, row("growth: exponent of CPU seconds in n", slope, 1.1, 0.95)]


def _least_cpu(folder, shape, iterations):
    """Return the smallest of three times: what else runs on the machine only adds to it."""
    runs = (run_child("blocks", folder, shape, iterations) for _ in range(3))
    return min(run["cpu_seconds"] for run in runs)


def sweeps(args, place):  # noqa: ARG001 - results go to folders of their own
    """1,000 short cells on two workers of a cluster, against two processes of a pool."""
    done = scale_sweeps.measured(max(20, round(scale_sweeps.N_CELLS * args.scale)))
    return [row(done.pop("row"), done.pop("ratio"), done.pop("bar"), **done)]


ROWS = {f.__name__: f for f in (sweeps, growth, cluster, limit, full)}


def _arguments(argv):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--out", help="JSON file to write")
    parser.add_argument("--scale", type=float, default=1.0, help="multiply n, d and L")
    parser.add_argument("--only", nargs="+", choices=ROWS, help="rows to run")
    parser.add_argument("--skip-full", action="store_true", help="not the full Wikipedia shape")
    parser.add_argument("--folder", help="where to put blocks (default: that for temporary files)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv=None):
    """Run the rows asked for, print them, and write them to a file."""
    args = _arguments(argv)
    if args.child:
        print(json.dumps(child(json.loads(args.child))))
        return 0
    began, rows = time.perf_counter(), []
    with tempfile.TemporaryDirectory(dir=args.folder) as place:
        for name in args.only or [n for n in ROWS if n != "full" or not args.skip_full]:
            for line in ROWS[name](args, Path(place)):
                rows.append(line)
                text = f"{line['row']:62s} {line['value']:14.6g}  load {line['load']:5}"
                print(f"{text}  {said(line)}", flush=True)
    if args.out:
        table = {"scale": args.scale, "threads": available_threads(), "rows": rows}
        table["seconds"] = time.perf_counter() - began
        Path(args.out).write_text(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
