"""What estimators share: targets in, scores out block by block."""
