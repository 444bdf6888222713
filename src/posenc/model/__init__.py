"""The Transformer, which names no encoding and no task."""
