"""Mutants that no test can kill, each with the reason; a line that changes must be looked at again.

The key is (file, function, statement before, statement after, repeat).
"""

EQUIVALENT: dict[tuple[str, str, str, str, int], str] = {}
