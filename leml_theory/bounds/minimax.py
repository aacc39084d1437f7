r"""A lower bound: the excess risk of the squared loss that no method can beat on a whole ball."""

import math

import numpy as np

from argument_checks import positive, positive_integer
from leml_theory.bounds.setting import Setting


def minimax_excess(setting: Setting, rank: int, *, noise: float = 1.0) -> float:
    r"""Bound from below the largest expected excess risk of any method over a ball.

    For every method there is a Z of at most this rank in the ball at which its expected excess risk
    is at least the value; y has Gaussian noise around :math:`\langle z_l, x\rangle`.  With
    :math:`v = \sigma_1`, m = max(d, L) and k up to the rank,

    .. math:: \max_k\frac{km\,v/(2L)}{nsv/(L\,\mathrm{noise}^2) + \pi^2 k^a m/\mathrm{radius}^2},

    a = 2 for the trace ball and 1 for the Frobenius ball.  By van Trees' inequality for every entry
    of k rows (k columns where d > L) whose entries lie in a cube inside the ball.

    Parameters
    ----------
    setting : Setting
        Isotropic Gaussian features and uniform labels, exactly s at every point; else an error.
    rank : int
        Largest rank of the matrices considered.
    noise : float
        Standard deviation of the noise.

    Examples
    --------
    >>> from leml_theory.bounds import Setting, minimax_excess
    >>> from simulations import IsotropicGaussian, UniformLabels
    >>> setting = Setting.of(IsotropicGaussian(16), UniformLabels(16), n=4096, radius=16.0)
    >>> round(minimax_excess(setting, rank=1), 5)
    0.00188
    """
    moments = setting.moments
    isotropic = math.isclose(moments.second_moment, setting.n_features * moments.top_eigenvalue)
    uniform = math.isclose(setting.min_probability, setting.max_probability)
    if not (setting.law == "gaussian" and isotropic and uniform and setting.label_numbers is None):
        raise ValueError(
            "`setting` must have isotropic Gaussian features and uniform labels, exactly s at "
            f"every point, got {setting!r}."
        )
    d, n_labels, variance = setting.n_features, setting.n_labels, moments.top_eigenvalue
    largest = min(positive_integer(rank, "rank"), d, n_labels)
    k = np.arange(1, largest + 1)
    slots = setting.n * setting.labels_per_point / n_labels
    information = slots * variance / positive(noise, "noise") ** 2
    cubes = math.pi**2 * max(d, n_labels) / setting.radius**2
    prior = cubes * k ** (2 if setting.ball == "trace" else 1)
    entries = k * max(d, n_labels)
    return float((entries * variance / (2 * n_labels) / (information + prior)).max())
