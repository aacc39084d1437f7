"""
X1. Rank-one features attain Theorem 3
======================================

Theorem 3 bounds the Rademacher average of both balls of radius 1 by 1/√n, whatever L is. Let
every x be plus or minus one fixed unit vector. Then V, the sum of signs times x times the unit
vector of a label, has rank one: its spectral norm and its Frobenius norm are the same number, the
trace ball has no advantage, and the average comes within the factor 1 − 1/(4L) of the bound.
"""

import matplotlib.pyplot as plt
import numpy as np

from leml_theory import Setting
from leml_theory.bounds import theorem_3
from simulations import RankOne, UniformLabels

rng = np.random.default_rng(1)
L, points = 64, np.array([64, 256, 1024, 4096, 16384])


def norm(n):  # of V, which holds one signed count for each label
    labels, signs = rng.integers(L, size=n), rng.choice([-1.0, 1.0], size=n)
    return np.linalg.norm(np.bincount(labels, signs, minlength=L))


averages = np.array([np.mean([norm(n) for _ in range(100)]) / n for n in points])
bound = np.array([theorem_3(Setting.of(RankOne(4), UniformLabels(L), n)).value for n in points])
slope = np.polyfit(np.log(points), np.log(averages), 1)[0]

fig, ax = plt.subplots()
ax.loglog(points, bound, "k", label="Theorem 3, both balls")
ax.loglog(points, averages, "o", label=f"measured, both balls: slope {slope:.3f}")
ax.set(xlabel="number of points n", ylabel="Rademacher average", title="Attained: L = 64")
ax.legend()
