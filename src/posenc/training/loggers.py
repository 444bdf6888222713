"""The choices of `logger=`: what each needs, and how it is opened and closed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from posenc.errors import ConfigError, Interrupted
from posenc.results.records import RunFolder
from posenc.training.events import EventLog
from posenc.training.runlog import RunLog, Settings, TableLog
from posenc.training.services import mlflow_log, wandb_log

Maker = Callable[[Settings, RunFolder, int | None, Settings], RunLog]

MAKERS: dict[str, Maker] = {
    "tensorboard": lambda choice, folder, resumed_at, settings: EventLog(
        folder, resumed_at=resumed_at
    ),
    "csv": lambda choice, folder, resumed_at, settings: TableLog(folder, resumed_at=resumed_at),
    "wandb": wandb_log,
    "mlflow": mlflow_log,
}
"""What is chosen and not named here logs nothing."""

NEEDS = {"wandb": ("wandb",), "mlflow": ("mlflow", "sqlalchemy")}
"""Packages that come with an extra of the same name as the logger."""


def check(choice: Settings) -> None:
    """Raises ConfigError where the chosen logger cannot work here; writes nothing."""
    name = choice["name"]
    store = choice.get("tracking_uri")
    if store is not None and ("://" not in str(store) or str(store).startswith("file:")):
        raise ConfigError(
            f"logger.tracking_uri={store}: name a server, http://..., or a file, sqlite:///PATH"
        )
    for package in NEEDS.get(name, ()):
        found = find_spec(package)
        if found is None or found.origin is None:  # a folder of that name is no package
            raise ConfigError(
                f"logger={name}: needs the package {package}; "
                f"pip install -c constraints.txt -e '.[{name}]'"
            )
    if not choice.get("offline", True):
        import wandb

        try:
            wandb.login()
        except wandb.Error as error:
            raise ConfigError(f"logger.offline=false: {error}") from None


@contextmanager
def opened(
    choice: Settings, folder: RunFolder, *, resumed_at: int | None, settings: Settings
) -> Iterator[RunLog | None]:
    """The chosen logger, closed at the end, or None.

    `resumed_at` is the step from which training goes on, None where it is over; `settings` are the
    hyper-parameters. Raises ConfigError where the logger refuses to begin.
    """
    maker = MAKERS.get(choice["name"])
    if maker is None:
        yield None
        return
    log = maker(choice, folder, resumed_at, settings)
    ended = "failed"
    try:
        yield log
        ended = "finished"
    except Interrupted:
        ended = "interrupted"
        raise
    finally:
        log.close(ended)
