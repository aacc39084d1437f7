"""README's picture of when low rank helps, from the table of X12 and X13.

python -m leml_theory.sweep --preset paper --only X12,X13 --out results/map
python docs/making/headline.py results/map/results.csv
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.colors import TwoSlopeNorm

from leml_theory.sweep.experiments.phases import LABEL_MAP, advantages

RIVALS = {
    "frobenius": "the Frobenius ball",
    "separate": "separate least squares",
    "pooled": "pooled least squares",
}
TICKS = [0.5, 1, 2, 4, 8, 16, 32]


def draw(frame):
    """Return the figure: one map for each rival."""
    kinds = ["predicted excess", "excess risk"]
    rows = frame[(frame["series"] == LABEL_MAP) & frame["quantity"].isin(kinds)]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), sharey=True, layout="constrained")
    for ax, (rival, name) in zip(axes, RIVALS.items(), strict=True):
        found = advantages(rows[rows["experiment"] == "X12"], rival)
        image = _map(ax, found.pivot_table(index="L", columns="n", values="advantage"))
        for point in advantages(rows[rows["experiment"] == "X13"], rival).itertuples():
            style = {"boxstyle": "circle,pad=0.2", "fc": "white", "ec": "black"}
            text = f"{point.advantage:.1f}"
            ax.text(point.n, point.L, text, size=8, ha="center", va="center", bbox=style)
        ax.set(title=f"against {name}", xlabel="number of points n")
    axes[0].set_ylabel("number of labels L")
    bar = figure.colorbar(image, ax=axes, label="times smaller", pad=0.01)
    bar.set_ticks(np.log2(TICKS), labels=[f"{tick:g}" for tick in TICKS])
    figure.suptitle("When low rank helps: predicted excess risk of the trace ball", weight="bold")
    return figure


def _map(ax, table):
    """Draw one map with the line where the two are even; return its image."""
    ax.set_facecolor("0.93")  # shown where nothing is predicted
    n, labels, logs = table.columns.to_numpy(), table.index.to_numpy(), np.log2(table.to_numpy())
    norm = TwoSlopeNorm(0, -1, 5)
    image = ax.pcolormesh(n, labels, logs, shading="nearest", cmap="PuOr", norm=norm)
    ax.set(xscale="log", yscale="log")
    if np.nanmin(logs) < -0.05:
        ax.contour(n, labels, logs, levels=[0.0], colors="black", linewidths=2)
    ax.set_xticks([100, 1000, 10_000, 100_000], ["100", "1000", "10⁴", "10⁵"])
    ax.set_yticks([1, 4, 16, 64], ["1", "4", "16", "64"])
    ax.minorticks_off()
    return image


if __name__ == "__main__":
    target = Path(__file__).parents[1] / "images" / "when_low_rank_helps.png"
    draw(pd.read_csv(sys.argv[1])).savefig(target, dpi=130)
