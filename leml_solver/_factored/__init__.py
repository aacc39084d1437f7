"""LEML: alternating minimisation over Z = W H^T, with certificates."""
