"""Benchmarks: `python -m benchmarks.NAME`, each writing one JSON file in benchmarks/results."""
