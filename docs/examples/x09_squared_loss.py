"""
X9. Squared loss: fitted minimisers beside their prediction
===========================================================

Z is of rank one, each point shows one label with Gaussian noise, and both balls have the radius
of the true Z. ``minimise`` finds the exact minimisers, with a certificate; ``predict`` says
beforehand how large their excess risk is. No bound of the paper applies: the squared loss has no
Lipschitz constant on Gaussian features.
"""

import matplotlib.pyplot as plt
import numpy as np

from leml_solver import FrobeniusBall, TraceBall, minimise
from leml_theory import predict
from simulations import (
    IsotropicGaussian,
    LinearLabels,
    Scenario,
    UniformLabels,
)
from simulations import (
    low_rank_coefficients as low_rank,
)

rng = np.random.default_rng(9)
size, points = 16, [512, 1024, 4096, 16384]
excess, draws = {"trace": [], "frobenius": []}, 4
predicted = [predict(n, size, size) for n in points]
for n in points:
    Z = [low_rank(size, size, rank=1, rng=rng) for _ in range(draws)]
    worlds = [Scenario(IsotropicGaussian(size), LinearLabels(z), UniformLabels(size)) for z in Z]
    problems = [world.sample(n, rng).problem("squared") for world in worlds]
    for name, ball in {"trace": TraceBall, "frobenius": FrobeniusBall}.items():
        fits = [minimise(p, ball(ball(1.0).norm(z))).Z for p, z in zip(problems, Z, strict=True)]
        errors = [np.sum((fit - z) ** 2) for fit, z in zip(fits, Z, strict=True)]
        excess[name].append(np.mean(errors) / (2 * size * size))  # E xx^T = I/d, p = 1/L

fig, ax = plt.subplots()
for k, (name, mark) in enumerate({"trace": "o", "frobenius": "s"}.items()):
    ax.loglog(points, excess[name], mark, color=f"C{k}", label=f"{name} ball, measured")
    ax.loglog(points, [found[name].excess for found in predicted], f"C{k}--", label="predicted")
ax.set(xlabel="number of points n", ylabel="excess risk", title="d = L = 16, rank 1, radius |Z*|")
ax.legend()
