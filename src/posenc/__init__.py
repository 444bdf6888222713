"""posenc: what a positional encoding lets a Transformer do with order, and for how long."""

import os

__version__ = "0.1.0"

# For whoever has PyTorch use several threads: they wait for each other by spinning, and on a busy
# machine would spin away the time of those that they wait for. Read when PyTorch is imported.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
