"""Fits to rows in blocks: on disk, or on the workers of a cluster."""
