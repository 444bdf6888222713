"""Who looks at training, and when: between two looks it goes on alone."""

from typing import Any

import pytorch_lightning as pl


class Watcher(pl.Callback):
    """A callback whose `on_train_batch_end` is called when any of those that watch has asked."""

    def due(self, step: int) -> bool:
        """Whether to look after this optimizer step."""
        return False


class Together(Watcher):
    """Several watchers as one, called in their order.

    Lightning spends microseconds on each callback at each of its hooks, of which there are five in
    a step and all but one unused here.
    """

    def __init__(self, *watchers: Watcher) -> None:
        self.watchers = watchers

    def due(self, step: int) -> bool:
        return any(watcher.due(step) for watcher in self.watchers)

    def on_train_start(self, *arguments: Any) -> None:
        for watcher in self.watchers:
            watcher.on_train_start(*arguments)

    def on_train_batch_end(self, *arguments: Any) -> None:
        for watcher in self.watchers:
            watcher.on_train_batch_end(*arguments)

    def on_train_end(self, *arguments: Any) -> None:
        for watcher in self.watchers:
            watcher.on_train_end(*arguments)

    def on_exception(self, *arguments: Any) -> None:
        for watcher in self.watchers:
            watcher.on_exception(*arguments)
