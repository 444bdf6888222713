"""What scripts/benchmark.py measures: a module for each benchmark, with a `measure`."""
