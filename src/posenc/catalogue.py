"""What can be chosen, as Markdown made from yaml files, docstrings and committed results alone."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from posenc.results.by_encoding import First
from posenc.results.labels import MASK_TELLS_ORDER, MISSING
from posenc.results.statistics import HOLDS
from posenc.schema import PLUGINS, PROJECT, choices, defaults_of

SOURCE = Path(__file__).resolve().parent.parent
ENCODINGS = PROJECT / "experiments" / "encodings"
"""Holds the page of all encodings and the results that it shows."""
LENGTHS = (20, 40, 100)
"""The longest that is trained, and two beyond."""
INTRODUCTION = """# Every encoding

An encoding acts through `embed`, `rotate`, `bias` or `score`: **additive** ones add to the
embeddings, before the first layer; the others act in every layer, on **queries and keys** (turned,
as by RoPE, or widened), by a **bias** on the logits that knows the two positions alone, or by a
**score**, new logits that depend on content as well. `python scripts/show.py encoding=NAME` draws
what one of them does.

Parameters are those of 2 layers of width 64 with 4 heads. Exact match is that of the default task,
trained on 5 to 20 words, seed 0 alone: a first look and no ranking, for which the
[default experiment](../who_bit_whom/README.md) has five. A training step is compared with one
of `none`, 64 texts of 64 tokens in one thread: median of 15 rounds through all in one process.

```bash
python train.py experiment=encodings
python train.py -m model=decoder encoding=none,{decoders}
python scripts/report.py outputs/who_bit_whom --out experiments/encodings
python scripts/benchmark.py --encodings --out experiments/encodings
python scripts/catalogue.py
```

"""


@dataclass(frozen=True)
class Page:
    """What the docstrings of a module say."""

    text: str
    """All of the module's own."""
    summary: str
    """The first sentence."""
    formula: str
    """The first indented block, without its indent."""
    beyond: str
    """The sentence on what happens past the trained length."""
    papers: list[str]
    """arXiv ids."""
    control: bool
    """Whether order does not matter to a task."""

    @property
    def links(self) -> str:
        """To the papers."""
        return ", ".join(f"[{p}](https://arxiv.org/abs/{p})" for p in self.papers) or MISSING


class Facts(NamedTuple):
    """What the classes know of an encoding, in the default network."""

    hooks: list[str]
    parameters: int
    causal: bool


def page(group: str, name: str) -> Page:
    """The page of a choice that is no alias."""
    module = defaults_of(group, name)["_target_"].rpartition(".")[0]
    source = ast.parse((SOURCE / f"{module.replace('.', '/')}.py").read_text())
    parts: list[ast.Module | ast.ClassDef] = [source]
    parts += (node for node in source.body if isinstance(node, ast.ClassDef))
    docstrings = [ast.get_docstring(part) or "" for part in parts]
    text = docstrings[0]
    formula = re.search(r"^(?:    .*\n?)+", text, re.MULTILINE)
    beyond = re.search(r"Past the trained length.*?\.(?=\s|$)", _one_line(text))
    return Page(
        text=text,
        summary=_one_line(text.split("\n\n")[0]).rstrip("."),
        formula=re.sub("^    ", "", formula[0], flags=re.MULTILINE).rstrip() if formula else "",
        beyond=beyond[0] if beyond else "",
        papers=sorted(set(re.findall(r"\d{4}\.\d{5}", " ".join(docstrings)))),
        control="order_matters = False" in [ast.unparse(x) for part in parts for x in part.body],
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
        between = re.compile(rf"(<!-- {group} -->\n).*?(<!-- end -->)", re.DOTALL)
        text = between.sub(rf"\g<1>{table(group)}\g<2>", text)
    return text


def table(group: str) -> str:
    """One line for each choice: its name, what it is, where it comes from, its settings."""
    lines = [f"| `{group}=` | what it is | source | settings |", "|---|---|---|---|"]
    lines += [_line(group, name) for name in choices(group)]
    return "\n".join(lines) + "\n"


def _line(group: str, name: str) -> str:
    if alias := stands_for(group, name):
        return f"| `{name}` | {alias} | {MISSING} | {MISSING} |"
    settings, own = defaults_of(group, name), page(group, name)
    summary = own.summary + " (a control: order does not matter)" * own.control
    values = {key: settings[key] for key in settings if key not in ("name", "_target_")}
    shown = ", ".join(f"`{key}={_yaml(value)}`" for key, value in values.items()) or MISSING
    return f"| `{name}` | {summary} | {own.links} | {shown} |"


def _yaml(value: object) -> str:
    """A default as it is written on a command line."""
    if isinstance(value, list):
        return f"[{','.join(map(_yaml, value))}]"
    return "null" if value is None else str(value).lower()


def _one_line(text: str) -> str:
    return " ".join(text.split())


def classes() -> list[str]:
    """Encodings that are no alias."""
    return [name for name in choices("encoding") if "_target_" in defaults_of("encoding", name)]


def document(
    facts: Mapping[str, Facts],
    results: Mapping[tuple[str, str], First],
    steps: Mapping[str, float],
) -> str:
    """The page of all encodings, with what is known of them."""
    decoders = ",".join(name for name, fact in facts.items() if fact.causal)
    heads = " | ".join(f"at {length}" for length in LENGTHS)
    lines = [
        f"| `encoding=` | acts by | parameters | {heads} | step |",
        f"|---|---|---:|{'---:|' * len(LENGTHS)}---:|",
    ]
    for name, fact in facts.items():
        link = f"[`{name}`](#{name})" + r" \*" * fact.causal
        cells = [link, ", ".join(fact.hooks) or MISSING, f"{fact.parameters:,}"]
        cells += _exact(results.get((name, "decoder" if fact.causal else "encoder")))
        cells.append(f"{steps[name]:.2f}" if name in steps else MISSING)
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        f"In parentheses: exact match averages below {HOLDS} on trained lengths.  ",
        f"\\*: in a decoder, where {MASK_TELLS_ORDER}; compared with `none` in a decoder.",
    ]
    sections = [_section(name, page("encoding", name)) for name in facts]
    introduction = INTRODUCTION.format(decoders=decoders)
    return introduction + "\n".join(lines) + "\n\n" + "\n".join(sections)


def _exact(result: First | None) -> list[str]:
    """A cell for each of LENGTHS, in parentheses where the run is not fitted."""
    found = {} if result is None else result.exact
    form = "{:.2f}" if result is None or result.fitted else "({:.2f})"
    return [form.format(found[n]) if n in found else MISSING for n in LENGTHS]


def _section(name: str, own: Page) -> str:
    block = f"```text\n{own.formula}\n```" if own.formula else ""
    source = f"Source: {own.links}." if own.papers else ""
    last = " ".join(filter(None, (own.beyond, source)))
    return "\n\n".join(filter(None, (f"## {name}", f"{own.summary}.", block, last))) + "\n"
