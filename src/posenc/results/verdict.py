"""What the numbers of a panel support, in words, and nothing else."""

import math
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
    against_best,
    differing,
    seeds_to_decide,
)
from posenc.results.labels import MASK_TELLS_ORDER, mask_tells_order, signed
from posenc.results.panels import Contender, Panel

WORDS: dict[Standing, str] = {
    "better": "better",
    "equivalent": f"equivalent, within {MARGIN} (90 %)",
    "worse": "worse",
    "above": "above it at every seed, too few to call it better",
    "below": "below it at every seed, too few to call it worse",
    "undecided": "undecided",
}


class Judged(NamedTuple):
    """A panel's best contender, every other one with a score against it, and who scored on too
    few seeds to be the best while others have enough."""

    best: Contender
    others: list[Versus]
    lucky: list[Contender]


def judged(panel: Panel) -> Judged | None:
    """None where no contender has a score: nothing is fitted, or nothing beyond was tested."""
    scored = [contender for contender in panel.contenders if contender.score is not None]
    if not scored:
        return None
    needed = min(ENOUGH, max(len(contender.fitted) for contender in scored))
    best = next(contender for contender in scored if len(contender.fitted) >= needed)
    rest = [contender for contender in scored if contender is not best]
    lucky = [contender for contender in rest if (contender.score or 0) > (best.score or 0)]
    return Judged(best, against_best(best, rest, GATED), lucky)


def verdict(panel: Panel, baseline: Contender | None) -> list[str]:
    """Sentences: who is best and how the others stand to it, what is open, what fails, and how far
    each holds."""
    found = judged(panel)
    sentences = []
    if found is None:
        if any(contender.fitted for contender in panel.contenders):
            sentences.append("No length beyond the trained ones was tested.")
    else:
        sentences += _ranking(found)
        if baseline is not None and baseline is not found.best and baseline.score is not None:
            sentences += _against_baseline(panel, baseline)
        sentences += _power(panel, found)
        sentences += _near_chance(panel)
    sentences += _unfitted(panel)
    sentences += _held(panel)
    if panel.mask_tells:
        told = [_name(c) for c in panel.contenders if mask_tells_order(panel.model, c.encoding)]
        sentences.append(f"{_list(told)} is not blind here: {MASK_TELLS_ORDER}.")
    return sentences


def _ranking(found: Judged) -> list[str]:
    best, others = found.best, found.others
    over = _over(best)
    if not others:
        told = f"{_name(best)} scores {best.score:.2f} over {over}"
        return [f"{told}, with no other to compare it with."]
    if len(best.fitted) == 1:
        return [f"One seed decides nothing; {_name(best)} scores highest, {best.score:.2f}."]
    leads = "leads with a mean score of" if found.lucky else "has the highest mean score,"
    sentences = [f"{_name(best)} {leads} {best.score:.2f} over {over}."]
    for contender in found.lucky:
        told = f"{_name(contender)} scores {contender.score:.2f}, but over {_over(contender)}"
        sentences.append(f"{told}, which fits too seldom to lead.")
    for standing, words in WORDS.items():
        if told := _those(others, standing):
            sentences.append(f"{words.capitalize()}: {told}.")
    return sentences


def _over(contender: Contender) -> str:
    fitted, runs = len(contender.fitted), len(contender.runs)
    return _seeds(fitted) if fitted == runs else f"{fitted} fitted of {_seeds(runs)}"


def _against_baseline(panel: Panel, baseline: Contender) -> list[str]:
    rest = [c for c in panel.contenders if c is not baseline and c.score is not None]
    versus = against(baseline, rest, GATED)
    told = [f"{words}: {those}" for each, words in WORDS.items() if (those := _those(versus, each))]
    if not told or all(each.seeds < 2 for each in versus):
        return []
    return [f"Against {_name(baseline)}, {'; '.join(told)}."]


def _power(panel: Panel, found: Judged) -> list[str]:
    """Whether encodings matter at all, and what the number of seeds allows."""
    if not found.others:
        return []
    shared = max(versus.seeds for versus in found.others)
    pairs = math.comb(len(found.others) + 1, 2)
    sentences = []
    if (whole := differing(panel, GATED)) is not None:
        over = f"{whole.encodings} encodings shuffled within {_seeds(whole.seeds)}"
        shown = "is shown" if whole.p <= LEVEL else "is not shown"
        p = f"p = {whole.p:.2g}" if whole.p > inference.LEAST else f"p is at most {inference.LEAST}"
        sentences.append(f"That they differ at all {shown}: {p}, {over}.")
    if shared < (needed := seeds_to_decide(pairs)):
        told = f"{needed} seeds could" if pairs > 1 else f"{needed} seeds that agree would"
        sentences.append(
            f"Of {_seeds(shared)} no pair can be called better or worse; {told} decide."
        )
    return sentences


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
        f"Beyond the trained lengths within {MARGIN} of chance, {chance:.2f}, or below it, so that "
        f"differences between these say nothing of order: {_list(told)}."
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


def _held(panel: Panel) -> list[str]:
    """Up to which length each is right, by the median of its fitted runs."""
    held: dict[int, list[str]] = {}
    for contender in panel.contenders:
        if contender.holds_to is not None:
            held.setdefault(contender.holds_to, []).append(_name(contender))
    if not held:
        return []
    longest = panel.lengths[-1]
    told = [
        f"{_list(held[length])} to {length or 'no length'}"
        + (", the longest tested" if length == longest else "")
        for length in sorted(held, reverse=True)
    ]
    return [f"Exact match holds at {statistics.HOLDS} or more: {'; '.join(told)}."]


def _name(contender: Contender) -> str:
    """Its label; the word none alone would read as nobody."""
    return f"{contender.label} (no encoding)" if contender.label == "none" else contender.label


def _seeds(count: int) -> str:
    return f"{count} seed{'' if count == 1 else 's'}"


def _list(words: Sequence[str]) -> str:
    return ", ".join(words)
