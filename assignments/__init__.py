"""Course assignments: written once in `sources`, built by `build`, graded by `grade`."""
