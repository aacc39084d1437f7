"""
X10. One predictor shared by all labels: who finds it?
======================================================

All columns of Z are the same vector, and each point shows one label. Pooled least squares knows
that and fits one vector; the trace ball only knows that the rank may be low; the Frobenius ball
knows nothing of the kind.
"""

import matplotlib.pyplot as plt
import numpy as np

from leml_solver import FrobeniusBall, TraceBall, minimise
from simulations import (
    IsotropicGaussian,
    LinearLabels,
    Scenario,
    UniformLabels,
    shared_coefficients,
)

rng = np.random.default_rng(10)
size, points, draws = 24, [512, 2048, 8192], 4
excess = {"pooled": np.zeros(3), "trace": np.zeros(3), "frobenius": np.zeros(3)}
for k, n in enumerate(points):
    for _ in range(draws):
        Z = shared_coefficients(size, size, rng)
        world = Scenario(IsotropicGaussian(size), LinearLabels(Z), UniformLabels(size))
        sample = world.sample(n, rng)
        found = {"pooled": np.linalg.lstsq(sample.X[sample.rows], sample.values)[0][:, None]}
        for name, ball in {"trace": TraceBall, "frobenius": FrobeniusBall}.items():
            found[name] = minimise(sample.problem("squared"), ball(ball(1.0).norm(Z))).Z
        for name, fit in found.items():
            excess[name][k] += np.sum((fit - Z) ** 2) / (2 * size * size) / draws

fig, ax = plt.subplots()
for name, mark in {"frobenius": "C1s-", "trace": "C0o-", "pooled": "C2^-"}.items():
    ax.loglog(points, excess[name], mark, label=name)
ax.set(xlabel="number of points n", ylabel="excess risk", title="d = L = 24, one shared predictor")
ax.set_xticks(points, points)
ax.minorticks_off()
ax.legend()
