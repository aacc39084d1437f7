"""
X8. A signal that does not shrink with n is learnt fast
=======================================================

The bounds fall as 1/√n because at every n some signal is the worst one. A signal that stays as it
is becomes visible at some n; from there on the excess risk of both balls falls as 1/n.
"""

import matplotlib.pyplot as plt
import numpy as np

from simulations import Planted, RademacherVectors, Scenario, UniformLabels

rng = np.random.default_rng(8)
size, correlation, points = 16, 0.5, 4 ** np.arange(4, 10)
world = Scenario(RademacherVectors(size), Planted(size, correlation), UniformLabels(size))
strength, excess = correlation / size, np.zeros((points.size, 2))
for row, n in zip(excess, points, strict=True):
    for _ in range(30):
        U, sigma, Vt = np.linalg.svd(V := world.label_sums(n, rng))
        along = np.array([U[0, 0] * Vt[0].sum(), V[0].sum() / np.linalg.norm(sigma)])
        row += strength * (1 - along / np.sqrt(size)) / 30

fig, ax = plt.subplots()
ax.loglog(points, 2 / np.sqrt(points), "k", label="Theorem 3")
ax.loglog(points, excess[:, 1], "s", color="C1", label="Frobenius ball")
ax.loglog(points, excess[:, 0], "o", color="C0", label="trace ball")
ax.loglog(points[2:], excess[-1, 1] * points[-1] / points[2:], ":", color="0.5", label="slope −1")
ax.set(xlabel="number of points n", ylabel="excess risk", title="d = L = 16, correlation 1/2")
ax.legend()
