"""
X14. Labels that are missing at random
======================================

Each label of each point is seen with the same probability. Points then show different numbers k
of labels, s on average, and a point counts k/s times: Theorem 3 gets the factor √(E k²)/s. With
few labels seen that factor, and not the share itself, is what is paid.
"""

import matplotlib.pyplot as plt
import numpy as np

from leml_theory import Setting
from leml_theory.bounds import theorem_3
from simulations import BernoulliEntries, IsotropicGaussian

rng = np.random.default_rng(14)
n, size, shares = 1024, 16, np.array([0.01, 0.03, 0.1, 0.3, 1.0])
averages, bounds = np.zeros((shares.size, 2)), []
for row, share in zip(averages, shares, strict=True):
    for _ in range(40):
        numbers, labels = rng.binomial(size, share, size=n), rng.integers(size, size=n)
        weights = rng.choice([-1.0, 1.0], size=n) * numbers / (size * share)
        V = np.zeros((size, size))  # labels by features
        np.add.at(V, labels, weights[:, None] * rng.normal(size=(n, size)) / np.sqrt(size))
        row += np.array([np.linalg.norm(V, 2), np.linalg.norm(V)]) / (40 * n)
    setting = Setting.of(IsotropicGaussian(size), BernoulliEntries(size, share), n)
    bounds.append(theorem_3(setting).value)

fig, ax = plt.subplots()
ax.loglog(shares, bounds, "k", label="Theorem 3, both balls")
ax.loglog(shares, averages[:, 1], "s", color="C1", label="Frobenius ball")
ax.loglog(shares, averages[:, 0], "o", color="C0", label="trace ball")
ax.set(xlabel="share of labels observed", ylabel="Rademacher average", title="n = 1024, d = L = 16")
ax.legend()
