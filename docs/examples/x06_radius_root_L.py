"""
X6. The same with radius √L
===========================

A fixed number of entries per label of Z makes the radius grow as √L. Then the Frobenius ball's
worst excess grows as √(L/n), and the trace ball's tends to 1/√n. Here the worst strengths are
taken from the limits: 0.786/√n, and the strength at which a signal becomes visible in a random
matrix, which is (dL) to the power −1/4, over √n.
"""

import matplotlib.pyplot as plt
import numpy as np

from simulations import Planted, RademacherVectors, Scenario, UniformLabels

rng = np.random.default_rng(6)
n, sizes = 10**6, np.array([8, 16, 32, 64])
excess = np.zeros((sizes.size, 2))
for row, L in zip(excess, sizes, strict=True):  # and d = L
    for ball, strength in enumerate((L**-0.5 / np.sqrt(n), 0.786 / np.sqrt(n))):
        world = Scenario(RademacherVectors(L), Planted(L, strength * L), UniformLabels(L))
        for _ in range(20):
            U, sigma, Vt = np.linalg.svd(V := world.label_sums(n, rng))
            along = (U[0, 0] * Vt[0].sum(), V[0].sum() / np.linalg.norm(sigma))[ball]
            row[ball] += np.sqrt(L) * strength * (1 - along / np.sqrt(L)) / 20

fig, ax = plt.subplots()
ax.loglog(sizes, excess[:, 1] * np.sqrt(n), "s", color="C1", label="Frobenius ball")
ax.loglog(sizes, 0.3003 * np.sqrt(sizes), ":", color="C1", label="0.3003 √L")
ax.loglog(sizes, excess[:, 0] * np.sqrt(n), "o", color="C0", label="trace ball")
ax.axhline(1, color="C0", ls=":", label="1")
ax.set(xlabel="number of labels L = d", ylabel="excess risk × √n", title="Radius √L")
ax.legend()
