"""Synthetic tasks: `base` is the contract, every other file is one task."""
