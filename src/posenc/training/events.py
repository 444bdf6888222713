"""What TensorBoard gets, and how it is arranged there.

Its pages are ordered by name, and its table of runs shows the first five figures. So exact match
over length comes first of all, what a run came to is among the five, and pictures come last.
"""

import io
from collections.abc import Mapping

import altair as alt
from PIL import Image
from pytorch_lightning.loggers import TensorBoardLogger
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import metadata
from tensorboard.plugins.hparams.api_pb2 import Status
from tensorboard.plugins.hparams.plugin_data_pb2 import (
    HParamsPluginData,
    SessionEndInfo,
    SessionStartInfo,
)

from posenc.results.charts import png
from posenc.results.records import RunFolder
from posenc.training.runlog import Figures, RunLog, Settings

LAYOUT = {
    "during training": {
        "exact match at lengths in range and beyond": ["Multiline", ["probe/exact/"]],
        "loss": ["Multiline", ["train/loss"]],
    },
    "by length (set Smoothing to 0)": {
        "exact match, and chance": ["Multiline", ["length_generalization/exact", "test/chance"]],
        "loss": ["Multiline", ["test/loss"]],
    },
}
"""Charts of the Custom Scalars page, with expressions that find their curves in every run."""
COLOURS = 256
"""In a picture; with all of them it is five times as large."""


class EventLog(RunLog, TensorBoardLogger):
    """TensorBoard events in the run folder itself, which makes one run in TensorBoard's list.

    `resumed_at` is the step from which training goes on, None where it is over.
    """

    def __init__(self, folder: RunFolder, *, resumed_at: int | None) -> None:
        super().__init__(
            str(folder.path),
            name="",
            version="",
            default_hp_metric=False,
            purge_step=None if resumed_at is None else resumed_at + 1,
        )
        self.experiment.add_custom_scalars(LAYOUT)

    def log_metrics(self, metrics: Figures, step: int | None = None) -> None:
        """As Lightning does, which would take a full disk for a figure of the wrong kind."""
        for name, figure in metrics.items():
            self.experiment.add_scalar(name, figure, step)

    def conclude(self, settings: Settings, final: Figures) -> None:
        """A row of the HParams page, whose `settings` are booleans, numbers and text.

        Lightning would write booleans as numbers, and a list of columns, of which TensorBoard takes
        that of one run for all. Without it there is every column that any run has.
        """
        super().conclude(settings, final)
        start = SessionStartInfo()
        for key, value in settings.items():
            kind = {bool: "bool_value", str: "string_value"}.get(type(value), "number_value")
            setattr(start.hparams[key], kind, value)
        end = SessionEndInfo(status=Status.Value("STATUS_SUCCESS"))
        for tag, content in (
            (metadata.SESSION_START_INFO_TAG, HParamsPluginData(session_start_info=start)),
            (metadata.SESSION_END_INFO_TAG, HParamsPluginData(session_end_info=end)),
        ):
            own = metadata.create_summary_metadata(content)
            self._add(Summary.Value(tag=tag, metadata=own))

    def show(self, texts: Mapping[str, str], pictures: Mapping[str, bytes]) -> None:
        """Markdown for the Text page, and PNGs for the Images page, by tag."""
        for tag, text in texts.items():
            self.experiment.add_text(tag, text)
        for tag, picture in pictures.items():
            width, height = Image.open(io.BytesIO(picture)).size
            image = Summary.Image(width=width, height=height, encoded_image_string=picture)
            self._add(Summary.Value(tag=tag, image=image))

    def _add(self, value: Summary.Value) -> None:
        self.experiment._get_file_writer().add_summary(Summary(value=[value]))

    def save(self) -> None:
        """Flushes; Lightning would add an hparams.yaml, which config.yaml makes needless."""
        self.experiment.flush()

    def finalize(self, status: str) -> None:
        """Flushes; closing after the fit would split what follows into a second file."""
        self.experiment.flush()

    def close(self, ended: str) -> None:
        """Flushes, and ends the thread that writes."""
        self.experiment.close()


def small(chart: alt.TopLevelMixin) -> bytes:
    """The chart as a PNG of few bytes, sharp when it is enlarged."""
    picture, file = Image.open(io.BytesIO(png(chart, scale=2))).convert("RGB"), io.BytesIO()
    picture.quantize(COLOURS).save(file, "PNG")
    return file.getvalue()
