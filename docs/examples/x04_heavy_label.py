"""
X4. One label seen too often takes the advantage away
=====================================================

Theorem 6 has labels with probabilities of their own. If one of them is shown with probability P,
its column of V alone has the norm √(nP), so that the trace ball's average is about √(P/n): at P
near 1 it is what the Frobenius ball pays.
"""

import matplotlib.pyplot as plt
import numpy as np

from leml_theory import Setting, best_bound, complexity_bounds
from simulations import IsotropicGaussian, WeightedLabels, heavy_label

rng = np.random.default_rng(4)
n, size, shares = 10**6, 64, np.array([1 / 64, 0.05, 0.1, 0.2, 0.4, 0.8])
averages, bounds = [], []
for share in shares:
    seen = WeightedLabels(heavy_label(size, share), labels_per_point=1)
    sums = [rng.normal(size=(size, size)) * np.sqrt(seen.counts(n, rng) / size) for _ in range(20)]
    averages.append(np.mean([np.linalg.norm(V, 2) for V in sums]) / n)
    bounds.append(best_bound(complexity_bounds(Setting.of(IsotropicGaussian(size), seen, n))).value)

fig, ax = plt.subplots()
ax.loglog(shares, averages, "o", label="trace ball, measured")
ax.loglog(shares, bounds, "-.", color="C0", label="smallest valid bound")
ax.loglog(shares, np.sqrt(shares / n), ":", color="0.5", label="√(P/n)")
ax.axhline(1 / np.sqrt(n), color="C1", label="Frobenius ball, 1/√n")
ax.set(xlabel="probability P of the heavy label", ylabel="Rademacher average", title="d = L = 64")
ax.set_xticks([0.02, 0.1, 0.5], ["2 %", "10 %", "50 %"])
ax.minorticks_off()
ax.legend()
