"""Runs of many measurements: cells, the store that keeps them, and the runner that fills it."""
