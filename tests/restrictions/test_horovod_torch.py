"""Scripts of `horovod.torch`: the faults that are the same there, and what is none."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.source import Document
from horovodize.summary import summarize


def codes(text: str) -> set[str]:
    return {v.code for v in check(summarize(Document(text, "train.py")))}


RIGHT = """\
import os
import torch
import torch.nn.functional as F
import torch.optim as optim
import horovod.torch as hvd
from torchvision import datasets

hvd.init()
torch.manual_seed(1)
torch.cuda.set_device(hvd.local_rank())
rows = datasets.MNIST("data-%d" % hvd.rank(), train=True, download=True)
sampler = torch.utils.data.distributed.DistributedSampler(rows, num_replicas=hvd.size(), rank=hvd.rank())
loader = torch.utils.data.DataLoader(rows, batch_size=32, sampler=sampler)
model = torch.nn.Linear(3, 3)
optimizer = optim.SGD(model.parameters(), lr=0.1 * hvd.size())
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())
first = 0


def average(value):
    return hvd.allreduce(torch.tensor(value)).item()


def train(epoch):
    total = 0.0
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        #IN
    return total


best = 100.0
for epoch in range(first, 3):
    mean = average(train(epoch))
    if mean < best and hvd.rank() == 0:
        torch.save(model.state_dict(), "best.pt")
    if mean < 0.1:
        break
