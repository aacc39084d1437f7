"""
X7. What more labels per point buy
==================================

Each point shows s of its L labels, and the risk is averaged over the n s entries. In the bound s
cancels. What it buys depends on how the labels of a point go together: independent labels are as
good as more points, s to the power −1/2; identical labels say one thing s times, and the trace
ball's deviation stops falling.
"""

import matplotlib.pyplot as plt
import numpy as np

rng = np.random.default_rng(7)
n, size, seen = 512, 32, np.array([1, 2, 4, 8, 16, 32])
deviation = {"identical labels": [], "independent labels": []}
for name, found in deviation.items():
    for s in seen:
        norms = []
        for _ in range(20):
            X = rng.choice([-1.0, 1.0], size=(n, size)) / np.sqrt(size)
            mask = rng.random((n, size)).argsort(axis=1) < s  # s labels of each point
            Y = np.ones((n, size)) if "identical" in name else rng.choice([-1.0, 1.0], (n, size))
            norms.append(np.linalg.svd(X.T @ (mask * Y), compute_uv=False) / (n * s))
        found.append((np.mean([v[0] for v in norms]), np.mean([np.linalg.norm(v) for v in norms])))

fig, axes = plt.subplots(1, 2, sharey=True)
for ax, (name, found) in zip(axes, deviation.items(), strict=True):
    ax.loglog(seen, [pair[0] for pair in found], "o-", label="trace ball")
    ax.loglog(seen, [pair[1] for pair in found], "s-", label="Frobenius ball")
    ax.set(xlabel="labels seen per point s", title=name)
axes[0].set_ylabel("largest deviation of the risk")
axes[1].legend()
