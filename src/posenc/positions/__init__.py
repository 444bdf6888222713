"""Sources of position ids: `base` is the contract, every other file is one source."""
