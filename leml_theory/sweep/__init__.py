"""Sweeps: risks against n and L beside the bounds; `python -m leml_theory.sweep`.

To read in this order: `experiments` (what is measured and expected), `frame` (the table of results
beside the bounds), `rates` (slopes, and the tests that call a violation), `report` (the summary),
`__main__` (the command).
"""
