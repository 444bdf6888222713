"""How a contender is called wherever results are shown."""

MISSING = "–"
"""Stands where there is no number."""

METRICS = {
    "exact": "exact match",
    "token_accuracy": "token accuracy",
    "bits": "loss, bits a token",
}
"""What is measured at every length -> what it is called."""

MASK_TELLS_ORDER = "the causal mask itself tells order"
"""What is said beside a run that `mask_tells_order` marks."""


def label(encoding: str, positions: str) -> str:
    """The encoding, and where its ids come from unless they simply count tokens."""
    return encoding if positions == "index" else f"{encoding} + {positions}"


def mask_tells_order(model: str, encoding: str) -> bool:
    """Whether a run without an encoding is not blind to order all the same.

    Under a causal mask a token sees only what came before it, which gives its place away.
    """
    return model == "decoder" and encoding == "none"


def signed(value: float) -> str:
    """A difference to three decimals, with a sign that is as wide as a plus; nothing is -0.000."""
    return f"{round(value, 3) + 0.0:+.3f}".replace("-", "−")


def several(runs: int) -> str:
    """A number of runs."""
    return f"{runs} run{'s' * (runs != 1)}"


def duration(seconds: float) -> str:
    """In the largest unit that leaves at least two of it."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
