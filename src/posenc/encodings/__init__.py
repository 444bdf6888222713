"""Positional encodings: `base` is the contract, every other file is one encoding."""
