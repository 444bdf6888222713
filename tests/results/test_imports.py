import pkgutil
import subprocess
import sys

import pytest

import posenc.results

MODULES = [module.name for module in pkgutil.iter_modules(posenc.results.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_no_module_of_results_imports_torch(name: str) -> None:
    program = f"import sys, posenc.results.{name}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_heavy_libraries_wait_until_they_are_needed() -> None:
    program = (
        "import sys, posenc.results.terminal;"
        "sys.exit(any(name in sys.modules for name in ('scipy', 'polars', 'altair')))"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