"""


def test_a_right_script_has_no_finding() -> None:
    assert codes(RIGHT) == set()


FAULTS = [
    ("hvd.init()\n", "", "HVD301"),
    ("set_device(hvd.local_rank())", "set_device(hvd.rank())", "HVD302"),
    ("set_device(hvd.local_rank())", 'set_device(f"cuda:{hvd.rank()}")', "HVD302"),
    ("set_device(hvd.local_rank())", 'set_device(torch.device("cuda", hvd.rank()))', "HVD302"),
    ("optimizer = hvd.Dist", "wrapped = hvd.Dist", "HVD304"),
    (
        "loss.backward()",
        "loss.backward()\n        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        "HVD304",
    ),
    (
        "hvd.DistributedOptimizer(optimizer,",
        "hvd.DistributedOptimizer(hvd.DistributedOptimizer(optimizer),",
        "HVD305",
    ),
    (
        "    mean = average(train(epoch))",
        "    mean = average(train(epoch)) if hvd.rank() == 0 else 1.0",
        "HVD313",
    ),
    ("optimizer.step()", "if hvd.rank() == 0:\n            optimizer.step()", "HVD313"),
    (
        "allreduce(torch.tensor(value))",
        'allreduce(torch.tensor(value), name="mean-%d" % hvd.rank())',
        "HVD318",
    ),
    ("sampler=sampler", "shuffle=True", "HVD320"),
    ("rank=hvd.rank())", "rank=hvd.local_rank())", "HVD323"),
    (", num_replicas=hvd.size(), rank=hvd.rank())", ")", "HVD323"),
    ("first = 0", "first = 0\nif hvd.rank() == 0:\n    first = 2", "HVD331"),
    ("#IN", "if loss.item() > 5:\n            break", "HVD331"),
    ("#IN", "if total > 50:\n            break", "HVD331"),
    ("if mean < 0.1:", "if train(epoch) < 0.1:", "HVD331"),
    ('"data-%d" % hvd.rank()', '"data"', "HVD332"),
    ("if mean < best and hvd.rank() == 0:", "if mean < best:", "HVD314"),
    ("first = 0", "first = 0\nif not os.path.exists('out'):\n    os.mkdir('out')", "HVD332"),
]


@pytest.mark.parametrize(("old", "new", "code"), FAULTS)
def test_a_fault_is_found(old: str, new: str, code: str) -> None:
    assert old in RIGHT
    assert code in codes(RIGHT.replace(old, new))


UNSENT = RIGHT.replace("torch.manual_seed(1)\n", "").replace(
    "hvd.broadcast_parameters(model.state_dict(), root_rank=0)\n", ""
)


def test_weights_that_nothing_sends_are_found() -> None:
    text = UNSENT.replace("hvd.broadcast_optimizer_state(optimizer, root_rank=0)\n", "")
    assert "HVD306" in codes(text)
    assert "HVD306" not in codes(text.replace("hvd.init()\n", "hvd.init()\ntorch.manual_seed(1)\n"))
    elastic = "state = hvd.elastic.TorchState(model, optimizer)\n"
    assert "HVD306" not in codes(text.replace("first = 0\n", elastic + "first = 0\n"))


ALIKE = [
    "if i > 100:\n            break",
    "if i >= len(loader) - 2:\n            break",
    "if len(x) < 32:\n            average(1.0)",
    "if x.size(0) < 32:\n            average(1.0)",
    "if average(loss.item()) > 5:\n            break",
    "seen = i * len(x)\n        if seen > 1000:\n            break",
    "if torch.cuda.is_available():\n            average(1.0)",
    "if torch.isnan(loss):\n            continue",
]


@pytest.mark.parametrize("inner", ALIKE)
def test_what_all_ranks_answer_alike_stalls_nothing(inner: str) -> None:
    assert codes(RIGHT.replace("#IN", inner)) == set()


NEAR = [
    ("set_device(hvd.local_rank())", "set_device(hvd.rank() % 4)"),
    ("loss.backward()", "loss.backward()\n        optimizer.synchronize()\n"
     "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
    ("sampler=sampler", "shuffle=True, generator=draws"),
    ("torch.manual_seed(1)", "torch.manual_seed(hvd.rank())"),
    ("from torchvision import datasets", "from torchvision import datasets\nfrom filelock import FileLock"),
    ("import horovod.torch as hvd", "from horovod import torch as hvd"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), NEAR)
def test_what_only_resembles_a_fault_is_none(old: str, new: str) -> None:
    assert old in RIGHT
    assert codes(RIGHT.replace(old, new)) == set()


def test_a_barrier_of_a_set_is_none_of_all_ranks() -> None:
    some = "pair = hvd.add_process_set([0, 1])\nif hvd.rank() < 2:\n    hvd.barrier(pair)\n"
    assert codes(RIGHT + some) == set()
    assert "HVD313" in codes(RIGHT + some.replace("barrier(pair)", "barrier()"))


def test_beside_tensorflow_it_trains_something_else() -> None:
    text = RIGHT.replace(
        "import horovod.torch", "import horovod.tensorflow as of_graphs\nimport horovod.torch"
    )
    assert "HVD302" not in codes(text.replace("set_device(hvd.local_rank())", "set_device(hvd.rank())"))


def test_a_scaler_steps_for_an_optimizer() -> None:
    scaled = RIGHT.replace("optimizer.step()", "scaler.step(optimizer)\n        scaler.update()")
    assert codes(scaled) == set()
    assert "HVD331" in codes(scaled.replace("#IN", "if loss.item() > 5:\n            break"))
    plain = scaled.replace("#IN", "schedule.step(loss)")
    assert codes(plain) == set()


def test_asking_what_horovod_has_gives_it_to_nobody() -> None:
    text = UNSENT.replace("hvd.broadcast_optimizer_state(optimizer, root_rank=0)\n", "")
    assert "HVD306" in codes(text + 'print(hasattr(hvd, "timeline"))\n')
    assert "HVD306" not in codes(text + "prepare(hvd)\n")


def test_a_rank_of_a_sampler_may_have_a_name() -> None:
    named = RIGHT.replace("sampler = torch", "place = hvd.rank()\nsampler = torch").replace(
        "rank=hvd.rank())", "rank=place)"
    )
    assert codes(named) == set()
    assert "HVD323" in codes(named.replace("place = hvd.rank()", "place = hvd.local_rank()"))
