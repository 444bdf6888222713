"""The page of all encodings, of what need not be there, and the script that writes it."""

from dataclasses import replace

import pytest
from command_line import run

from posenc import pages
from posenc.catalogue import page
from posenc.pages import Facts, encodings_page


def section(name: str) -> str:
    return encodings_page({name: Facts([], 0, False)}, {}, {}).partition("\n## ")[2]


def test_a_section_leaves_out_what_a_docstring_does_not_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = page("encoding", "rope")
    assert section("rope").count("```") == 2
    bare = replace(whole, formula="", beyond="", papers=[])
    monkeypatch.setattr(pages, "page", lambda *_: bare)
    assert section("rope") == f"rope\n\n{whole.summary}.\n"


def test_help_is_printed_and_nothing_else_is_taken() -> None:
    helped = run("--help", script="scripts/catalogue.py")
    assert (helped.code, helped.err) == (0, "")
    assert "Writes the tables of README.md" in helped.out
    refused = run("alibi", script="scripts/catalogue.py")
    assert refused.code == 2
    assert "unrecognized arguments: alibi" in refused.err
