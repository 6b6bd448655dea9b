"""What the methods of `tf.data` datasets do to the number of elements. Tables only."""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Operations that leave counts even between ranks when the data is divided before them.
EVEN = _names(
    "map batch padded_batch ragged_batch shuffle repeat prefetch cache enumerate with_options as_numpy_iterator "
    "make_one_shot_iterator assert_cardinality"
)
UNEVEN = _names(
    "filter skip take_while flat_map interleave unbatch window group_by_window concatenate bucket_by_sequence_length "
    "apply scan reduce shard unique rejection_resample snapshot sample_from_datasets parallel_interleave "
    "choose_from_datasets rebatch sparse_batch"
)
# What `apply` is given that leaves counts even, too.
APPLIED_EVENLY = _names(
    "prefetch_to_device copy_to_device shuffle_and_repeat map_and_batch dense_to_ragged_batch assert_cardinality "
    "batch_and_drop_remainder padded_batch_and_drop_remainder"
)
# Sources that give the same elements again when they are read again, and what keeps that so.
REPEATABLE = _names(
    "from_tensor_slices from_tensors range TFRecordDataset TextLineDataset FixedLengthRecordDataset CsvDataset list_files zip"
)
REPEATING = (
    EVEN | _names("take skip filter take_while flat_map interleave concatenate unbatch window")
) - _names("shuffle cache")
# Sources that know how many elements they have.
COUNTED = _names("from_tensor_slices from_tensors range list_files")
METHODS = EVEN | UNEVEN | {"take"}
# Methods that arrays, frames and generators have too: on their own they do not tell what they are called on.
COMMON = _names("map filter take skip cache apply repeat shuffle reduce unique enumerate concatenate")
BATCHING = _names("batch padded_batch ragged_batch")
GROUPING = _names("batch padded_batch ragged_batch repeat")
UNGROUPING = _names("unbatch flat_map interleave")
PEEKS = _names("element_spec cardinality output_shapes output_types output_classes")
DIRECTORY = (
    "image_dataset_from_directory",
    "text_dataset_from_directory",
    "audio_dataset_from_directory",
    "timeseries_dataset_from_array",
)
# Gives data sets, whose elements are batches where it is told a `batch_size`; arrays where that is -1.
LOADING = "tensorflow_datasets.load"
# Methods that make a data set of rows held elsewhere: of Hugging Face's datasets, which are its receiver or first argument.
OF_ROWS = ("to_tf_dataset", "prepare_tf_dataset")
MAKING = ("as_dataset", *OF_ROWS)
# Gives two data sets, each a part of one, or of arrays.
SPLITTING = "tensorflow.keras.utils.split_dataset"
# Functions around an iterable that hand on what is in it.
LOOKED_THROUGH = _names("iter enumerate tqdm trange next list tuple reversed")
# The same by their whole names: progress bars of other libraries.
BARS = frozenset(
    _names(
        "rich.progress.track alive_progress.alive_it progressbar.progressbar fastprogress.progress_bar "
        "fastprogress.fastprogress.progress_bar"
    )
)
# Those of them that can be gone through only once, and those that hold it all.
ONCE = _names("iter enumerate tqdm trange")
HOLDING = _names("list tuple")
