"""Writes the tables of encodings, positions and tasks into README.md; run it after adding one."""

from posenc.catalogue import fill
from posenc.schema import PROJECT

if __name__ == "__main__":
    readme = PROJECT / "README.md"
    readme.write_text(fill(readme.read_text()))
