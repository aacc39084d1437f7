"""
X13. Points of the map, measured
================================

The prediction of X12 at two places, beside what exact minimisers reach on samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from leml_solver import LOSSES, FrobeniusBall, TraceBall, minimise
from leml_theory import minimum_risk, population_risk, predict_world
from leml_theory.worlds import LABELS
from simulations import IsotropicGaussian, Scenario, UniformLabels

rng = np.random.default_rng(13)
balls, loss = {"trace": TraceBall, "frobenius": FrobeniusBall}, LOSSES["squared"]
places, measured = [(512, 4), (2048, 16)], []
for n, L in places:
    labels = LABELS["nearly shared"](16, L, rng)
    world = Scenario(IsotropicGaussian(16), labels, UniformLabels(L))
    expected = predict_world(world, n, rng=rng)
    for name, kind in balls.items():
        ball = kind(kind(1.0).norm(labels.coefficients))
        least = minimum_risk(world, loss, ball).upper
        fits = [minimise(world.sample(n, rng).problem(loss), ball).Z for _ in range(12)]
        excess = [population_risk(world, loss, Z).value - least for Z in fits]
        measured.append((np.mean(excess), np.std(excess) / np.sqrt(12), expected[name].excess))

fig, ax = plt.subplots()
means, errors, predicted = np.transpose(measured)
ax.errorbar(range(4), means, 2 * errors, fmt="o", capsize=3, label="measured ± 2 standard errors")
ax.plot(range(4), predicted, "_", color="C3", ms=28, label="predicted")
ax.set_xticks(range(4), [f"{ball}\nn = {n}, L = {L}" for n, L in places for ball in balls])
ax.set(ylabel="excess risk", ylim=(0, None), title="d = 16, nearly shared predictor")
ax.legend()
