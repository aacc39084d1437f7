"""The exact convex problem: minimisers over a ball, with certificates."""
