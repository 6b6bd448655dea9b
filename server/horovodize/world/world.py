"""The TensorFlow and the Keras that a script lives with, and from where that is known.

What a script itself proves (`evidence`) says which Keras it means. Where it proves nothing, versions say it: the setting
`tensorflow`, else what `surroundings` found. Where those are silent, too, it is unknown: what is generated then stops where it
would train wrongly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from horovodize.world.versions import FIRST_WITH_KERAS_3, KERAS_3, Version, Versions, before, from_on

if TYPE_CHECKING:
    from horovodize.options import Options
    from horovodize.summary import ModuleSummary

_SETTING = "the setting `tensorflow`"


class Keras(Enum):
    """Which Keras a script's optimizers and models are made of."""

    TWO = "Keras 2"
    THREE = "Keras 3"
    LEGACY = "legacy Keras (tf_keras)"  # Keras 2 on a TensorFlow whose own is Keras 3
    UNKNOWN = "Keras unknown"


@dataclass(frozen=True)
class World:
    """TensorFlow's version as it is written ("2.17", ">=2.16", "" where it is not known), Keras, and who says so of each; ""
    where nobody does."""

    tensorflow: str = ""
    keras: Keras = Keras.UNKNOWN
    tensorflow_by: str = ""
    keras_by: str = ""

    def runs_on(self, version: Version) -> bool:
        """Whether the script is known to run on a version of TensorFlow or a later one."""
        return from_on(self.tensorflow, version)

    @property
    def text(self) -> str:
        """As users read it: "TensorFlow 2.17, Keras 3 (requirements.txt)"."""
        if not self.tensorflow_by and not self.keras_by:
            return "versions of TensorFlow and Keras unknown"
        tensorflow = f"TensorFlow {self.tensorflow}" if self.tensorflow else "TensorFlow unknown"
        if self.tensorflow_by in ("", self.keras_by) or not self.keras_by:
            return f"{tensorflow}, {self.keras.value} ({self.keras_by or self.tensorflow_by})"
        return f"{tensorflow} ({self.tensorflow_by}), {self.keras.value} ({self.keras_by})"


def world_of(summary: ModuleSummary, options: Options) -> World:
    """The world of a script under some settings."""
    from horovodize.world.evidence import evidence_of, uses_standalone_keras

    known = options.around
    if options.tensorflow:
        known = Versions(options.tensorflow, "", _SETTING)
    by = known.source if known.tensorflow else ""
    if summary.module is None:
        return World(known.tensorflow, _keras_of(known, standalone=False), by, known.source)
    shown = evidence_of(summary)
    if shown is not None:
        keras, why = shown
        if keras is Keras.LEGACY and before(known.tensorflow, FIRST_WITH_KERAS_3):
            keras = Keras.TWO
        return World(known.tensorflow, keras, by, why)
    keras = _keras_of(known, standalone=uses_standalone_keras(summary))
    return World(known.tensorflow, keras, by, known.source if keras is not Keras.UNKNOWN else "")


def _keras_of(known: Versions, *, standalone: bool) -> Keras:
    """The Keras that versions mean: of the package `keras` for a script that imports that, else of `tf.keras`."""
    if standalone and known.keras:
        if from_on(known.keras, KERAS_3):
            return Keras.THREE
        if before(known.keras, KERAS_3):
            return Keras.TWO
    if from_on(known.tensorflow, FIRST_WITH_KERAS_3):
        return Keras.THREE
    return Keras.TWO if before(known.tensorflow, FIRST_WITH_KERAS_3) else Keras.UNKNOWN
