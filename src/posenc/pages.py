"""The pages of all encodings and of all tasks, as Markdown."""

from collections.abc import Mapping
from typing import NamedTuple

from posenc.catalogue import Page, explained, page, stands_for
from posenc.choosing import choices
from posenc.results.kept import First
from posenc.results.labels import MASK_TELLS_ORDER, MISSING
from posenc.results.statistics import HOLDS

LENGTHS = (20, 40, 100)
"""The longest that is trained, and two beyond."""
OF_ENCODINGS = """# Every encoding

An encoding acts through `embed`, `rotate`, `bias` or `score`: **additive** ones add to the
embeddings, before the first layer; the others act in every layer, on **queries and keys** (turned,
as by RoPE, or widened), by a **bias** on the logits that knows the two positions alone, or by a
**score**, new logits that depend on content as well. `python scripts/show.py encoding=NAME` draws
what one of them does.

Parameters are those of 2 layers of width 64 with 4 heads. Exact match is that of the default task,
trained on 5 to 20 words, seed 0 alone: a first look and no ranking, for which the
[default experiment](../who_bit_whom/README.md) has five. A training step is compared with one
of `none`, 64 texts of 64 tokens in one thread: median of 7 rounds through all in one process.

```bash
python train.py experiment=encodings
python train.py -m model=decoder encoding=none,{decoders}
python scripts/report.py outputs/who_bit_whom --out experiments/encodings
python scripts/benchmark.py encodings --out experiments/speed
python scripts/catalogue.py
```

"""


OF_TASKS = """# Every task

A problem is a prompt and its answer. Chance is what the best guess scores that knows the tokens of
the prompt but not their order; for a task whose answer does not depend on order, a guess that knows
the length alone. It is given for exact match and for single tokens, at length {length} or at the
next shorter one that a task has; ≈ marks an estimate or a bound.
`python scripts/show.py task=NAME` prints problems token by token, with position ids, coordinates
and what is scored. Drawing a batch of 64 problems of that length, in one thread, is compared with
the training step that it feeds, of the default network.

```bash
python scripts/benchmark.py tasks --out experiments/speed
python scripts/catalogue.py
```

"""


class Facts(NamedTuple):
    """What the classes know of an encoding, in the default network."""

    hooks: list[str]
    parameters: int
    causal: bool


class TaskFacts(NamedTuple):
    """What the classes know of a task."""

    exact: float
    token: float
    estimated: bool
    ordered: bool
    """Whether order matters to it."""


def encodings_page(
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
        lines.append(_row(*cells))
    lines += [
        "",
        f"In parentheses: exact match averages below {HOLDS} on trained lengths.  ",
        f"\\*: in a decoder, where {MASK_TELLS_ORDER}; compared with `none` in a decoder.",
    ]
    sections = [_section(name, page("encoding", name)) for name in facts]
    introduction = OF_ENCODINGS.format(decoders=decoders)
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


def tasks_page(
    facts: Mapping[str, TaskFacts], draws: Mapping[str, tuple[float, float]], *, length: int
) -> str:
    """The page of all tasks; `draws` has microseconds of a batch and its share of a step."""
    heads = ["`task=`", "what it asks", "prompt", "answer", "order matters", "source"]
    figures = ["chance, exact", "chance, token", "batch", "of a step"]
    lines = [_row(*heads, *figures), _row(*["---"] * len(heads), *["---:"] * len(figures))]
    for name, fact in facts.items():
        own = page("task", name)
        cells = [f"[`{name}`](#{name})", own.summary, *(f"`{part}`" for part in own.problem)]
        cells += ["yes" if fact.ordered else "no", own.links]
        cells += ["≈ " * fact.estimated + f"{chance:.2g}" for chance in (fact.exact, fact.token)]
        cells += [MISSING, MISSING]
        if name in draws:
            microseconds, share = draws[name]
            cells[-2:] = [f"{microseconds:.0f} µs", f"{share:.1%}"]
        lines.append(_row(*cells))
    aliases = [(name, stands_for("task", name)) for name in choices("task")]
    lines += ["", *(f"- `{name}` {meaning}." for name, meaning in aliases if meaning)]
    sections = [_task_section(name) for name in facts]
    return OF_TASKS.format(length=length) + "\n".join(lines) + "\n\n" + "\n".join(sections)


def _task_section(name: str) -> str:
    own, settings = page("task", name), explained("task", name)
    last = "\n".join(f"- {setting}" for setting in settings)
    return "\n\n".join(filter(None, (f"## {name}", own.own, last))) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
