"""Worlds in which statements are tried: data, factored problems, laws that can be listed whole."""
