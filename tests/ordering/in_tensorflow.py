"""Runs graphs in TensorFlow, many beside each other, and says what was seen. Started by the tests, in TensorFlow's Python.

Reads JSON: "resource" (the kind of variable), "starts" and "graphs", each with its operations, its fetches, how often it is to
run, and whether TensorFlow may optimize it first (which takes ten times as long as all the rest). Writes, for each graph, the
different outcomes: what the variables hold in the end, and what was fetched.

Graphs are put together as TensorFlow's Python does it, node by node, but without that Python: thousands would take minutes."""

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tensorflow.compat.v1 as tf

_TOGETHER = (
    100  # graphs in one session: they touch no variable of each other, and take threads from each other
)
_THREADS = 4
_KIND = tf.float64.as_datatype_enum
# What an operation is called, for resource variables and for reference variables.
_NODES = {
    "variable": ("VarHandleOp", "VariableV2"),
    "read": ("ReadVariableOp", "Identity"),
    "assign": ("AssignVariableOp", "Assign"),
    "add": ("AssignAddVariableOp", "AssignAdd"),
    "subtract": ("AssignSubVariableOp", "AssignSub"),
    "give": ("Const", "Const"),
    "sum": ("AddV2", "AddV2"),
}
_RESOURCES = ("read", "assign", "add", "subtract")


class Builder:
    """One graph of TensorFlow, node by node."""

    def __init__(self, resource):
        self.resource = resource
        self.definition = tf.GraphDef()
        self.definition.versions.producer = tf.version.GRAPH_DEF_VERSION

    def node(self, name, does, inputs=(), after=(), value=None):
        node = self.definition.node.add()
        node.name = name
        node.op = _NODES[does][0 if self.resource else 1]
        node.input.extend([*inputs, *(f"^{n}" for n in after)])
        node.attr["dtype" if does in ("give", "variable") else "T"].type = _KIND
        if does == "give":
            node.attr["value"].tensor.dtype = _KIND
            node.attr["value"].tensor.tensor_shape.SetInParent()
            node.attr["value"].tensor.double_val.append(value)
        elif does == "variable":
            node.attr["shape"].shape.SetInParent()
            node.attr["shared_name"].s = name.encode()
        elif self.resource and does in _RESOURCES:
            node.attr["dtype"].type = _KIND
            del node.attr["T"]
        return name

    def graph(self, prefix, graph, starts):
        """Adds a graph, and what starts and reads its variables beside the run."""
        for variable, start in starts.items():
            handle = self.node(f"{prefix}/{variable}", "variable")
            self.node(f"{handle}/held", "read", [handle])
            self.node(
                f"{handle}/start", "assign", [handle, self.node(f"{handle}/first", "give", value=start)]
            )
        for name, does, variable, inputs, after, value in graph["ops"]:
            given = [f"{prefix}/{variable}"] if variable else []
            given += [f"{prefix}/{n}" for n in inputs]
            self.node(f"{prefix}/{name}", does, given, [f"{prefix}/{n}" for n in after], value)


def seen(graphs, starts, resource):
    """The outcomes of some graphs that run beside each other."""
    found = [set() for _ in graphs]
    builder = Builder(resource)
    for index, graph in enumerate(graphs):
        builder.graph(f"g{index}", graph, starts)
    with tf.Graph().as_default() as whole:
        tf.import_graph_def(builder.definition, name="")
        threads = tf.ConfigProto(inter_op_parallelism_threads=_THREADS, intra_op_parallelism_threads=1)
        threads.graph_options.rewrite_options.disable_meta_optimizer = not graphs[0]["optimized"]
        with tf.Session(config=threads) as session:
            run = session.make_callable([_fetches(whole, f"g{i}", g) for i, g in enumerate(graphs)])
            variables = [[f"g{i}/{v}" for v in starts] for i in range(len(graphs))]
            held = session.make_callable([[f"{v}/held:0" for v in vs] for vs in variables])
            start = session.make_callable([f"{v}/start" for vs in variables for v in vs])
            for _ in range(graphs[0]["runs"]):
                start()
                gave = run()
                for outcomes, values, fetched in zip(found, held(), gave, strict=True):
                    outcomes.add((tuple(map(float, values)), tuple(map(number, fetched))))
    return [sorted(outcomes, key=repr) for outcomes in found]


def _fetches(whole, prefix, graph):
    """What is fetched: values, and operations that have none."""
    valued = {row[0] for row in graph["ops"] if row[1] in ("give", "sum", "read")}
    return [
        f"{prefix}/{n}:0" if n in valued else whole.get_operation_by_name(f"{prefix}/{n}")
        for n in graph["fetches"]
    ]


def number(value):
    return None if value is None else float(value)


def main():
    asked = json.load(sys.stdin)
    alike = {}
    for index, graph in enumerate(asked["graphs"]):
        alike.setdefault((graph["runs"], graph["optimized"]), []).append((index, graph))
    answers = {}
    for group in alike.values():
        for start in range(0, len(group), _TOGETHER):
            indices, graphs = zip(*group[start : start + _TOGETHER], strict=True)
            answers.update(zip(indices, seen(graphs, asked["starts"], asked["resource"]), strict=True))
    json.dump([answers[index] for index in range(len(answers))], sys.stdout)


if __name__ == "__main__":
    main()
