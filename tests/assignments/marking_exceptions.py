"""Slips that cannot or need not cost points, each with the reason, and rewrites that must not."""

from collections import defaultdict

EQUIVALENT: dict[tuple[str, str, str, str], str] = {}
REWRITES: dict[str, list[str]] = defaultdict(list)
