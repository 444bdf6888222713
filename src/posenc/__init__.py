"""posenc: what a positional encoding lets a Transformer do with order, and for how long."""

__version__ = "0.1.0"
