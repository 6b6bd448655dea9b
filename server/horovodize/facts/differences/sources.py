"""Where differences between ranks come from: the functions and methods that give each process an answer of its own.

Tables only; `uniform.py` follows values to them. Names are canonical ones; a name that ends with a dot stands for all below
it.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Source(Enum):
    """Why something differs between ranks. `GAME` first: what a rank plays for itself can't be averaged or agreed on later."""

    GAME = "it depends on a simulation that each rank runs for itself"
    FILES = "it depends on files, which another rank may be writing or not have"
    CLOCK = "it depends on the clock, which ranks read at different times"
    CHANCE = "it depends on random numbers, which differ between ranks"
    HOST = "it depends on the process or host"
    ORDER = "it depends on the order of a set, which differs between processes"
    INPUT = "it depends on what is typed in at one process"
    SIGNAL = "it depends on a signal, which ranks get at different times"
    THREAD = "it depends on how far a thread has come, which is not as far on each rank"
    FAILURE = "it depends on an exception, which one rank alone may run into"
    RUN = "it depends on the run that is tracked, which only rank 0 has"
    ROWS = "it is computed from the rows of one rank"


def _all(source: Source, names: str, prefix: str = "") -> dict[str, Source]:
    return {prefix + name: source for name in names.split()}


