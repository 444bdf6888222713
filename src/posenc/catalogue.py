"""What can be chosen, as Markdown tables made from the yaml files and docstrings alone."""

import ast
import re
from pathlib import Path

from posenc.schema import PLUGINS, choices, defaults_of

SOURCE = Path(__file__).resolve().parent.parent


def fill(text: str) -> str:
    """Replaces what stands between `<!-- group -->` and `<!-- end -->` by the group's table."""
    for group in PLUGINS:
        between = re.compile(rf"(<!-- {group} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = between.sub(rf"\g<1>{table(group)}\g<2>", text)
    return text


def table(group: str) -> str:
    """One line for each choice: its name, what it is, where it comes from, its settings."""
    lines = [f"| `{group}=` | what it is | source | settings |", "|---|---|---|---|"]
    lines += [_line(group, name) for name in choices(group)]
    return "\n".join(lines) + "\n"


def _line(group: str, name: str) -> str:
    settings = defaults_of(group, name)
    module = settings.pop("_target_").rpartition(".")[0]
    settings.pop("name")
    source = ast.parse((SOURCE / f"{module.replace('.', '/')}.py").read_text())
    parts: list[ast.Module | ast.ClassDef] = [source]
    parts += (node for node in source.body if isinstance(node, ast.ClassDef))
    docstrings = [ast.get_docstring(part) or "" for part in parts]
    summary = " ".join(docstrings[0].split("\n\n")[0].split()).rstrip(".")
    papers = sorted(set(re.findall(r"\d{4}\.\d{5}", " ".join(docstrings))))
    links = ", ".join(f"[{paper}](https://arxiv.org/abs/{paper})" for paper in papers) or "–"
    if "order_matters = False" in [ast.unparse(line) for part in parts for line in part.body]:
        summary += " (a control: order does not matter)"
    values = {key: str(value).lower() for key, value in settings.items()}
    shown = ", ".join(f"`{key}={value}`" for key, value in values.items()) or "–"
    return f"| `{name}` | {summary} | {links} | {shown} |"
