"""The lecture notes as HTML and PDF, with their figures: `make lectures`.

python docs/lectures/build.py --out results/lectures     six figures, three pages, three PDF files
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from documents import write_document
from leml_solver import FrobeniusBall, Problem, Squared, TraceBall, minimise
from leml_theory import predict, rademacher_averages
from leml_theory.predictions import chi_mean, spectral_norm
from leml_theory.risk import minimum_risk, population_risk
from simulations import (
    IsotropicGaussian,
    LinearLabels,
    RankOne,
    Scenario,
    UniformLabels,
    low_rank_coefficients,
)

HERE = Path(__file__).resolve().parent
TITLES = {
    "lecture_1": "Balls and Rademacher averages",
    "lecture_2": "Who attains the bounds",
    "lecture_3": "Exact minimisers, certificates, LEML, and predictions of the risk",
}
LOOKS = {"trace": "o-", "frobenius": "s--"}
NAMES = {"trace": "trace ball", "frobenius": "Frobenius ball"}


def _axes(**labels: str) -> Axes:
    _, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set(**labels)
    return ax


def averages_against_n(draws: int = 200) -> Axes:
    """Draw both averages and Theorem 3 in two worlds, all times sqrt(n)."""
    ax = _axes(xlabel="number of points n", ylabel="Rademacher average times √n", xscale="log")
    rng, n_values = np.random.default_rng(1), 4 ** np.arange(2, 9)
    for law, name, shade in (
        (IsotropicGaussian(64), "isotropic", "0"),
        (RankOne(64), "rank-one", "0.55"),
    ):
        found = [
            rademacher_averages(law, UniformLabels(64), int(n), draws=draws, rng=rng)
            for n in n_values
        ]
        for ball, look in LOOKS.items():
            values = [
                math.sqrt(n) * one[ball].value for n, one in zip(n_values, found, strict=True)
            ]
            ax.plot(
                n_values, values, look, color=shade, mfc="white", label=f"{NAMES[ball]}, {name} x"
            )
    ax.axhline(1, color="#7a3b69", label="Theorem 3, both balls")
    ax.set(ylim=(0, 1.1), title="d = L = 64: one bound, two worlds")
    ax.legend(fontsize=8)
    return ax


def share_of_theorem_3() -> Axes:
    """Draw the share of Theorem 3 that rank-one features use, against L."""
    ax = _axes(xlabel="number of labels L", ylabel="share of Theorem 3 used, n → ∞", xscale="log")
    labels = np.arange(1, 65)
    ax.plot(labels, [chi_mean(int(L)) for L in labels], "k-", label="rank-one features: E|g|/√L")
    ax.plot(labels, 1 - 1 / (4 * labels), "k:", label="1 - 1/(4L)")
    ax.axhline(1, color="#7a3b69")
    ax.set_title("No constant below 1 holds for all laws")
    ax.legend()
    return ax


def gap_and_excess() -> Axes:
    """Draw the limits of gap and excess in the world with one feature and one label."""
    ax = _axes(xlabel="signal u = μ√n", ylabel="mean times √n")
    u = np.linspace(0, 3, 200)
    tail = np.array([math.erfc(t / math.sqrt(2)) / 2 for t in u])
    ax.plot(u, 2 * np.exp(-(u**2) / 2) / math.sqrt(2 * math.pi), "k-", label="gap: 2φ(u)")
    ax.plot(u, 2 * u * tail, "k--", label="excess: 2uΦ(-u)")
    ax.set_title("The gap is largest where nothing can be lost")
    ax.legend()
    return ax


def transition() -> Axes:
    """Draw the trace ball's average against L for three d, and where Theorem 4 ends."""
    ax = _axes(xlabel="number of labels L", ylabel="average of the trace ball times √n")
    ax.set(xscale="log", yscale="log")
    labels = 2 ** np.arange(1, 12)
    for d, mark in ((8, "o"), (32, "s"), (128, "^")):
        values = [spectral_norm(d, np.full(L, 1 / L)) / math.sqrt(d) for L in labels]
        ax.plot(labels, values, f"k{mark}-", mfc="white", label=f"d = {d}")
        valid = labels[labels <= d]
        ax.plot(valid, 2 / np.sqrt(valid), "--", color="#7a3b69")
        ax.plot(valid[-1], 2 / math.sqrt(valid[-1]), "x", color="#7a3b69")
        ax.axhline(1 / math.sqrt(d), color="0.7", lw=0.8)
    ax.set_title("2/√L (dashed) is valid up to L = d (crosses); then 1/√d (grey)", fontsize=10)
    ax.legend()
    return ax


