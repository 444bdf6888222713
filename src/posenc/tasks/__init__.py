"""Synthetic tasks: `base` is the contract, `shared` what several use, every other file one task."""
