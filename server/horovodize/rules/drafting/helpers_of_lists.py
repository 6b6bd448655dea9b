"""The text of helpers that take something out of lists."""

from horovodize.rules.drafting.draft import ON_ROOT

LIST_HELPERS: dict[str, tuple[str, ...]] = {
    "own_callbacks": (
        "def {name}(callbacks):",
        '    """What this rank runs of some callbacks: those that write files are rank 0\'s."""',
        "    known = {tf}.keras.callbacks",
        "    writers = (known.CSVLogger, known.ModelCheckpoint, known.TensorBoard)",
        f"    return [c for c in callbacks or [] if {ON_ROOT} or not isinstance(c, writers)]",
    ),
}
