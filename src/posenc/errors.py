"""What can go wrong: a command that cannot work, a run that broke, a signal that stopped it."""


class ConfigError(ValueError):
    """A setting that cannot work. The message names the key, its value and what would be right."""


class RunFailed(RuntimeError):
    """A run that broke after it had begun. Its folder holds the traceback."""


class Interrupted(SystemExit):
    """A run stopped by a signal, after it had saved what it had; exits with 128 + the signal."""
