"""Experiments on Rademacher averages: Theorems 3, 4 and 6, and several labels per point."""

from leml_theory.sweep.experiments.design import Experiment, Fit, Planned

AVERAGE = "rademacher average"
HALF = {"trace": -0.5, "frobenius": -0.5}


def _average(series: str, law: str, **place: int) -> Planned:
    """Plan one average with uniform labels; `place` holds n, d, L and draws."""
    return Planned(series, "rademacher", {"law": law, "skew": "uniform", **place})


def powers(first: int, last: int, step: int = 1) -> list[int]:
    """Return 2^first, 2^(first+step), ..., up to 2^last."""
    return [2**e for e in range(first, last + 1, step)]


def _x1(preset: str) -> list[Planned]:
    quick = preset == "quick"
    draws = 200 if quick else 400
    points = powers(6, 14, 2) if quick else powers(6, 14)
    labels = powers(4, 10, 2) if quick else powers(4, 10)
    plan = [_average("n", "rank-one", n=n, d=4, L=64, draws=draws) for n in points]
    return plan + [_average("L", "rank-one", n=4096, d=4, L=L, draws=draws) for L in labels]


X1 = Experiment(
    "X1",
    "Theorem 3 with rank-one features, where it may be attained (Claim 7)",
    _x1,
    (
        Fit("n", AVERAGE, "n", "sharp", HALF),
        Fit("L", AVERAGE, "L", "sharp", {"trace": 0.0, "frobenius": 0.0}),
    ),
)


def _x2(preset: str) -> list[Planned]:
    quick = preset == "quick"
    draws = 100 if quick else 400
    many = powers(10, 18, 2) if quick else powers(10, 18)
    sizes = powers(4, 7) if quick else powers(4, 9)
    plan = [_average("n", "gaussian", n=n, d=64, L=64, draws=draws) for n in many]
    plan += [_average("few points", "gaussian", n=n, d=64, L=64, draws=draws) for n in powers(3, 7)]
    for law in ("gaussian", "rademacher"):
        series = f"L = d, {law}"
        plan += [_average(series, law, n=10**6, d=size, L=size, draws=draws) for size in sizes]
    return plan


X2 = Experiment(
    "X2",
    "Theorem 4: isotropic features, averages against n and against L = d",
    _x2,
    (
        Fit("n", AVERAGE, "n", "sharp", HALF),
        Fit("n", AVERAGE, "n", "approach", {"trace": -0.5}),
        Fit("few points", AVERAGE, "n", "steeper", {"trace": -0.5}),
        Fit("few points", AVERAGE, "n", "sharp", {"frobenius": -0.5}),
        Fit("L = d, gaussian", AVERAGE, "L", "sharp", {"trace": -0.5, "frobenius": 0.0}),
        Fit("L = d, rademacher", AVERAGE, "L", "sharp", {"trace": -0.5, "frobenius": 0.0}),
    ),
)


def transition_plan(preset: str) -> list[Planned]:
    """Plan the averages of X3: d fixed and L growing past it, and L fixed and d growing."""
    quick = preset == "quick"
    draws = 100 if quick else 400
    labels = [2, 8, 32, 128, 512, 1024, 2048, 4096] if quick else powers(1, 12)
    place = {"n": 65536, "draws": draws}
    plan = [_average("L", "gaussian", **place, d=32, L=L) for L in labels]
    plan += [_average("L >> d", "gaussian", **place, d=32, L=L) for L in powers(9, 12)]
    return plan + [_average("d", "gaussian", **place, d=d, L=1024) for d in powers(3, 7)]


TRANSITION_FITS = (
    Fit("L", AVERAGE, "L", "reported", {"trace": -0.5, "frobenius": 0.0}),
    Fit("L >> d", AVERAGE, "L", "reject", {"trace": -0.5}),
    Fit("d", AVERAGE, "d", "reject", {"trace": 0.0}),
)


def _skewed(series: str, skew: str, draws: int) -> Planned:
    """Plan one average with skewed label probabilities, d = L = 128, n = 10^6."""
    place = {"law": "gaussian", "n": 10**6, "d": 128, "L": 128, "skew": skew, "draws": draws}
    return Planned(series, "rademacher", place)


def skew_plan(preset: str) -> list[Planned]:
    """Plan the averages of X4: one heavy label, and Zipf laws."""
    quick = preset == "quick"
    draws = 60 if quick else 400
    shares = (0.05, 0.2, 0.8) if quick else (0.05, 0.1, 0.2, 0.4, 0.8)
    plan = [_skewed("one heavy label", f"heavy:{share}", draws) for share in shares]
    return plan + [_skewed("Zipf", f"zipf:{a}", draws) for a in (1.0, 1.5, 2.0, 3.0)]


SKEW_FITS = (
    Fit("one heavy label", AVERAGE, "P", "sharp", {"trace": 0.5, "frobenius": 0.0}),
    Fit("Zipf", AVERAGE, "P", "sharp", {"trace": 0.5, "frobenius": 0.0}),
)


def _x7(preset: str) -> list[Planned]:
    quick = preset == "quick"
    draws = 40 if quick else 400
    place = {"law": "rademacher", "n": 512, "d": 64, "L": 64, "draws": draws}
    return [
        Planned(labels, "slots", {**place, "labels": labels, "s": s})
        for labels in ("all-ones", "independent")
        for s in (powers(0, 6, 2) if quick else powers(0, 6))
    ]


X7 = Experiment(
    "X7",
    "s labels per point: what more slots buy, risk averaged over n s",
    _x7,
    (
        Fit("all-ones", "supremum deviation", "s", "sharp", {"trace": 0.0, "frobenius": -0.5}),
        Fit("independent", "supremum deviation", "s", "sharp", HALF),
    ),
)


def _x14(preset: str) -> list[Planned]:
    quick = preset == "quick"
    shares = (0.01, 0.03, 0.1, 0.3, 1.0) if quick else (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    place = {"n": 1024, "d": 16, "L": 16, "s": 1, "draws": 100 if quick else 400}
    slots = {**place, "law": "rademacher", "labels": "all-ones"}
    fits = {**place, "law": "gaussian", "labels": "logistic", "loss": "logistic", "radius": 1.0}
    fits["draws"] = 8 if quick else 24
    plan = []
    for share in shares:
        skew = f"observed:{share}"
        plan.append(Planned("averages", "rademacher", {**place, "law": "gaussian", "skew": skew}))
        plan.append(Planned("all-ones", "slots", {**slots, "skew": skew}))
        plan.append(Planned("logistic", "erm", {**fits, "skew": skew}))
    return plan


X14 = Experiment(
    "X14",
    "Missing labels: each one seen with the same probability, beside the bounds",
    _x14,
    (
        Fit("averages", AVERAGE, "observed", "sharp", HALF),
        Fit("all-ones", "supremum deviation", "observed", "sharp", {"frobenius": -0.5}),
        Fit("logistic", "excess risk", "observed", "reported", HALF),
    ),
)
