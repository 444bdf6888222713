"""What a sweep says while it goes on: how each job ended, and how long the rest may take."""

import math
import re
import sys
from statistics import mean
from threading import Event, Thread

from posenc.results.labels import duration
from posenc.results.sweeps import Entry, SweepFolder

LOOKS = 0.3
"""Seconds between two looks at what has ended."""


class Teller(Thread):
    """Reads what jobs write, wherever they run, and prints a line for each on stderr."""

    def __init__(self, folder: SweepFolder) -> None:
        super().__init__(daemon=True)
        self._folder = folder
        self._over = Event()
        self._told = 0

    def run(self) -> None:
        """Until `end` is called."""
        while not self._over.wait(LOOKS):
            self._tell()

    def end(self) -> None:
        """Tells what is left to tell, and returns when it is told."""
        self._over.set()
        self.join()
        self._tell()

    def _tell(self) -> None:
        ended = self._folder.ended()
        if len(ended) == self._told:
            return
        plan = self._folder.plan()
        todo = sum(job["state"] == "todo" for job in plan["jobs"]) or plan["trials"]
        for number, job in enumerate(ended[self._told :], start=self._told + 1):
            print(_line(job, ended[:number], todo, plan["at_a_time"]), file=sys.stderr, flush=True)
        self._told = len(ended)


def _line(job: Entry, ended: list[Entry], todo: int, at_a_time: int) -> str:
    rounds = math.ceil((todo - len(ended)) / at_a_time)
    rest = rounds * mean(each["seconds"] for each in ended)
    stopped = job["end"] == "interrupted"
    left = f", about {duration(rest)} left" if rest > 0 and not stopped else ""
    took = f"{duration(job['seconds'])}{left}"
    return f"[{len(ended)}/{todo}] {job['label'] or 'the run'}: {job['said']}; {took}"


def short(label: str) -> str:
    """The same with long fractions cut to four digits that count."""
    return re.sub(
        r"(?<=[=\[,])-?\d+\.\d{5,}(e-?\d+)?", lambda found: f"{float(found[0]):.4g}", label
    )
