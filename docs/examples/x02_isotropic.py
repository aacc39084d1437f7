"""
X2. Isotropic features: the trace ball's average shrinks with L
===============================================================

Theorem 4 promises the trace ball an average of the order 1/√(nL) where features are spread over d
= L directions. Given how often each label was drawn, V is a Gaussian matrix with scaled columns,
so that a million points cost no more than a hundred. The Frobenius average stays at 1/√n; the
trace average approaches 2/√(nL), below Chevet's bound, which is valid with its constants.
"""

import matplotlib.pyplot as plt
import numpy as np

from leml_theory import Setting
from leml_theory.bounds import chevet
from simulations import IsotropicGaussian, UniformLabels

rng = np.random.default_rng(2)
n, sizes = 10**6, np.array([8, 16, 32, 64, 128])
trace, frobenius, bound = [], [], []
for L in sizes:  # and d = L
    counts = [UniformLabels(L).counts(n, rng) for _ in range(20)]
    draws = [rng.normal(size=(L, L)) * np.sqrt(m / L) for m in counts]
    trace.append(np.mean([np.linalg.norm(V, 2) for V in draws]) / n)
    frobenius.append(np.mean([np.linalg.norm(V) for V in draws]) / n)
    bound.append(chevet(Setting.of(IsotropicGaussian(L), UniformLabels(L), n)).value)

fig, ax = plt.subplots()
ax.loglog(sizes, frobenius, "s", color="C1", label="Frobenius ball")
ax.loglog(sizes, trace, "o", color="C0", label="trace ball")
ax.loglog(sizes, bound, "-.", color="C0", label="Chevet's bound, trace ball")
ax.loglog(sizes, 2 / np.sqrt(n * sizes), ":", color="0.5", label="2/√(nL)")
ax.set(xlabel="number of labels L = d", ylabel="Rademacher average", title="n = 1,000,000")
ax.set_xticks(sizes, sizes)
ax.legend()
