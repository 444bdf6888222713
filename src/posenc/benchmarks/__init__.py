"""What scripts/benchmark.py measures: a module for each benchmark.

The first line of its docstring says what it measures; SETS are the keys of train.py that it sets
itself; `measure` yields its figures.
"""
