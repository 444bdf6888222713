"""A study: a folder with claims, the rows that were kept, a figure of them, and a page about it."""

import re
from dataclasses import dataclass
from pathlib import Path

from posenc.errors import ConfigError, check_choice
from posenc.results.claims import Claim, read_claims
from posenc.results.document import Document
from posenc.results.report import excerpt

EXPECTED = "expected.yaml"
"""Makes a folder of experiments one of a study."""
RESULT = re.compile(r"(?s)(<!-- result -->\n).*?(<!-- end -->)")
"""What a page says of the rows."""


@dataclass(frozen=True)
class Study:
    """What stands in the folder of a study."""

    folder: Path
    claims: list[Claim]

    @classmethod
    def named(cls, name: str, experiments: Path) -> "Study":
        """Raises ConfigError where there is no such study, or its claims cannot be read."""
        known = sorted(path.parent.name for path in experiments.glob(f"*/{EXPECTED}"))
        folder = experiments / check_choice("--study", name, known)
        return cls(folder, read_claims(folder / EXPECTED))

    @property
    def rows(self) -> Path:
        """Every row of every run."""
        return self.folder / "results.csv"

    @property
    def page(self) -> Path:
        """What was asked, what was expected, what came out."""
        return self.folder / "README.md"

    def filled(self, document: Document) -> str:
        """The page with its tables made anew. Raises ConfigError where it has no place for them."""
        text = self.page.read_text()
        if not RESULT.search(text):
            raise ConfigError(f"{self.page}: has no lines <!-- result --> and <!-- end -->")
        return RESULT.sub(lambda found: f"{found[1]}{excerpt(document)}\n\n{found[2]}", text)
