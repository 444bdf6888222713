"""Training under PyTorch Lightning: data, step, callbacks."""
