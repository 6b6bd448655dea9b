"""Functions of other packages that make an optimizer with its schedule: of Hugging Face's transformers and TensorFlow's model
garden. What they are given is a schedule's (`rates.SCHEDULES`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_GARDEN = "official.nlp.optimization."
_TRANSFORMERS = ("transformers.", "transformers.optimization_tf.")

# name → the parameters, in their order
MAKERS: Mapping[str, str] = MappingProxyType(
    {
        f"{home}create_optimizer": (
            "init_lr, num_train_steps, num_warmup_steps, min_lr_ratio=0.0, adam_beta1=0.9, adam_beta2=0.999,"
            " adam_epsilon=1e-08, adam_clipnorm=None, adam_global_clipnorm=None, weight_decay_rate=0.0, power=1.0,"
            " include_in_weight_decay=None"
        )
        for home in _TRANSFORMERS
    }
    | {
        f"{_GARDEN}create_optimizer": (
            "init_lr, num_train_steps, num_warmup_steps, end_lr=0.0, optimizer_type='adamw', beta_1=0.9, poly_power=1.0"
        )
    }
)

# Optimizers whose configuration leaves out which weights decay.
_FORGETFUL = (
    "learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-07, amsgrad=False, weight_decay_rate=0.0"
)
FORGETFUL: Mapping[str, str] = MappingProxyType(
    {f"{home}AdamWeightDecay": _FORGETFUL for home in (*_TRANSFORMERS, _GARDEN)}
    | {
        f"{_GARDEN}LAMB": "learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-06, weight_decay_rate=0.0"
    }
)


def makes_optimizer(name: str) -> bool:
    """Whether a function makes an optimizer with a schedule."""
    return name in MAKERS


def forgets_settings(name: str) -> bool:
    """Whether what is made by a name can't be made again from its `get_config`: settings are lost, or its schedule's class."""
    return name in MAKERS or name in FORGETFUL
