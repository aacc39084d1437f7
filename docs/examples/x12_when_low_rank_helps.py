"""
X12. When low rank helps, before any data is drawn
==================================================

``predict_world`` computes the excess risks of both balls from the sizes, the noise and the true
Z, here nearly shared by all labels: nine tenths of its square in one common predictor, the rest
of rank two. The shades say how many times smaller the trace ball's excess is than the Frobenius
ball's.
"""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from leml_theory import predict_world
from leml_theory.worlds import LABELS
from simulations import IsotropicGaussian, Scenario, UniformLabels


def world(L, rng):  # a new true Z each time
    return Scenario(IsotropicGaussian(16), LABELS["nearly shared"](16, L, rng), UniformLabels(L))


points, labels = [512, 2048, 8192, 32768], [1, 4, 16, 64]
advantage = np.empty((len(labels), len(points)))
for (row, column), _ in np.ndenumerate(advantage):
    rng, here = np.random.default_rng(12), partial(world, labels[row])
    found = predict_world(here, points[column], draws=4, rng=rng)
    advantage[row, column] = found["frobenius"].excess / found["trace"].excess

fig, ax = plt.subplots()
image = ax.imshow(advantage, origin="lower", cmap="Blues", vmin=1, vmax=6, aspect="auto")
for (row, column), ratio in np.ndenumerate(advantage):
    ax.text(column, row, f"{ratio:.1f}", ha="center", va="center")
ax.set_xticks(range(len(points)), points)
ax.set_yticks(range(len(labels)), labels)
ax.set(xlabel="number of points n", ylabel="number of labels L")
ax.set_title("Frobenius excess ÷ trace excess")
