"""The last benchmarks that were kept, as tables."""

import json

from making.text import ROOT, plain, table


def benchmarks_page():
    """Return the tables of the last benchmarks that were kept."""
    return f"""# Benchmarks

The figures of the last runs of `make bench` that were kept, in `benchmarks/results`. Seconds belong
to the machine; ratios are what to compare.

## Exact minimisers beside cvxpy

{_machine("erm")} The rival is the fastest solver of cvxpy that came as close; gaps are relative to
the objective at Z = 0.

{_erm_table()}

## LEML beside scikit-learn and napkinXC

{_machine("methods")} ± is one standard error over the test rows.

{_methods_table()}

## Certificates of a rank

`make bench AREA=certificate`; gaps are relative to the objective at Z = 0.

{_certificate_table()}

## More than one machine, data larger than memory

`make bench AREA=scale`; bars are bounds on the value.

{_scale_table()}
"""


def kept(area):
    """Return the last run of an area that was kept."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{area}.json").read_text())


def _machine(area):
    """Return a sentence on the machine of a run."""
    machine = kept(area)["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    place = f"{machine['cores']} cores, Python {machine['python']}"
    return f"{place}, {versions}; `make bench AREA={area}`."


def _erm_table():
    """Return the exact minimisers against cvxpy."""
    head = ("problem (d x L)", "ours, s", "gap", "cvxpy with", "s", "its gap", "ratio")
    rows = []
    for r in kept("erm")["rows"]:
        peer = ("not run", "", "", "")
        if r["peer"]:
            seconds, gap, ratio = r["peer_seconds"], r["peer_gap"], r["ratio"]
            peer = (r["peer"], f"{seconds:.3g}", f"{gap:.0e}", f"{ratio:.1f}")
        rows.append((plain(r["name"]), f"{r['seconds']:.3g}", f"{r['gap']:.0e}", *peer))
    return table(head, *rows)


def _methods_table():
    """Return every method on every data set that was measured."""
    head = ("data", "method", "package", "training, s", "top-1 %", "±", "top-5 %", "AUC", "MB")
    rows = []
    for r in kept("methods")["rows"]:
        quality = f"{r['top_1']:.1f}", f"{r['top_1_stderr']:.1f}", f"{r['top_5']:.1f}"
        cost = f"{r['auc']:.3f}", f"{r['bytes'] / 1e6:.2f}"
        name = r["dataset"], plain(r["method"]), r["package"]
        rows.append((*name, f"{r['train_seconds']:.3g}", *quality, *cost))
    return table(head, *rows)


def _certificate_table():
    """Return how far fits of a rank are from the best of that rank, and from all ranks."""
    head = ("fit", "gap to the best of its rank", "gap over all ranks", "seconds")
    rows = [
        (plain(r["row"]), f"{r['rank_gap']:.1e}", f"{r['gap']:.1e}", f"{r['seconds']:.2g}")
        for r in kept("certificate")["rows"]
        if {"rank_gap", "gap"} <= r.keys()
    ]
    return table(head, *rows)


def _scale_table():
    """Return every row of the benchmark of scale with its bars."""
    rows = [
        (plain(r["row"]), f"{r['value']:.4g}", _bound(r.get("least")), _bound(r["bar"]))
        for r in kept("scale")["rows"]
    ]
    return table(("row", "value", "at least", "at most"), *rows)


def _bound(value):
    return "" if value is None else f"{value:g}"