def frank_wolfe(steps: int = 60) -> Axes:
    """Draw the true distance to the minimum and the gap that certifies it, step by step."""
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(60, 8)), np.zeros((8, 6))
    Y = X @ low_rank_coefficients(8, 6, 2, rng) / 3 + rng.normal(size=(60, 6))
    problem, ball = Problem(Squared(), X, Y), TraceBall(2.0)
    least = minimise(problem, ball, tol=1e-9).certificate.lower_bound
    true, gaps = [], []
    for _ in range(steps):
        G = problem.gradient(Z)
        S = ball.linear_minimiser(G)
        gap, bend = float(np.sum(G * (Z - S))), float(np.sum((X @ (S - Z)) ** 2))
        true.append(problem.objective(Z) - least)
        gaps.append(gap)
        Z = Z + min(1.0, gap / bend) * (S - Z)
    ax = _axes(xlabel="step", ylabel="objective", yscale="log")
    ax.plot(range(steps), np.minimum.accumulate(gaps), "k--", label="smallest gap so far: a proof")
    ax.plot(range(steps), true, "k-", label="F(Z) - min F: the truth")
    ax.set_title("Frank-Wolfe brings its own certificate")
    ax.legend()
    return ax


def prediction(trials: int = 8, sizes: tuple[int, ...] = (1024, 2048, 4096, 8192)) -> Axes:
    """Draw predicted and measured excess risks of both minimisers for a true Z of rank one."""
    ax = _axes(xlabel="number of points n", ylabel="excess risk", xscale="log", yscale="log")
    found: dict[str, list[float]] = {"trace": [], "frobenius": []}
    for n in sizes:
        promised = predict(n, 16, 16, rank=1)
        for ball, values in found.items():
            values.append(promised[ball].excess)
    for ball, look in LOOKS.items():
        ax.plot(sizes, found[ball], look[1:], color="black", label=f"{NAMES[ball]}, predicted")
        values = np.array([_excess(n, ball, trials) for n in sizes])
        bars = 2 * values.std(axis=1, ddof=1) / math.sqrt(trials)
        style = {
            "fmt": look[0],
            "color": "black",
            "mfc": "white",
            "label": f"{NAMES[ball]}, measured",
        }
        ax.errorbar(sizes, values.mean(axis=1), bars, **style)
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.minorticks_off()
    ax.set_title("d = L = 16, one predictor of rank one, squared loss")
    ax.legend(fontsize=8)
    return ax


def _excess(n: int, name: str, trials: int) -> list[float]:
    """Return the excess risks of a minimiser in worlds like those of the prediction."""
    kind, found = {"trace": TraceBall, "frobenius": FrobeniusBall}[name], []
    for trial in range(trials):
        rng = np.random.default_rng([trial, n])
        Z = low_rank_coefficients(16, 16, 1, rng)
        world = Scenario(IsotropicGaussian(16), LinearLabels(Z, 1.0), UniformLabels(16))
        ball = kind(kind(1.0).norm(Z))
        fit = minimise(world.sample(n, rng).problem(Squared()), ball, tol=1e-7)
        least = minimum_risk(world, Squared(), ball).upper
        found.append(population_risk(world, Squared(), fit.Z).value - least)
    return found


FIGURES: dict[str, Callable[[], Axes]] = {
    "averages_against_n": averages_against_n,
    "share_of_theorem_3": share_of_theorem_3,
    "gap_and_excess": gap_and_excess,
    "transition": transition,
    "frank_wolfe": frank_wolfe,
    "prediction": prediction,
}


def draw_figures(out: Path) -> None:
    """Draw the figures into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        draw().figure.savefig(out / f"{name}.png", dpi=150)
        plt.close("all")


def build(out: Path, *, pdf: bool = True) -> list[Path]:
    """Draw the figures and write the pages; return their paths."""
    draw_figures(out)
    endings = (".html", ".pdf") if pdf else (".html",)
    return [
        write_document(
            (HERE / f"{name}.md").read_text(), out / f"{name}{ending}", title=title, pictures=out
        )
        for name, title in TITLES.items()
        for ending in endings
    ]


def main() -> None:
    """Build what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results/lectures"), help="(%(default)s)")
    parser.add_argument(
        "--no-pdf", action="store_true", help="HTML only, where there is no Chromium"
    )
    options = parser.parse_args()
    for path in build(options.out, pdf=not options.no_pdf):
        print(path)


if __name__ == "__main__":
    main()