# Classes of scikit-learn and its companions that draw, unless they are given a `random_state`.
ESTIMATORS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "sklearn.cluster": "KMeans MiniBatchKMeans BisectingKMeans SpectralClustering",
        "sklearn.mixture": "GaussianMixture BayesianGaussianMixture",
        "sklearn.manifold": "TSNE MDS SpectralEmbedding",
        "sklearn.decomposition": "TruncatedSVD NMF FastICA LatentDirichletAllocation DictionaryLearning SparsePCA",
        "sklearn.random_projection": "GaussianRandomProjection SparseRandomProjection",
        "umap": "UMAP",
        "sklearn.ensemble": "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor "
        "GradientBoostingClassifier GradientBoostingRegressor IsolationForest",
        "sklearn.preprocessing": "QuantileTransformer",
        "imblearn.over_sampling": "SMOTE ADASYN BorderlineSMOTE SVMSMOTE KMeansSMOTE SMOTENC SMOTEN RandomOverSampler",
        "imblearn.under_sampling": "RandomUnderSampler ClusterCentroids",
        "imblearn.combine": "SMOTEENN SMOTETomek",
    }.items()
    for name in names.split()
)
# Models of words that several threads train, from vectors that Python's `hash` begins.
_OF_WORDS = {
    "word2vec": "Word2Vec",
    "fasttext": "FastText",
    "doc2vec": "Doc2Vec",
    "ldamodel": "LdaModel",
    "ldamulticore": "LdaMulticore",
}
_GRAPHS = (
    "erdos_renyi_graph gnp_random_graph fast_gnp_random_graph gnm_random_graph watts_strogatz_graph barabasi_albert_graph "
    "newman_watts_strogatz_graph connected_watts_strogatz_graph random_regular_graph powerlaw_cluster_graph "
    "random_geometric_graph stochastic_block_model"
)
# Those that say whether a file is there, by the last part of their names.
WHETHER_THERE = frozenset("exists isfile isdir is_file is_dir Exists IsDirectory checkpoint_exists".split())
FUNCTIONS: Mapping[str, Source] = {
    **_all(Source.FILES, "exists lexists isfile isdir islink getmtime getctime getatime getsize", "os.path."),
    **_all(Source.FILES, "listdir scandir access stat lstat walk", "os."),
    **_all(Source.FILES, "glob.glob glob.iglob"),
    **_all(Source.FILES, "exists isdir glob listdir stat walk", "tensorflow.io.gfile."),
    **_all(Source.FILES, "Exists IsDirectory Glob ListDirectory Stat Walk", "tensorflow.compat.v1.gfile."),
    **_all(Source.FILES, "latest_checkpoint get_checkpoint_state list_variables load_variable load_checkpoint",
           "tensorflow.train."),
    **_all(Source.FILES, "checkpoint_exists NewCheckpointReader", "tensorflow.compat.v1.train."),
    **_all(Source.CLOCK, "time monotonic perf_counter process_time clock time_ns monotonic_ns perf_counter_ns ctime localtime "
                         "gmtime strftime asctime", "time."),
    **_all(Source.CLOCK, "timeit. tensorflow.timestamp"),
    **_all(Source.CLOCK, "now today utcnow", "datetime.datetime."),
    **_all(Source.CLOCK, "datetime.date.today datetime.now datetime.today"),
    **_all(Source.HOST, "getpid getppid uname cpu_count getloadavg", "os."),
    **_all(Source.HOST, "socket. platform.node platform.uname multiprocessing.cpu_count multiprocessing.current_process "
                        "threading.get_ident uuid.getnode psutil. GPUtil."),
    **_all(Source.HOST, "rank local_rank cross_rank", "horovod.tensorflow."),
    **_all(Source.HOST, "rank local_rank cross_rank", "horovod.tensorflow.keras."),
    **_all(Source.HOST, "rank local_rank cross_rank", "horovod.keras."),
    **_all(Source.HOST, "rank local_rank cross_rank", "horovod.torch."),
    **_all(Source.ROWS, "alltoall reducescatter grouped_reducescatter", "horovod.tensorflow."),
    **_all(Source.CHANCE, "random. numpy.random. tensorflow.random. tensorflow.keras.random. secrets. os.urandom "
                          "uuid.uuid1 uuid.uuid4 scipy.stats. sklearn.utils.shuffle sklearn.utils.resample "
                          "sklearn.model_selection.train_test_split sklearn.datasets.make_ tensorflow.keras.backend.random_ "
                          "tensorflow.compat.v1.random_ tensorflow.keras.preprocessing.image.random_ "
                          "tensorflow.keras.preprocessing.sequence.skipgrams"),
    **_all(Source.CHANCE, "rand randn randint randperm normal bernoulli multinomial", "torch."),
    **dict.fromkeys(ESTIMATORS, Source.CHANCE),
    **_all(Source.CHANCE, " ".join(f"{name} {module}.{name}" for module, name in _OF_WORDS.items()), "gensim.models."),
    **_all(Source.CHANCE, _GRAPHS, "networkx."),
    **_all(Source.CHANCE, _GRAPHS, "networkx.random_graphs."),
    **_all(Source.CHANCE, _GRAPHS, "networkx.generators.random_graphs."),
    **_all(Source.INPUT, "sys.stdin. getpass.getpass"),
    **_all(Source.RUN, "restore use_artifact use_model", "wandb."),
}  # fmt: skip
# What gives all ranks the same, whatever each of them gives.
AGREEING = frozenset(
    "allreduce grouped_allreduce allgather grouped_allgather broadcast broadcast_object allgather_object".split()
)
PREFIXES = tuple((name, source) for name, source in FUNCTIONS.items() if name[-1] in "._")

