"""Who bit whom: the same words in another order, and another one bites."""

import re

import torch
from torch import Tensor

from posenc.errors import ConfigError
from posenc.tasks.base import Chance, Sample, Task, Vocabulary
from posenc.tasks.shared.strings import distinct

FRAME = ("the", "bit")
NOUNS = ("dog", "man", "cat", "fox", "wolf", "bear", "horse", "goose")
ADJECTIVES = ("old", "young", "big", "small", "brown", "hungry", "angry", "lazy")
ADVERBS = ("suddenly", "quickly", "gently", "softly", "bravely", "calmly", "often", "twice")

THE, BIT = range(2)
FIRST_NOUN = len(FRAME)
FIRST_ADJECTIVE = FIRST_NOUN + len(NOUNS)
FIRST_ADVERB = FIRST_ADJECTIVE + len(ADJECTIVES)


class WhoBitWhom(Task):
    """A sentence in, the noun that bites out; length counts the words of the sentence.

        prompt  the old dog suddenly bit the man
        answer  dog

    Order matters: both nouns are there whoever bites. The form is `the <adjective>* <noun>
    <adverb>* bit the <adjective>* <noun>` with two different nouns. Modifiers fill the length, and
    every way to split their number over the three places is equally likely; words are uniform.
    The task is this project's own.
    """

    vocabulary = Vocabulary(FRAME + NOUNS + ADJECTIVES + ADVERBS)
    minimum = 5

    def sample(self, n: int, length: int, generator: torch.Generator) -> Sample:
        """Raises ConfigError where the shortest sentence is longer."""
        if length < self.minimum:
            raise ConfigError(f"length {length}: a sentence of who_bit_whom has at least 5 words")
        # Two bars among the modifiers part them into three; all pairs of places are equally likely.
        bars = distinct(n, 2, length - self.minimum + 2, generator).sort(1).values
        subject, verb = (bars + 1).split(1, dim=1)
        device = generator.device
        adjectives, adverbs = (
            torch.randint(len(words), (n, length), generator=generator, device=device)
            for words in (ADJECTIVES, ADVERBS)
        )
        nouns = distinct(n, 2, len(NOUNS), generator) + FIRST_NOUN

        place = torch.arange(length, device=device)
        prompt = torch.where(
            (subject < place) & (place < verb),
            adverbs + FIRST_ADVERB,
            adjectives + FIRST_ADJECTIVE,
        )
        prompt[:, 0] = THE
        prompt.scatter_(1, subject, nouns[:, :1])
        prompt.scatter_(1, verb, BIT)
        prompt.scatter_(1, verb + 1, THE)
        prompt[:, -1] = nouns[:, 1]
        return Sample(prompt, nouns[:, :1])

    def solve(self, prompt: list[int]) -> list[int]:
        sentence = self.vocabulary.decode(prompt)
        adjective, noun, adverb = (f"({'|'.join(words)})" for words in (ADJECTIVES, NOUNS, ADVERBS))
        form = f"the( {adjective})* (?P<biter>{noun})( {adverb})* bit the( {adjective})* {noun}"
        match = re.fullmatch(form, sentence)
        if match is None:
            raise ValueError(f"'{sentence}' does not say who bit whom")
        return self.vocabulary.encode(match["biter"])

    def chance(self, length: int) -> Chance:
        """One half: swapping the nouns gives an equally likely sentence of the same words."""
        return Chance(0.5, 0.5)

    def reorder(self, prompt: Tensor, generator: torch.Generator) -> Tensor:
        """Swaps the two nouns and leaves every other word where it is."""
        nouns = ((prompt >= FIRST_NOUN) & (prompt < FIRST_ADJECTIVE)).nonzero().flatten()
        swapped = prompt.clone()
        swapped[nouns] = prompt[nouns.flip(0)]
        return swapped
