"""What a finished run hands to its logger."""

from posenc.checkpoint import load_weights
from posenc.experiment import Experiment
from posenc.memory import release
from posenc.results.charts import Picture
from posenc.results.details import read_details
from posenc.results.outcome import Result
from posenc.results.records import RunFolder
from posenc.results.run_pictures import accuracy_by_place, length_curve
from posenc.results.terminal import markdown
from posenc.schema import Config
from posenc.training.dashboard import samples_and_pictures
from posenc.training.events import EventLog, small
from posenc.training.runlog import RunLog, Settings, publish_metrics


def publish(
    log: RunLog, config: Config, experiment: Experiment, folder: RunFolder, columns: Settings
) -> None:
    """Curves, what the run came to, and the `columns` that tell runs apart; to TensorBoard texts
    and pictures, too.

    Everything is drawn first and written together, so that a crash leaves all of it or nothing.
    """
    rows = folder.read_rows("lengths.csv")
    if isinstance(log, EventLog):
        log.show(*_texts_and_pictures(config, experiment, folder))
    bits = read_details(folder.path, "bits", "lengths.csv")
    final = outcome(Result(folder, "lengths.csv", rows))
    publish_metrics(log, rows, bits=bits, settings=columns, final=final)


def outcome(result: Result) -> dict[str, float]:
    """What a run came to; nothing stands for what was not tested."""
    figures = {
        "holds_to": result.holds_to,
        "in_range_exact": result.in_range,
        "score": result.score,
    }
    return {f"outcome/{name}": value for name, value in figures.items() if value is not None}


def _texts_and_pictures(
    config: Config, experiment: Experiment, folder: RunFolder
) -> tuple[dict[str, str], dict[str, bytes]]:
    """By tag, which the pages order by the alphabet."""
    load_weights(experiment.net, folder.checkpoint)
    samples, drawn = samples_and_pictures(experiment, config.eval.seed)
    rows, settings = folder.read_rows("lengths.csv"), (folder.path / "config.yaml").read_text()
    pictures: dict[str, Picture] = {"by_length": length_curve(rows)}
    if places := read_details(folder.path, "places", "lengths.csv"):
        pictures["by_place"] = accuracy_by_place(places)
    texts = {
        "result": markdown(rows),
        "samples": samples,
        "settings": f"```yaml\n{settings}```",
    }
    images = {}
    for name, each in (pictures | drawn).items():
        images[f"views/{name}"] = small(each)
        release()
    return texts, images
