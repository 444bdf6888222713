"""The sweeper of `sweeper=grid`, in the one package where Hydra looks for sweepers."""

from functools import partial
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser


class Grid(BasicSweeper):
    """Every combination of the listed values, apart from those whose run is done already.

    What the command line lists is combined with each of `sweeper.grids`, whose keys it overrides.
    """

    def sweep(self, arguments: list[str]) -> Any:
        """Launches what is missing. Raises RunFailed where a job fails."""
        # Here, since Hydra loads this file whenever it looks for plugins.
        from posenc.launching import check_grids, check_listed
        from posenc.sweep import conduct

        assert self.hydra_context is not None
        assert self.config is not None
        assert self.launcher is not None
        loader = self.hydra_context.config_loader
        check_grids(self.config.sweeper.grids)
        parser = OverridesParser.create(loader)
        jobs: list[list[str]] = []
        for grid in self.config.sweeper.grids:
            own = [f"{key}={values}" for key, values in grid.items()]
            given = parser.parse_overrides([*own, *self._parse_config(), *arguments])
            check_listed(given)
            (combined,) = self.split_arguments(given, None)
            jobs += combined
        compose = partial(loader.load_sweep_config, self.config)
        return conduct(jobs, self.config, compose=compose, launch=self.launcher.launch)
