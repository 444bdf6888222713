"""How fast posenc is, measured side by side on the machine at hand.

    python scripts/benchmark.py [NAME ...] [--rounds N] [--out DIR] [--smoke] [key=value ...]

Names are those of the modules in posenc.benchmarks, which --help explains, by default all that have
an aim; experiments/speed/README.md says how long each takes. What is compared runs in turn in one
process, or as fresh processes in turn; every round gives one figure, of which the median, the least
and the most are told. The keys are those of train.py.

With --out, NAME.csv and, of what is a curve, NAME.png are written into a folder; without other
settings the tables of its README.md between `<!-- NAME -->` and `<!-- end -->` are renewed, too.
"""

import argparse
import ast
import csv
import logging
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType

from posenc import benchmarks
from posenc.benchmarks.figures import HEADER, Figure, told
from posenc.benchmarks.plan import Plan
from posenc.cli import MENDABLE, one_line_errors
from posenc.console import Parser, forgiving_output
from posenc.errors import ConfigError
from posenc.marks import renewed

ROUNDS = {
    "loop": 5, "start": 5, "rivals": 5, "tasks": 5, "evaluation": 3, "sweep": 3, "memory": 3,
    "report": 3, "threads": 2, "floor": 5, "scaling": 3, "encodings": 7, "stacked": 5,
}  # fmt: skip
"""Of each benchmark, unless it is told otherwise: the less even its figures, the more."""
AIMED = ("loop", "start", "rivals", "tasks", "evaluation", "sweep", "memory", "report",
         "threads")  # fmt: skip
"""Those that have an aim, which are measured unless others are named."""


def main() -> None:
    """Reads arguments, measures, prints, writes."""
    given = arguments()
    unknown = [name for name in given.names if "=" not in name and name not in ROUNDS]
    if unknown:
        raise ConfigError(f"{unknown[0]}: choose among {', '.join(ROUNDS)}")
    if given.rounds is not None and given.rounds < 1:
        raise ConfigError(f"--rounds {given.rounds}: must be at least 1")
    names = [name for name in given.names if "=" not in name] or AIMED
    overrides = tuple(each for each in given.names if "=" in each)
    logging.disable()
    config = Plan(1, overrides).config()
    if given.out is not None:
        prepare(given.out)

    import torch  # which a bad command need not wait for

    from posenc.building import build
    from posenc.results.charts import png

    torch.set_num_threads(config.threads)
    build(config)  # which refuses what fits no network
    begun = {name: begin(name, given, overrides) for name in names}
    print(f"PyTorch {torch.__version__}, {config.threads} thread(s)", flush=True)
    for name, (benchmark, measuring) in begun.items():
        figures = []
        for figure in measuring:
            if given.smoke:
                figure = figure._replace(at_least=None, at_most=None)
            print(told(figure), flush=True)
            figures.append(figure)
        if given.out is not None:
            write(given.out, name, figures, anew=not (overrides or given.smoke))
            if hasattr(benchmark, "picture"):
                (given.out / f"{name}.png").write_bytes(png(benchmark.picture(figures)))


def arguments() -> argparse.Namespace:
    """Of the command line."""
    parser = Parser(
        description="How fast posenc is, measured side by side on the machine at hand.",
        epilog=explained(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME or key=value", help="see below; or settings of train.py"
    )
    parser.add_argument(
        "--rounds", type=int, metavar="N", help="of every benchmark; default: a number of its own"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="for tables, else only printed")
    parser.add_argument(
        "--smoke", action="store_true", help="one small round that measures and judges nothing"
    )
    return parser.parse_intermixed_args()


def explained() -> str:
    """Every name with the first line of its module, read and not imported, which takes long."""
    (folder,) = map(Path, benchmarks.__path__)
    lines = {}
    for name in ROUNDS:
        docstring = ast.get_docstring(ast.parse((folder / f"{name}.py").read_text())) or ""
        lines[name] = f"  {name:<12}{docstring.splitlines()[0]}"
    return "\n".join([
        "measured by default:", *(lines[name] for name in AIMED),
        "", "only where named:", *(lines[name] for name in ROUNDS if name not in AIMED),
        "", "How long each takes stands in experiments/speed/README.md.",
    ])  # fmt: skip


def begin(
    name: str, given: argparse.Namespace, overrides: tuple[str, ...]
) -> tuple[ModuleType, Iterator[Figure]]:
    """A benchmark and its figures, which are measured when they are asked for.

    Raises ConfigError where they cannot be.
    """
    benchmark = import_module(f"posenc.benchmarks.{name}")
    rounds = given.rounds or (1 if given.smoke else ROUNDS[name])
    plan = Plan(rounds, overrides, given.smoke)
    plan.refuse(name, benchmark.SETS)
    return benchmark, benchmark.measure(plan)


def prepare(folder: Path) -> None:
    """Raises ConfigError where nothing can be written, which nobody wants to hear afterwards."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ConfigError(f"--out {folder}: {error.strerror}; name a folder to write in") from None


def write(folder: Path, name: str, figures: Sequence[Figure], *, anew: bool) -> None:
    """The table of a benchmark as a file, and where it is made `anew` in the folder's page."""
    path = folder / f"{name}.csv"
    rows = [figure.row() for figure in figures]
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEADER)
        table.writerows(rows)
    page = folder / "README.md"
    if anew and page.exists():
        page.write_text(renewed(page.read_text(), name, "\n".join(markdown(rows))))
    print(f"wrote {path}", flush=True)


def markdown(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table; one line for each row, which is one under HEADER."""
    yield "| | median | least to most | aim | |"
    yield "|---|---:|---:|---|---|"
    for name, unit, median, least, most, _, aim, met in rows:
        value = f"{median} {unit}".rstrip()
        yield f"| {name} | {value} | {least} to {most} | {aim} | {met} |"


if __name__ == "__main__":
    with one_line_errors(*MENDABLE, ValueError, AssertionError, OSError), forgiving_output():
        main()
