"""Problems of your own, from a file."""

import copy
import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from posenc.errors import ConfigError, check_choice
from posenc.problem_files import SPLITS, pinned, read
from posenc.tasks.base import Chance, Sample, Task, Vocabulary

EXAMPLE = Path(__file__).with_name("example.jsonl")


class Encoded(NamedTuple):
    """A problem in tokens."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]


class File(Task):
    """What a file asks, which holds one JSON object with `prompt` and `answer` in every line.

        prompt  the dog bit the man
        answer  dog

    Length counts the tokens of the prompt. Order matters, as far as is known. Prompt and answer are
    lists of tokens or plain strings, cut into words or, with `split=characters`, into characters.
    At trained lengths a share `held_out` of the prompts is tested and the others are trained on,
    which depends on the prompt alone; of other lengths all are tested, each of them once. Without a
    `path` the file is an example: sentences that say who bit whom. `digest` tells its content, so
    that a run remembers it. Set `length.min`, `length.train` and `length.test` to what is in it.
    """

    chance_error = 1.0

    def __init__(
        self,
        *,
        path: str | None = None,
        split: str = "words",
        held_out: float = 0.2,
        digest: str | None = None,
    ) -> None:
        check_choice("task.split", split, SPLITS)
        if not 0 < held_out < 1:
            raise ConfigError(f"task.held_out={held_out}: must be above 0 and below 1")
        settings = pinned({"path": str(EXAMPLE) if path is None else path, "digest": digest})
        self.path, self.held_out = Path(settings["path"]), held_out
        problems = read(self.path, split)
        names = {token for problem in problems for part in problem for token in part}
        self.vocabulary = Vocabulary(sorted(names, key=lambda name: (len(name), name)))
        self._problems = [
            Encoded(self._tokens(problem.prompt), self._tokens(problem.answer))
            for problem in problems
        ]
        self._answers: dict[tuple[int, ...], tuple[int, ...]] = dict(self._problems)
        self.minimum = min(len(prompt) for prompt in self._answers)
        self._offer([p for p in self._problems if not self._is_held_out(p)], once=False)

    def _tokens(self, names: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.vocabulary.encode(" ".join(names)))

    def _is_held_out(self, problem: Encoded) -> bool:
        key = hashlib.blake2b(repr(problem.prompt).encode(), digest_size=8).digest()
        return int.from_bytes(key) < self.held_out * 2**64

    def _offer(self, problems: Sequence[Encoded], *, once: bool) -> None:
        """From now on draws from these problems alone, or gives each of them `once`."""
        by_length = defaultdict(list)
        for problem in problems:
            by_length[len(problem.prompt)].append(problem)
        self._tables = {length: _table(own) for length, own in by_length.items()}
        self._once = once

    def unseen(self, trained: Collection[int]) -> Task:
        """Held-out problems of trained lengths and all of others; a sample has no more of them."""
        tested = copy.copy(self)
        problems = [
            problem
            for problem in self._problems
            if self._is_held_out(problem) or len(problem.prompt) not in trained
        ]
        tested._offer(problems, once=True)
        return tested

    def lengths(self, low: int, high: int) -> list[int]:
        return sorted(length for length in self._tables if low <= length <= high)

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError where there is no problem of this length."""
        if length not in self._tables:
            raise ConfigError(f"task.path={self.path}: holds no problem of length {length}")
        table = self._tables[length]
        count, device = len(table.prompt), generator.device
        if self._once:
            rows = torch.randperm(count, generator=generator, device=device)[:n]
        else:
            rows = torch.randint(count, (n,), generator=generator, device=device)
        return table.to(rows.device).rows(rows)

    def solve(self, prompt: list[int]) -> list[int]:
        if tuple(prompt) not in self._answers:
            raise ValueError(f"the file asks no such thing: {self.vocabulary.decode(prompt)}")
        return list(self._answers[tuple(prompt)])

    def room(self, prompt: list[int]) -> int:
        """As many as the longest answer to a prompt of this length has tokens."""
        alike = [problem for problem in self._problems if len(problem.prompt) == len(prompt)]
        return max(len(problem.answer) for problem in alike)

    def chance(self, length: int) -> Chance:
        """The commonest answer, and token of every place, among prompts of one bag.

        A prompt whose bag no other one has is guessed as any of its length: what a bag tells of
        prompts that are not in the file is not known.
        """
        bags = defaultdict(list)
        for problem in self._problems:
            if len(problem.prompt) == length:
                bags[tuple(sorted(problem.prompt))].append(problem.answer)
        everything = [answer for answers in bags.values() for answer in answers]
        exact, token = _guessed(everything)
        right_answers = right_tokens = 0.0
        for answers in bags.values():
            shared = len(answers) > 1
            own_exact, own_token = _guessed(answers) if shared else (exact, token)
            right_answers += len(answers) * own_exact
            right_tokens += sum(map(len, answers)) * own_token
        return Chance(right_answers / len(everything), right_tokens / sum(map(len, everything)))

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Another prompt of the file that has the same tokens, or the prompt where there is none"""
        given = tuple(prompt.tolist())
        others = [own for own in self._answers if own != given and sorted(own) == sorted(given)]
        if not others:
            return prompt.clone()
        device = generator.device
        chosen = torch.randint(len(others), (), generator=generator, device=device)
        return torch.tensor(others[int(chosen)], device=device)


def _table(problems: Sequence[Encoded]) -> Sample:
    """Problems of one length, with room for the longest answer."""
    sizes = torch.tensor([len(problem.answer) for problem in problems])
    scored = torch.arange(int(sizes.max())) < sizes[:, None]
    answers = torch.tensor([token for problem in problems for token in problem.answer])
    prompts = torch.tensor([problem.prompt for problem in problems])
    return Sample(prompts, scored.long().masked_scatter(scored, answers), scored)


def _guessed(answers: Sequence[tuple[int, ...]]) -> tuple[float, float]:
    """The share of the commonest answer, and that of tokens that are the commonest of a place."""
    places = [[a[i] for a in answers if len(a) > i] for i in range(max(map(len, answers)))]
    right = sum(_commonest(place) for place in places)
    return _commonest(answers) / len(answers), right / sum(map(len, answers))


def _commonest(values: Sequence[object]) -> int:
    return Counter(values).most_common(1)[0][1]
