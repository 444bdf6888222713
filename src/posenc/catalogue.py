"""What can be chosen, as Markdown made from yaml files, docstrings and committed results alone."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from posenc.choosing import PLUGINS, PROJECT, choices, defaults_of
from posenc.marks import renewed
from posenc.results.labels import MISSING

SOURCE = Path(__file__).resolve().parent.parent
ENCODINGS = PROJECT / "experiments" / "encodings"
TASKS = PROJECT / "experiments" / "tasks"
SPEED = PROJECT / "experiments" / "speed"
"""Hold the pages of all encodings and of all tasks, and the results that they show."""


@dataclass(frozen=True)
class Page:
    """What the docstrings of a module say."""

    text: str
    """All of the module's own."""
    own: str
    """All of the docstring of the class that is chosen."""
    summary: str
    """The first sentence."""
    formula: str
    """The first indented block, without its indent."""
    beyond: str
    """The sentence on what happens past the trained length."""
    papers: list[str]
    """arXiv ids."""

    @property
    def problem(self) -> tuple[str, str]:
        """The prompt and the answer of the example that a task shows."""
        (prompt,) = re.findall(r"^ *prompt +(.+)$", self.own, re.MULTILINE)
        (answer,) = re.findall(r"^ *answer +(.+)$", self.own, re.MULTILINE)
        return prompt, answer

    @property
    def links(self) -> str:
        """To the papers."""
        return ", ".join(f"[{p}](https://arxiv.org/abs/{p})" for p in self.papers) or MISSING


def page(group: str, name: str) -> Page:
    """The page of a choice that is no alias."""
    module, _, chosen = defaults_of(group, name)["_target_"].rpartition(".")
    source = ast.parse((SOURCE / f"{module.replace('.', '/')}.py").read_text())
    classes = {node.name: node for node in source.body if isinstance(node, ast.ClassDef)}
    parts: list[ast.Module | ast.ClassDef] = [source, *classes.values()]
    docstrings = [ast.get_docstring(part) or "" for part in parts]
    text = docstrings[0]
    formula = re.search(r"^(?:    .*\n?)+", text, re.MULTILINE)
    beyond = re.search(r"Past the trained length.*?\.(?=\s|$)", _one_line(text))
    return Page(
        text=text,
        own=ast.get_docstring(classes[chosen]) or "",
        summary=_one_line(text.split("\n\n")[0]).rstrip("."),
        formula=re.sub("^    ", "", formula[0], flags=re.MULTILINE).rstrip() if formula else "",
        beyond=beyond[0] if beyond else "",
        papers=sorted(set(re.findall(r"\d{4}\.\d{5}", " ".join(docstrings)))),
    )


def stands_for(group: str, name: str) -> str:
    """What an alias says it is short for; empty for a choice of its own."""
    text = (PROJECT / "configs" / group / f"{name}.yaml").read_text()
    found = re.search(r"^# Stands for (\S+=\S+(?: \S+=\S+)*?)[.:](?: (.*)\.)?$", text, re.MULTILINE)
    if found is None:
        return ""
    return f"stands for `{found[1]}`" + (f": {found[2]}" if found[2] else "")


def fill(text: str) -> str:
    """Replaces what stands between `<!-- group -->` and `<!-- end -->` by the group's table."""
    for group in PLUGINS:
        text = renewed(text, group, table(group))
    return text


def table(group: str) -> str:
    """One line for each choice: its name, what it is, where it comes from, its settings."""
    lines = [f"| `{group}=` | what it is | source | settings |", "|---|---|---|---|"]
    lines += [_line(group, name) for name in choices(group)]
    return "\n".join(lines) + "\n"


def _line(group: str, name: str) -> str:
    if alias := stands_for(group, name):
        return f"| `{name}` | {alias} | {MISSING} | {MISSING} |"
    own = page(group, name)
    shown = ", ".join(_settings(group, name).values()) or MISSING
    return f"| `{name}` | {own.summary} | {own.links} | {shown} |"


def explained(group: str, name: str) -> list[str]:
    """Every setting of a choice with its default, and what the yaml says of it."""
    text = (PROJECT / "configs" / group / f"{name}.yaml").read_text()
    said = dict(re.findall(r"^(\w+): .*?# *(.+)$", text, re.MULTILINE))
    return [
        f"{setting}: {said[key]}" if key in said else setting
        for key, setting in _settings(group, name).items()
    ]


def _settings(group: str, name: str) -> dict[str, str]:
    """Every key of a choice with its default, as it is written on a command line."""
    settings = defaults_of(group, name).items()
    plain = ("name", "_target_")
    return {key: f"`{key}={_yaml(value)}`" for key, value in settings if key not in plain}


def _yaml(value: object) -> str:
    """A default as it is written on a command line."""
    if isinstance(value, list):
        return f"[{','.join(map(_yaml, value))}]"
    return "null" if value is None else str(value).lower()


def _one_line(text: str) -> str:
    return " ".join(text.split())


def classes(group: str = "encoding") -> list[str]:
    """Choices of a group that are no alias."""
    return [name for name in choices(group) if "_target_" in defaults_of(group, name)]
