"""A study: a folder with claims, the rows that were kept, a figure of them, and a page about it."""

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from posenc.errors import ConfigError
from posenc.marks import marked, renewed
from posenc.results.claims import counted, judge
from posenc.results.document import Document
from posenc.results.expected import EXPECTED, Claim, read_claims
from posenc.results.labels import METRICS, label
from posenc.results.panels import panels
from posenc.results.reading import Found, read
from posenc.results.report import excerpt

RESULT = "result"
"""Marks what a page says of the rows."""
KEPT = """Every row of every run is in [results.csv](results.csv). A report tells at its end what
all words and columns mean: `python scripts/report.py --study {name} --out outputs/{name}.html`."""
QUESTION = re.compile(r"(?s)\*\*Question\.\*\*[ \n]([^\s#<].*?)\s*(?:\n\s*\n|\n#|\n<!--|\Z)")
"""What a page asks."""


@dataclass(frozen=True)
class Study:
    """What stands in the folder of a study."""

    folder: Path
    claims: list[Claim]

    @classmethod
    def named(cls, name: str, experiments: Path) -> "Study":
        """Raises ConfigError where there is no such study, or its claims cannot be read."""
        known = sorted(path.parent.name for path in experiments.glob(f"*/{EXPECTED}"))
        folder = experiments / name
        if name not in known:
            told = f"{folder} has no {EXPECTED}; " if folder.is_dir() else ""
            raise ConfigError(f"--study {name}: {told}choose one of {', '.join(known)}")
        return cls(folder, read_claims(folder / EXPECTED))

    @property
    def name(self) -> str:
        """As in `experiment=`, which makes its runs."""
        return self.folder.name

    @property
    def rows(self) -> Path:
        """Every row of every run; no file while it was not run yet."""
        return self.folder / "results.csv"

    def kept(self) -> Found:
        """What was kept. Raises ConfigError where nothing was."""
        if not self.rows.exists():
            raise ConfigError(
                f"--study {self.name}: no rows are kept; run python train.py "
                f"experiment={self.name}, name outputs/studies/{self.name}, and keep them by "
                f"--out experiments/{self.name} --format csv"
            )
        return read([self.rows])

    def strangers(self, found: Found) -> list[str]:
        """What has to be said of runs with settings that no kept run has, if there are any.

        Where nothing is kept, nothing can be said.
        """
        if not self.rows.exists():
            return []
        kept = set(self.kept().rows["fingerprint"])
        strange = found.rows.filter(~pl.col("fingerprint").is_in(kept))
        names = sorted({label(*row) for row in strange.select("encoding", "positions").rows()})
        if not names:
            return []
        return [f"Not with the settings of the kept runs of {self.name}: {', '.join(names)}."]

    @property
    def metric(self) -> str:
        """What its figure shows: the one thing that all its claims compare, or else exact match."""
        compared = {claim.statement.metric for claim in self.claims}
        return compared.pop() if len(compared) == 1 and compared <= METRICS.keys() else "exact"

    @property
    def figure(self) -> Path:
        """Of its kept rows."""
        return self.folder / "figure.png"

    @property
    def page(self) -> Path:
        """What was asked, what was expected, what came out."""
        return self.folder / "README.md"

    def filled(self, document: Document) -> str:
        """The page with its tables made anew. Raises ConfigError where it has no place for them."""
        text = self._text()
        if not marked(text, RESULT):
            raise ConfigError(f"{self.page}: has no lines <!-- {RESULT} --> and <!-- end -->")
        figure = f"![{METRICS[self.metric].capitalize()} against length]({self.figure.name})"
        told = KEPT.format(name=self.name)
        return renewed(text, RESULT, f"{figure}\n\n{excerpt(document)}\n\n{told}")

    def _text(self) -> str:
        if not self.page.exists():
            raise ConfigError(f"{self.page}: is missing; a study has a page about it")
        try:
            return self.page.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ConfigError(f"{self.page}: {error}") from None

    @property
    def question(self) -> str:
        """The first of its page, as it stands in a table."""
        found = QUESTION.search(self._text())
        if found is None:
            raise ConfigError(f"{self.page}: has no paragraph that begins with **Question.**")
        return " ".join(found[1].split()).replace("|", "\\|")

    def runs(self) -> str:
        """How many are kept."""
        if not self.rows.exists():
            return ""
        return str(self.kept().rows.select("fingerprint", "seed").n_unique())

    def verdict(self) -> str:
        """How many of its claims the kept rows reproduce, and what becomes of the others."""
        if not self.rows.exists():
            return "not run yet"
        if not self.claims:
            return "none: a ranking"
        several = panels(self.kept())
        return counted([judge(claim, several) for claim in self.claims])


def index(experiments: Path) -> str:
    """All studies as Markdown: what each asks, its runs, and what came of its claims."""
    lines = ["| study | question | runs | statements |", "|---|---|---:|---|"]
    for path in sorted(experiments.glob(f"*/{EXPECTED}")):
        study = Study.named(path.parent.name, experiments)
        link = f"[{study.name}]({experiments.name}/{study.name}/README.md)"
        lines.append(f"| {link} | {study.question} | {study.runs()} | {study.verdict()} |")
    return "\n".join(lines)
