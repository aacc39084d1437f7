"""Pictures of the counterexamples of Sections 2 and 3; each function returns a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

from leml_solver import LOSSES
from leml_theory.arrays import Array
from paper_checks.statements.section_3_convergence import TWO_MINIMA, orthogonal_minimum
from paper_checks.statements.table_1 import printed_logistic
from paper_checks.worlds.factored import alternation, factored_objective

if TYPE_CHECKING:  # matplotlib takes half a second to import
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


RIGHT, WRONG, THIRD = "#1b4f8f", "#c23b22", "#2f8f5b"


def plot_two_minima() -> Figure:
    """Draw the least objective for each direction of w where a start may end in the wrong minimum.

    Paper: Section 6.
    """
    figure, (ax,) = _figure(1)
    angles = np.linspace(-20, 110, 261)
    values = np.array([_least_along(np.deg2rad(angle)) for angle in angles])
    ax.plot(angles, values, color=RIGHT)
    for angle, name, colour in ((0.0, "global minimum", RIGHT), (90.0, "strict minimum", WRONG)):
        value = _least_along(np.deg2rad(angle))
        ax.plot(angle, value, "o", color=colour)
        text = f"{name}, {value:.4f}"
        ax.annotate(text, (angle, value), (0, -14), textcoords="offset points", ha="center")
    ax.set(xlabel="direction of w (degrees)", ylabel="least objective (5) in this direction, k = 1")
    ax.set(ylim=(4.8, 5.22), title="X = diag(1, 3), Y = diag(3, 13/6), penalty 1: two minima")
    return figure


def _least_along(angle: float) -> float:
    """Return the least objective over h and over the length of w."""
    X, Y, penalty = TWO_MINIMA
    direction = np.array([np.cos(angle), np.sin(angle)])

    def objective(size: float) -> float:
        a = X @ direction * size
        h = Y.T @ a / (a @ a + penalty)
        rest = Y - np.outer(a, h)
        return float(0.5 * np.square(rest).sum() + 0.5 * penalty * (size**2 + h @ h))

    return float(minimize_scalar(objective, bounds=(0, 5), method="bounded").fun)


def plot_saddle_starts() -> Figure:
    """Draw the objective along alternating minimisation from a saddle, near it, and at random.

    Paper: Section 3.
    """
    figure, (ax,) = _figure(1)
    X, Y, saddle = np.eye(4), np.diag([5.0, 4.0, 2.0, 1.0]), np.eye(4)[:, 2:]
    rng = np.random.default_rng(0)
    starts = {
        "on the trailing singular vectors": (saddle, WRONG, "-"),
        "the same moved by 1e-6": (saddle + 1e-6 * rng.standard_normal((4, 2)), THIRD, "--"),
        "random": (rng.standard_normal((4, 2)), RIGHT, "-."),
    }
    for name, (W, colour, line) in starts.items():
        ax.plot(_trace(X, Y, W), color=colour, ls=line, label=f"start {name}")
    ax.axhline(orthogonal_minimum(X, Y, 2, 0.0), color="0.6", lw=0.8, label="global minimum")
    ax.set(xlabel="iteration", ylabel="objective (5), no penalty")
    ax.set_title("Global convergence needs a generic start: a saddle is never left")
    ax.legend()
    return figure


def _trace(X: Array, Y: Array, W: Array, iterations: int = 30) -> list[float]:
    """Return the objective after each iteration."""
    iterate = alternation(X, Y, 0.0, W)
    values = []
    for _ in range(iterations):
        iterate.update_H()
        iterate.update_W()
        values.append(factored_objective(iterate))
    return values


def plot_logistic_row() -> Figure:
    """Draw the derivatives of the logistic loss as printed and as they are.

    Paper: Table 1.
    """
    figure, axes = _figure(2)
    b, loss = np.linspace(-5, 5, 201), LOSSES["logistic"]
    a = np.ones_like(b)
    rows = zip(axes, (loss.derivative, loss.second_derivative), printed_logistic(a, b), strict=True)
    for (ax, right, printed), order in zip(rows, ("first", "second"), strict=True):
        ax.plot(b, right(a, b), color=RIGHT, label="correct")
        ax.plot(b, printed, color=WRONG, ls="--", label="as printed")
        ax.set(xlabel="prediction b, label a = 1", title=f"Logistic loss: {order} derivative")
        ax.legend()
    return figure


def _figure(columns: int) -> tuple[Figure, list[Axes]]:
    """Return a figure with panels beside each other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.0 * columns + 2.0 * (columns == 1), 3.6), layout="constrained")
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])
