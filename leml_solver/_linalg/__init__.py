"""Matrices, factors, compiled loops and threads."""
