"""What may know what: read from the source, so that the seams stay where they are."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from posenc.choosing import PLUGINS, PROJECT, choices

SOURCE = PROJECT / "src" / "posenc"
MODULES = {
    ".".join(["posenc", *path.relative_to(SOURCE).with_suffix("").parts]): path
    for path in SOURCE.rglob("*.py")
    if path.stem != "__init__"
}
ALLOWED = {
    "errors": (),
    "seeding": (),
    "shapes": ("errors",),
    "metrics": (),
    "memory": (),
    "importing": (),
    "marks": (),
    "encodings": ("encodings", "shapes", "errors"),
    "positions": ("positions", "errors"),
    "problem_files": ("errors",),
    "tasks": ("tasks", "problem_files", "errors"),
    "model": ("model", "encodings.base", "positions.base", "tasks.base", "shapes"),
    "grid": ("tasks.base",),
    "training": (
        "training",
        "model",
        "encodings.base",
        "positions.base",
        "tasks.base",
        "evaluation",
        "experiment",
        "metrics",
        "checkpoint",
        "results.details",
        "results.charts",
        "results.records",
        "seeding",
        "errors",
    ),
    "evaluation": ("memory", "metrics", "model", "positions.base", "seeding", "tasks.base"),
    "settings": (),
    "choosing": ("errors",),
    "schema": ("choosing", "errors", "problem_files", "settings", "shapes"),
    "experiment": ("errors", "model", "positions.base", "tasks.base"),
    "checkpoint": ("errors", "results.disk"),
    "results": ("results", "choosing", "errors", "marks", "schema"),
}
"""What a module or package may import of this project; those that are not listed stand above."""
DRAWS = ("rand", "randn", "randint", "randperm", "multinomial", "normal", "bernoulli")


def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


def imports(module: str, *, at_import: bool = False) -> set[str]:
    """Dotted names that a module imports, in functions too or only when it is imported itself."""
    root = tree(module)
    nodes = [
        node
        for node in (root.body if at_import else ast.walk(root))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            assert not node.level, f"{module} has a relative import"
            found |= {_module(f"{node.module}.{alias.name}", node.module) for alias in node.names}
    return found


def _module(name: str, parent: str | None) -> str:
    return name if name in MODULES else str(parent)


def own(module: str, *, at_import: bool = False) -> set[str]:
    return {name for name in imports(module, at_import=at_import) if name in MODULES}


def reached(module: str) -> set[str]:
    """Everything that importing a module imports, this project's modules looked through."""
    seen, waiting = set(), [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += imports(name, at_import=True) if name in MODULES else []
    return seen


def strings(module: str) -> set[str]:
    """String constants of a module, its docstrings left out."""
    root = tree(module)
    loose = {id(node.value) for node in ast.walk(root) if isinstance(node, ast.Expr)}
    return {
        node.value
        for node in ast.walk(root)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in loose
    }


@pytest.mark.parametrize("part", ALLOWED)
def test_imports_run_one_way(part):
    inside = [name for name in MODULES if f"{name}.".startswith(f"posenc.{part}.")]
    assert inside
    for module in inside:
        for name in own(module):
            allowed = [f"posenc.{each}." for each in ALLOWED[part]]
            assert f"{name}.".startswith(tuple(allowed)), f"{module} imports {name}"


def test_no_circle():
    order = list(TopologicalSorter({module: own(module) for module in MODULES}).static_order())
    assert set(order) == set(MODULES)


STARTING = (
    "cli",
    "explaining",
    "choosing",
    "schema",
    "launching",
    "tuning",
    "planning",
    "sweep",
    "jobs",
    "telling",
)
BEFORE_TORCH = (*STARTING, "errors")


@pytest.mark.parametrize(
    "module",
    [m for m in MODULES if m.split(".")[1] in (*BEFORE_TORCH, "results")],
)
def test_a_bad_command_and_a_table_do_not_wait_for_torch(module):
    heavy = {"torch", "pytorch_lightning", "tensorboard"}
    assert not heavy & {name.partition(".")[0] for name in reached(module)}


def test_the_configuration_stops_at_run():
    """Classes take plain arguments; only what turns settings into objects sees the settings."""
    settings = {"posenc.schema", "posenc.settings"}
    knowing = {module for module in MODULES if settings & own(module)}
    below = ("encodings", "positions", "tasks", "model", "training", "evaluation", "metrics")
    assert not [module for module in knowing if module.split(".")[1] in below]
    above = (*STARTING, "run", "reopen", "benchmarks")
    for module in MODULES:
        libraries = {name.partition(".")[0] for name in imports(module)}
        if libraries & {"hydra", "omegaconf"}:
            assert module.split(".")[1] in above, module


@pytest.mark.parametrize("group", ["encoding", "positions", "task"])
def test_nobody_names_one_of_the_catalogue(group):
    """`if name == "rope"` is a fault in the seam: what differs belongs into the class."""
    assert group in PLUGINS
    # positions=task and logger=none are words of their own
    catalogue = set(choices(group)) - set(PLUGINS) - set(choices("logger"))
    folder = group if group == "positions" else f"{group}s"
    classes = {
        node.name
        for name in catalogue
        if f"posenc.{folder}.{name}" in MODULES
        for node in tree(f"posenc.{folder}.{name}").body
        if isinstance(node, ast.ClassDef)
    }
    assert classes
    for module in MODULES:
        if module.split(".")[1] in ("encodings", "positions", "tasks", "results", "benchmarks"):
            continue
        used = {node.id for node in ast.walk(tree(module)) if isinstance(node, ast.Name)}
        assert not used & classes, module
        assert not strings(module) & catalogue, module
        concrete = {name for name in own(module) if name.startswith(f"posenc.{folder}.")}
        assert not concrete & {f"posenc.{folder}.{name}" for name in catalogue}, module


@pytest.mark.parametrize("module", MODULES)
def test_no_global_random_numbers(module):
    """Draws take a generator; only `initialisation` and dropout address PyTorch's own."""
    assert not {"random", "numpy.random"} & imports(module)
    for node in ast.walk(tree(module)):
        if not isinstance(node, ast.Attribute):
            continue
        name = ast.unparse(node)
        assert not name.startswith(("np.random", "numpy.random")), name
        if name.startswith(("torch.manual_seed", "torch.seed", "torch.default_generator",
                            "torch.cuda.manual_seed", "pl.seed_everything")):  # fmt: skip
            assert module in ("posenc.seeding", "posenc.training.module"), f"{module}: {name}"
    if module.startswith("posenc.encodings."):
        return  # they draw in their constructors, under `initialisation`; a test of each sees to it
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {f"torch.{s}" for s in DRAWS}:
            assert "generator" in {keyword.arg for keyword in node.keywords}, ast.unparse(node)


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE))
)
def test_a_file_can_be_read_in_one_sitting(path: Path):
    lines = path.read_text().splitlines()
    assert len(lines) <= (80 if path.parent.name == "encodings" else 250)
    assert ast.get_docstring(ast.parse(path.read_text())), "says what it is for"
    assert path.stem not in ("utils", "util", "helpers", "common", "misc")