# Below a name in `PREFIXES`, but the same on every rank: they seed, or say only what a distribution is.
NOT_DRAWN = frozenset(
    {
        "random.seed",
        "random.getstate",
        "random.setstate",
        "numpy.random.seed",
        "numpy.random.get_state",
        "numpy.random.set_state",
        "tensorflow.random.set_seed",
        "tensorflow.random.get_seed",
        "numpy.random.SeedSequence",
        "tensorflow.keras.random.SeedGenerator",
    }
)
# What of `scipy.stats` draws; all else there computes from what it is given (`zscore`, `norm.pdf`).
DRAWN_OF_SCIPY = frozenset(
    "rvs bootstrap permutation_test monte_carlo_test power gaussian_kde random_correlation".split()
)
# What each of these seeds, by the beginnings of the names of the functions that draw then.
_OF_TENSORFLOW = ("tensorflow.random.", "tensorflow.keras.backend.random_", "tensorflow.compat.v1.random_")
_OF_NUMPY = ("numpy.random.", "scipy.", "sklearn.", "imblearn.", "tensorflow.keras.preprocessing.image.")
_OF_PYTHON = ("random.", "tensorflow.keras.preprocessing.sequence.")
SEEDS: Mapping[str, tuple[str, ...]] = {
    "numpy.random.seed": _OF_NUMPY,
    "random.seed": _OF_PYTHON,
    "tensorflow.random.set_seed": _OF_TENSORFLOW,
    "torch.manual_seed": ("torch.",),
    "tensorflow.keras.utils.set_random_seed": (
        *_OF_NUMPY,
        *_OF_PYTHON,
        *_OF_TENSORFLOW,
        "tensorflow.keras.random.",
    ),
}
# What Keras 3's functions take as their `seed`.
SEED_GENERATOR = "tensorflow.keras.random.SeedGenerator"
ALWAYS_OWN = ("random.SystemRandom", "tensorflow.random.Generator.from_non_deterministic_state")
# Draw by a key that they are given.
STATELESS = "tensorflow.random.stateless_"
SEED_ARGUMENTS = ("seed", "random_state")

# Of objects that this program does not make, or that Keras makes.
METHODS: Mapping[str, Source] = {
    **_all(Source.FILES, "exists is_file is_dir iterdir rglob stat"),
    **_all(Source.ROWS, "fit evaluate predict predict_on_batch predict_classes predict_proba train_on_batch test_on_batch "
                        "fit_generator evaluate_generator predict_generator result get_metrics_result train_step test_step "
                        "gradient next_batch"),
    **_all(Source.CHANCE, "getrandbits randint randrange rvs"),
}  # fmt: skip
ATTRIBUTES: Mapping[str, Source] = {
    **_all(
        Source.FILES,
        "latest_checkpoint checkpoints model_checkpoint_path all_model_checkpoint_paths save_counter",
    ),
    **_all(Source.ROWS, "history"),
}
# What a tracked run tells of itself, by what gives it: `wandb.run.step`, and of what `wandb.init` gives. Its configuration is
# rank 0's on all ranks.
TRACKED = ("wandb.run", "wandb.init")
NOT_TRACKED = ("config", "config_static")
# Environment variables that launchers set for each process, or that hosts have of their own.
OF_ONE_PROCESS = (
    "RANK",
    "HOSTNAME",
    "PROCID",
    "NODEID",
    "LOCALID",
    "PWD_",
    "SLURMD_NODENAME",
    "COMPUTERNAME",
    "TMPDIR",
)

# Parameters by which Keras hands over what a rank has computed from its own rows.
OWN_PARAMETERS = ("logs", "loss", "val_loss", "acc", "accuracy", "val_acc", "val_accuracy", "y_pred")

# Exceptions that come to all ranks alike, or end their data, or say what is installed.
ENDS_OF_ALL = frozenset(
    "KeyboardInterrupt StopIteration OutOfRangeError ImportError ModuleNotFoundError SystemExit GeneratorExit "
    "StopAsyncIteration NameError UnboundLocalError DuplicateFlagError UnrecognizedFlagError NotImplementedError "
    "RecursionError".split()
)
# Those that come to all ranks that are given the same.
SHARED_FAILURES = ENDS_OF_ALL | frozenset(
    "AttributeError TypeError KeyError IndexError ValueError ZeroDivisionError AssertionError".split()
)

# Change what they are called on: by their arguments, and by whether they run.
# What a process ends by.
ENDS_OF_PROGRAM = ("exit", "quit", "sys.exit", "os._exit")
CHANGING = frozenset(
    "append appendleft extend insert add update setdefault put put_nowait assign assign_add assign_sub push appendright "
    "remove discard pop popleft clear update_state".split()
)
