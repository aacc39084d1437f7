"""
X11. Worlds outside an assumption: the bound is refused, and says why
=====================================================================

A bound is a function of a setting; it returns a value together with the assumptions that fail
there. Each world below breaks an assumption of the bound named beside it. In the picture a dot
marks a bound that is valid in a world, a cross one that is not.
"""

import matplotlib.pyplot as plt
import numpy as np

from leml_theory import Setting
from leml_theory.bounds import tabled_bounds
from simulations import HeavyTailed, IsotropicGaussian, NonNegative, UniformLabels

worlds = {
    "heavy tails": (HeavyTailed(64), 65536, "paper_route"),
    "x not centred": (NonNegative(64), 65536, "paper_route"),
    "n < L": (IsotropicGaussian(64), 32, "paper_route"),
    "raw N(0, I)": (IsotropicGaussian(64, normalised=False), 65536, "theorem_3_as_printed"),
}
names, valid, reasons = list(tabled_bounds()), [], {}
for world, (law, n, refused) in worlds.items():
    setting = Setting.of(law, UniformLabels(64), n)
    values = {name: bound(setting) for name, bound in tabled_bounds().items()}
    valid.append([values[name].valid for name in names])
    reasons[world] = "; ".join(str(failure) for failure in values[refused].failures)
    print(f"{world}, {refused}: {reasons[world]}")

# %%

fig, ax = plt.subplots()
for mark, colour, chosen in (("o", "C0", True), ("x", "C3", False)):
    rows, columns = np.nonzero(np.array(valid) == chosen)
    ax.scatter(columns, rows, marker=mark, color=colour)
ax.set_xticks(range(len(names)), names, rotation=40, ha="right")
ax.set_yticks(range(len(worlds)), list(worlds))
