"""Sweeps: risks against n and L beside the bounds; `python -m leml_theory.sweep`."""
