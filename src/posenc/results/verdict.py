"""What the numbers of a panel support, in words, and nothing else."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from posenc.results import inference, statistics
from posenc.results.comparing import (
    ENOUGH,
    GATED,
    LEVEL,
    MARGIN,
    Standing,
    Versus,
    against,
    differing,
)
from posenc.results.labels import MASK_TELLS_ORDER, mask_tells_order, signed
from posenc.results.panels import Contender, Panel
from posenc.results.tables import mean_exact

STANDINGS: tuple[Standing, ...] = ("better", "equivalent", "worse", "undecided")


class Judged(NamedTuple):
    """A panel's best contender, and every other one that is fitted against it."""

    best: Contender
    others: list[Versus]
    p: float | None
    """That encodings do not matter at all."""


def judged(panel: Panel) -> Judged | None:
    """None where no contender has a score: nothing is fitted, or nothing beyond was tested."""
    scored = [contender for contender in panel.contenders if contender.score is not None]
    if not scored:
        return None
    p = differing(panel, GATED)
    return Judged(
        scored[0], against(scored[0], scored[1:], GATED, differ=p is not None and p <= LEVEL), p
    )


def verdict(panel: Panel, baseline: Contender | None) -> list[str]:
    """Sentences: who is best and who equals it, who is worse, what is open, what fails, where
    each breaks down."""
    found = judged(panel)
    sentences = []
    if found is None:
        if any(contender.fitted for contender in panel.contenders):
            sentences.append("No length beyond the trained ones was tested.")
    else:
        sentences += _ranking(found)
        if baseline is not None and baseline is not found.best and baseline.score is not None:
            sentences += _against_baseline(panel, baseline, found)
        sentences += _near_chance(panel)
    sentences += _unfitted(panel)
    sentences += _breakdowns(panel)
    if panel.mask_tells:
        told = [_name(c) for c in panel.contenders if mask_tells_order(panel.model, c.encoding)]
        sentences.append(f"{_list(told)} is not blind here: {MASK_TELLS_ORDER}.")
    return sentences


def _ranking(found: Judged) -> list[str]:
    best, others = found.best, found.others
    seeds = len(best.fitted)
    if seeds == 1 and all(len(versus.contender.fitted) == 1 for versus in others):
        return [
            f"One fitted seed each decides nothing; {_name(best)} scores highest, {best.score:.2f}."
        ]
    over = _seeds(seeds) if seeds == len(best.runs) else f"{seeds} of {_seeds(len(best.runs))}"
    if not others:
        told = f"{_name(best)} scores {best.score:.2f} over {over}"
        return [f"{told}, with no other to compare it with."]
    sentences = [f"{_name(best)} has the highest mean score, {best.score:.2f} over {over}."]
    groups: tuple[tuple[Standing, str], ...] = (
        ("equivalent", f"Equivalent to it, within {MARGIN} (90 %)"),
        ("worse", "Worse"),
        ("undecided", "Undecided"),
    )
    for standing, head in groups:
        if told := _those(others, standing):
            sentences.append(f"{head}: {told}.")
    return sentences + _power(found)


def _power(found: Judged) -> list[str]:
    """What the number of seeds allows."""
    shared = max(versus.seeds for versus in found.others)
    if found.p is None or shared < ENOUGH:
        return [f"To decide more takes {ENOUGH} seeds that both share; here are {shared}."]
    told = f"That the encodings differ at all: p = {found.p:.3g}, from shuffling them within seeds"
    least = inference.smallest_p(shared)
    if found.p > LEVEL:
        told += ", so no difference is shown"
    if least > LEVEL:
        told += f"; {shared} seeds of a single pair cannot give less than {least:.3g}"
    return [f"{told}."]


def _against_baseline(panel: Panel, baseline: Contender, found: Judged) -> list[str]:
    rest = [c for c in panel.contenders if c is not baseline and c.score is not None]
    differ = found.p is not None and found.p <= LEVEL
    versus = against(baseline, rest, GATED, differ=differ)
    if all(each.interval is None for each in versus):
        return []
    told = [f"{each}: {those}" for each in STANDINGS if (those := _those(versus, each))]
    return [f"Against {_name(baseline)}, {'; '.join(told)}."]


def _near_chance(panel: Panel) -> list[str]:
    """Between such contenders a difference says nothing of order."""
    chance = panel.chance_score
    told = [
        _name(each)
        for each in panel.contenders
        if each.score is not None and chance is not None and each.score <= chance + MARGIN
    ]
    if not told:
        return []
    return [
        f"Beyond the trained lengths not above chance, {chance:.2f}, by {MARGIN}: {_list(told)}."
    ]


def _those(versus: Iterable[Versus], standing: Standing) -> str:
    """Named with their difference and its interval."""
    return _list([_told(each) for each in versus if each.standing == standing])


def _told(versus: Versus) -> str:
    if versus.difference is None:
        return f"{_name(versus.contender)} (no seed in common)"
    told = signed(versus.difference)
    if versus.interval is not None:
        low, high = map(signed, versus.interval)
        told += f", {low} to {high}"
    return f"{_name(versus.contender)} ({told})"


def _unfitted(panel: Panel) -> list[str]:
    sentences = []
    never = [_name(each) for each in panel.contenders if not each.fitted]
    partly = [
        f"{_name(each)} in {len(each.runs) - len(each.fitted)} of {len(each.runs)} seeds"
        for each in panel.contenders
        if 0 < len(each.fitted) < len(each.runs)
    ]
    if never:
        sentences.append(
            f"Not fitted in any seed, so its longer lengths say nothing: {_list(never)}."
        )
    if partly:
        sentences.append(f"Failed to fit: {_list(partly)}.")
    return sentences


def _breakdowns(panel: Panel) -> list[str]:
    """The first tested length at which the mean of fitted runs is below what holds."""
    breaks: dict[int | None, list[str]] = {}
    for contender in panel.contenders:
        if contender.fitted:
            exact = mean_exact(contender, panel)
            below = (length for length, x in zip(panel.lengths, exact, strict=True)
                     if x < statistics.HOLDS)  # fmt: skip
            breaks.setdefault(next(below, None), []).append(_name(contender))
    held = breaks.pop(None, [])
    told = [f"at {length}: {_list(breaks[length])}" for length in sorted(breaks, key=int)]  # type: ignore[arg-type]
    sentences = []
    if told:
        sentences.append(
            f"Mean exact match first falls below {statistics.HOLDS} {'; '.join(told)}."
        )
    if held:
        sentences.append(f"Up to the longest, {panel.lengths[-1]}, holds: {_list(held)}.")
    return sentences


def _name(contender: Contender) -> str:
    """Its label; the word none alone would read as nobody."""
    return f"{contender.label} (no encoding)" if contender.label == "none" else contender.label


def _seeds(count: int) -> str:
    return f"{count} seed{'' if count == 1 else 's'}"


def _list(words: Sequence[str]) -> str:
    return ", ".join(words)
