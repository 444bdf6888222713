"""run.json, read back: the status of a run, how it was made, and what it was asked."""

import json
from pathlib import Path
from typing import Any

from posenc.errors import ConfigError

SCHEMA = 2
"""Version of the files in a run folder."""
KINDS: dict[str, Any] = {
    **dict.fromkeys(("status", "host", "posenc", "commit", "traceback"), str | None),
    **dict.fromkeys(("settings", "evaluations", "logged_as"), dict),
}
"""Entries that decide something."""
MEND = "delete the run folder to do it again"


def read_status(path: Path) -> dict[str, Any]:
    """What the file says, if there is one. Raises ConfigError where it cannot be read."""
    if not path.exists():
        return {}
    try:
        status = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read ({error}): {MEND}") from None
    schema = status.get("schema") if isinstance(status, dict) else None
    if schema != SCHEMA:
        raise ConfigError(
            f"{path} has schema {schema}, not {SCHEMA}: another version of posenc made it; use "
            f"that one, or {MEND}"
        )
    wrong = [key for key in KINDS if key in status and not isinstance(status[key], KINDS[key])]
    if not wrong and not all(map(_is_evaluation, status.get("evaluations", {}).values())):
        wrong = ["evaluations"]
    if wrong:
        raise ConfigError(f"{path} is damaged ({', '.join(wrong)}): {MEND}")
    return dict(status)


def _is_evaluation(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("settings", {}), dict)
