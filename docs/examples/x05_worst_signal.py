"""
X5. Claim 8 for excess risk: the worst planted signal
=====================================================

With centred labels the linear loss has no excess risk at all, so Claim 8 needs a signal: labels
that follow the first feature. A weak signal costs little, a strong one is found; in between is
the worst one. There the Frobenius ball pays 0.3003/√n, and the trace ball less, the more labels
there are. The strength is chosen on other draws than those that are shown, since the largest of
noisy means is too large. Dots: predictions, for the trace ball in the limit of many labels.
"""

import matplotlib.pyplot as plt
import numpy as np

from leml_theory.predictions import worst_frobenius_excess, worst_trace_excess
from simulations import Planted, RademacherVectors, Scenario, UniformLabels

rng = np.random.default_rng(5)
n, sizes, strengths = 10**6, [4, 8, 16, 32], np.geomspace(0.15, 1.3, 8)  # times √n
worst = np.empty((4, 2))
for row, L in zip(worst, sizes, strict=True):  # and d = L
    excess = np.empty((strengths.size, 60, 2))
    for draws, strength in zip(excess, strengths / np.sqrt(n), strict=True):
        world = Scenario(RademacherVectors(L), Planted(L, strength * L), UniformLabels(L))
        for draw in draws:
            U, sigma, Vt = np.linalg.svd(V := world.label_sums(n, rng))  # trace: Z = u v^T
            draw[:] = U[0, 0] * Vt[0].sum(), V[0].sum() / np.linalg.norm(sigma)  # other: V/|V|
        draws[:] = strength * (1 - draws / np.sqrt(L))
    k = excess[:, :30].mean(axis=1).argmax(axis=0)
    row[:] = excess[k, 30:, [0, 1]].mean(axis=1)

fig, ax = plt.subplots()
ax.loglog(sizes, worst[:, 0] * np.sqrt(n), "C0o", label="trace ball")
ax.loglog(sizes, worst[:, 1] * np.sqrt(n), "C1s", label="Frobenius ball")
predicted = [(worst_trace_excess(1, L, L), worst_frobenius_excess(1, L * L)) for L in sizes]
ax.loglog(sizes, predicted, ":", label=["trace, limit", "Frobenius, sharp"])
ax.set(xlabel="number of labels L = d", ylabel="worst excess risk × √n")
ax.legend()
