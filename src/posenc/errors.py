"""The one error that a user can cause and mend."""


class ConfigError(ValueError):
    """A setting that cannot work. The message names the key, its value and what would be right."""
