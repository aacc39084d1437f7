"""Public data sets by name: their sizes, checksums, and what Table 2 prints of them.

Paper: Table 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from leml_solver.readers.dataset import Dataset

__all__ = ["DATASETS", "KnownDataset", "PartStatistics"]

# Table 2 prints two decimals and sometimes cuts them: 68.5054 is printed 68.50.
_PRINTED = 0.01


@dataclass(frozen=True, slots=True)
class PartStatistics:
    """One half of a row of Table 2: points, nonzero features a point, positive labels a point.

    Paper: Table 2.
    """

    n_samples: int
    nonzeros: float
    labels: float

    @classmethod
    def of(cls, part: Dataset) -> PartStatistics:
        """Measure a part of a data set."""
        n = part.X.shape[0]
        return cls(n, part.X.nnz / n, part.Y.nnz / n)

    def agrees(self, printed: PartStatistics) -> bool:
        """Return whether the printed figures are these."""
        return (
            self.n_samples == printed.n_samples
            and abs(self.nonzeros - printed.nonzeros) < _PRINTED
            and abs(self.labels - printed.labels) < _PRINTED
        )

    def __str__(self) -> str:
        return f"n {self.n_samples}, nonzeros {self.nonzeros:.2f}, labels {self.labels:.2f}"


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """What is known of a public data set.

    Attributes
    ----------
    shape : tuple of int
        Numbers of points n, features d and labels L.
    cardinality : float
        Positive labels a point, as published.
    checksum : str
        SHA-256 of its content, see `content_checksum`.
    printed : tuple of PartStatistics, or None
        Training and test part in Table 2, if the paper has the data set.
    """

    shape: tuple[int, int, int]
    cardinality: float
    checksum: str
    printed: tuple[PartStatistics, PartStatistics] | None = None


DATASETS: dict[str, KnownDataset] = {
    "bibtex": KnownDataset(
        (7395, 1836, 159),
        2.402,
        "984fac671a6985f79220597d4455c93e4da0285fcc6074c9e66d97c252005760",
        (PartStatistics(4880, 68.74, 2.40), PartStatistics(2515, 68.50, 2.40)),
    ),
    "delicious": KnownDataset(
        (16105, 500, 983),
        19.020,
        "56b7721cf319e884cd6a8db52ecb11b8aaa204fae44192266545411b70050437",
        (PartStatistics(12920, 18.17, 19.03), PartStatistics(3185, 18.80, 19.00)),
    ),
    "cal500": KnownDataset(
        (502, 68, 174),
        26.044,
        "acd8932c11fd726f70ea1726447659f262c14b836845f6cce8ec4c2cbd5217a8",
    ),
    "corel5k": KnownDataset(
        (5000, 499, 374),
        3.522,
        "44f30347b1d3a50e87057355165636aeea318e799f6e204ef0fbe1dbb3cf7979",
    ),
    "emotions": KnownDataset(
        (593, 72, 6),
        1.868,
        "9836cfad6a57bf60cd467f62fb0f4d5434686e7d230f7c1ce7d60dd8bb6cc649",
    ),
    "enron": KnownDataset(
        (1702, 1001, 53),
        3.378,
        "a80b2ce478590a42da3c6a8ebbc858cb2201460547a72710ee12c1d94861d4be",
    ),
    "genbase": KnownDataset(
        (662, 1185, 27),
        1.252,
        "b9ec0372e47a4a8df6f9ffaabe719d9b8e35c1ebe72d21ac1ab619dfb1b991b0",
    ),
    "medical": KnownDataset(
        (978, 1449, 45),
        1.245,
        "fb898b86a3b74ad6102c041ad7b85ae7e903d40d7d3e5c2029badd941f703c44",
    ),
    "scene": KnownDataset(
        (2407, 294, 6),
        1.074,
        "c78521993b13f1f3f12c23ab55411a0bb93a830c913119cd7733d7edbabf3b5b",
    ),
    "yeast": KnownDataset(
        (2417, 103, 14),
        4.237,
        "94a1b82a286cee6e35c433bbd102cc7fc1e5e191acd8a908e3eb7dacf8185ed6",
    ),
    "corel16k001": KnownDataset(
        (13766, 500, 153),
        2.859,
        "0b230c211ce453e5653517dd3eaa1345751cbc2e30706bb0f0b4e6e8f123a976",
    ),
    "rcv1_subset1": KnownDataset(
        (6000, 944, 101),
        2.880,
        "92295634e2c7b8aa3347b8cba2122c33da97591b442ff00291d60405e71d65e5",
    ),
    "stackex_cs": KnownDataset(
        (9270, 635, 274),
        2.556,
        "47072572a8ce14475b31476cfa56b5dbd710a75faa05dab3da587cebf5f54f06",
    ),
    "stackex_chess": KnownDataset(
        (1675, 585, 227),
        2.411,
        "377429640c9f1a2a8be36b12015899ffc3cb262356fcc6f662317a0599f36183",
    ),
    "ng20": KnownDataset(
        (19300, 1006, 20),
        1.029,
        "363d6f9b14cbe79a76d2b58ea64ed06add332d3512c6c4bc5c362e999ea9a614",
    ),
}
