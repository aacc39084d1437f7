"""
X3. Beyond L = d the advantage stops growing
============================================

The rate 1/√(nL) of Theorem 4 needs L = O(d), which the paper's proof uses and its statement does
not say. With d = 32 features the average follows the rate up to about 32 labels and saturates
near 1/√(nd) beyond: more labels buy nothing.
"""

import matplotlib.pyplot as plt
import numpy as np

from leml_theory import Setting, best_bound, complexity_bounds
from simulations import IsotropicGaussian, UniformLabels

rng = np.random.default_rng(3)
n, d, labels = 65536, 32, np.array([2, 8, 32, 128, 512, 2048])
averages, bounds = [], []
for L in labels:
    counts = rng.multinomial(n, np.full(L, 1 / L), size=10)
    norms = [np.linalg.norm(rng.normal(size=(d, L)) * np.sqrt(m / d), 2) for m in counts]
    averages.append(np.mean(norms) / n)
    setting = Setting.of(IsotropicGaussian(d), UniformLabels(L), n)
    bounds.append(best_bound(complexity_bounds(setting)).value)

fig, ax = plt.subplots()
ax.loglog(labels, averages, "o", label="trace ball, measured")
ax.loglog(labels, bounds, "-.", color="C0", label="smallest valid bound")
ax.loglog(labels, 2 / np.sqrt(n * labels), ":", color="0.5", label="2/√(nL), promised for every L")
ax.axhline(1 / np.sqrt(n * d), color="0.5", lw=0.8, label="1/√(nd)")
ax.axvline(d, color="0.8", lw=0.8)
ax.set(xlabel="number of labels L", ylabel="Rademacher average", title="d = 32, n = 65,536")
ax.legend()
