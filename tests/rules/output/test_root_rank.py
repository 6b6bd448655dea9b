"""C6: what is printed, shown and written comes from rank 0, and hides nothing that every rank must do."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan, Unchanged
from horovodize.rules.output import root_rank
from horovodize.source import Document
from horovodize.summary import summarize

from ..dividing import TAPE
from ..guarding import HEAD, Guarded, apply, check, unchanged
from ..pairs import TF, plan_of

RULES = (root_rank.RULE,)


def turns(before: str, after: str) -> Guarded:
    return check(RULES, before, after)


def stays(before: str) -> Guarded:
    return unchanged(RULES, before)


# ---------------------------------------------------------------------- left alone


@pytest.mark.parametrize("opened", ["gzip.open(path)", "open(path, 'rb')", "urlopen(path)"])
@pytest.mark.parametrize("read", ["read", "readline"])
def test_a_file_that_is_read_once_is_read_where_it_is_written(opened: str, read: str) -> None:
    """It was refused, as if something were trained there."""
    turns(
        f"""
        import gzip
        def unzip(path):
            f = {opened}
            open(path[:-3], 'wb').write(f.{read}())
            f.close()
        """,
        f"""
        import gzip
        def unzip(path):
            f = {opened}
            if hvd.rank() == 0:
                open(path[:-3], 'wb').write(f.{read}())
            f.close()
        """,
    )


def test_a_file_that_is_read_on_is_read_by_all() -> None:
    source = f"""{HEAD}
def head(path):
    f = open(path)
    open('head', 'w').write(f.readline())
    return f.read()
"""
    assert "trains in one statement" in apply(source, *RULES).reasons[0]


@pytest.mark.parametrize(
    "statement",
    [
        "logging.info('x')",
        "logger.warning('x')",
        "x = look(3)",
        "plt.plot(x)",
        "writer.write(record)",
        "data.append(x)",
        "with open(path) as f: rows = f.read()",
        "with open(path, 'rb') as f:\n    print_nothing = f",
        "text = json.dumps(x)",
        "report(model)",
        "super().save(path)",
        "print_summary = 3",
        "def print(*a): pass\nprint(3)",
        "matplotlib.use('Agg')",
        "yield_ = [print(q) for q in data]",
    ],
)
def test_what_is_no_output(statement: str) -> None:
    stays(f"import json, logging, matplotlib\n{statement}\n")


def test_the_last_words_before_the_end_are_everyones() -> None:
    stays(
        """
        import sys
        def read(path):
            if not path:
                print("no path")
                sys.exit(1)
            try:
                return load(path)
            except OSError:
                print("can't read", path)
                raise
        """
    )


def test_nothing_is_guarded_before_horovod_is_there() -> None:
    head = """\
import os
def hello():
    print("hello")
hello()
print(os.getcwd())
import tensorflow as tf
print(tf.__version__)
import numpy as np
"""
    check(
        RULES,
        "model = tf.keras.Sequential()\nmodel.fit(1)\nprint(np.pi)\n",
        "model = tf.keras.Sequential()\nmodel.fit(1)\nif hvd.rank() == 0:\n    print(np.pi)\n",
        head,
    )


def test_a_print_that_shares_its_line_stays_with_a_note() -> None:
    result = stays(
        "x = 1; print(x)\nfor x in tensors(): print(x)\nif x: y = look(x)\nelse: print(x)\nlook(y)\n"
    )
    assert len(result.notes) == 3


def test_a_print_whose_parts_can_not_be_taken_out_in_order_stays() -> None:
    for line in ("print(*model.steps, epoch(3))", "print(lambda: epoch(3))", "print(y := epoch(3))"):
        assert len(stays(line + "\n").notes) == 1


def test_what_a_step_may_change_is_taken_out_before_it() -> None:
    turns(
        "print(model.steps, 'of', float(total), epoch(3), model.steps)\n",
        """
        result = model.steps
        result_2 = float(total)
        result_3 = epoch(3)
        if hvd.rank() == 0:
            print(result, 'of', result_2, result_3, model.steps)
        """,
    )


# ---------------------------------------------------------------------- the guard


def test_neighbours_share_a_guard_with_what_stands_between_them() -> None:
    turns(
        """
        x = 1
        # about x
        print(x)  # one

        # two
        model.summary()
        plt.plot(x)
        plt.savefig("x.png")
        plt.close()
        """,
        """
        x = 1
        # about x
        if hvd.rank() == 0:
            print(x)  # one

            # two
            model.summary()
            plt.plot(x)
            plt.savefig("x.png")
        plt.close()
        """,
    )


def test_strings_over_lines_keep_their_content() -> None:
    turns(
        '''
        def f():
            print("""a
          b
        """, f"""
            {x}
        """, 'c'
                 'd',
        # e
          3)
        ''',
        '''
        def f():
            if hvd.rank() == 0:
                print("""a
          b
        """, f"""
            {x}
        """, 'c'
                     'd',
        # e
              3)
        ''',
    )


def test_line_ends_tabs_and_steps_of_the_block_itself() -> None:
    source = (
        "import tensorflow as tf\r\nm = tf.keras.Sequential()\r\nm.fit(1)\r\n"
        "def f():\r\n\tx = 1\r\n\tprint(1,\r\n\t      2)\r\nclass A:\r\n  def g():\r\n    print(3)\r\n"
    )
    assert apply(source, *RULES).text == source.replace(
        "\tprint(1,\r\n\t      2)", "\tif hvd.rank() == 0:\r\n\t\tprint(1,\r\n\t\t      2)"
    ).replace("    print(3)", "    if hvd.rank() == 0:\r\n      print(3)")


@pytest.mark.parametrize(
    ("test", "extended"),
    [
        ("step % 5 == 0", "step % 5 == 0 and hvd.rank() == 0"),
        ("a and b", "a and b and hvd.rank() == 0"),
        ("not a", "not a and hvd.rank() == 0"),
        ("a or b", "(a or b) and hvd.rank() == 0"),
        ("(a or b)", "(a or b) and hvd.rank() == 0"),
        ("(a) or (b)", "((a) or (b)) and hvd.rank() == 0"),
        ("a if b else c", "(a if b else c) and hvd.rank() == 0"),
        ("lambda: a", "(lambda: a) and hvd.rank() == 0"),
        ("(a\n   or b  # why\n   )", "(a\n   or b  # why\n   ) and hvd.rank() == 0"),
    ],
)
def test_the_test_of_an_if_is_extended(test: str, extended: str) -> None:
    turns(f"if {test}:  # log\n    print(1)\n", f"if {extended}:  # log\n    print(1)\n")
    turns(f"if {test}: print(1)\n", f"if {extended}: print(1)\n")


def test_an_if_with_else_is_guarded_whole_and_one_that_does_more_inside() -> None:
    turns(
        """
        if a:
            print(1)
        else:
            print(2)
        while a:
            if b:
                print(1)
            elif c:
                print(2)
            elif d:
                a = look(a)
            else:
                print(3)
        """,
        """
        if hvd.rank() == 0:
            if a:
                print(1)
            else:
                print(2)
        while a:
            if b:
                if hvd.rank() == 0:
                    print(1)
            elif c:
                if hvd.rank() == 0:
                    print(2)
            elif d:
                a = look(a)
            else:
                if hvd.rank() == 0:
                    print(3)
        """,
    )


def test_a_long_if_among_others_takes_the_rank_into_its_test_and_a_short_one_shares_their_guard() -> None:
    shown = "    with open('log', 'a') as log:\n        log.write('a')\n        log.write('b')\n"
    turns(
        f"np.save('x', 1)\nif step % 5 == 0:\n{shown}print(2)\n",
        "if hvd.rank() == 0:\n    np.save('x', 1)\n"
        f"if step % 5 == 0 and hvd.rank() == 0:\n{shown}if hvd.rank() == 0:\n    print(2)\n",
    )
    turns(
        "np.save('x', 1)\nif step % 5 == 0:\n    print(1)\nprint(2)\n",
        "if hvd.rank() == 0:\n    np.save('x', 1)\n    if step % 5 == 0:\n        print(1)\n    print(2)\n",
    )


def test_an_elif_that_only_prints() -> None:
    turns(
        "if a:\n    c = look(a)\nelif b: print(1)\nlook(c)\n",
        "if a:\n    c = look(a)\nelif b and hvd.rank() == 0: print(1)\nlook(c)\n",
    )


def test_compound_statements_go_whole_when_what_they_bind_stays_in_them() -> None:
    turns(
        """
        for layer in model.layers:
            name = layer.name
            print(name)
        for i in range(3):
            print(i)
        last = i
        for batch in dataset:
            print(batch)
        try:
            np.save("out", 1)
        except OSError:
            pass
        """,
        """
        if hvd.rank() == 0:
            for layer in model.layers:
                name = layer.name
                print(name)
        for i in range(3):
            if hvd.rank() == 0:
                print(i)
        last = i
        for batch in dataset:
            if hvd.rank() == 0:
                print(batch)
        if hvd.rank() == 0:
            try:
                np.save("out", 1)
            except OSError:
                pass
        """,
    )


@pytest.mark.parametrize("targets", ["low, high", "(low, high)", "[low, high]", "low, (high, _)"])
def test_an_if_goes_whole_with_several_names_that_are_bound_for_it(targets: str) -> None:
    turns(
        f"if step % 5 == 0:\n    {targets} = span(x)\n    print(low, high)\n",
        f"if step % 5 == 0 and hvd.rank() == 0:\n    {targets} = span(x)\n    print(low, high)\n",
    )


@pytest.mark.parametrize(
    "bound",
    [
        "low, high = span(x)",  # `high` is read later
        "low, *high = span(x)",
        "low, model.best = span(x)",
        "low, best[0] = span(x)",
        "low, high = next(iterator)",
    ],
)
def test_what_all_ranks_need_of_several_names_is_bound_on_all(bound: str) -> None:
    inside = f"if step % 5 == 0:\n    {bound}\n"
    later = "look(high)\n" if "high = span(x)" in bound and "*" not in bound else ""
    turns(
        inside + "    print(low)\n" + later, inside + "    if hvd.rank() == 0:\n        print(low)\n" + later
    )


def test_functions_classes_and_callbacks_are_guarded_inside() -> None:
    turns(
        """
        class Watch(tf.keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                print(epoch)
                if logs["loss"] < 1:
                    self.model.stop_training = True

        def report(x):
            \"\"\"Prints.\"\"\"
            print(x)
            return x

        if __name__ == "__main__":
            report(3)
            print("done")
        """,
        """
        class Watch(tf.keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                if hvd.rank() == 0:
                    print(epoch)
                if logs["loss"] < 1:
                    self.model.stop_training = True

        def report(x):
            \"\"\"Prints.\"\"\"
            if hvd.rank() == 0:
                print(x)
            return x

        if __name__ == "__main__":
            report(3)
            if hvd.rank() == 0:
                print("done")
        """,
    )


@pytest.mark.parametrize(
    "statement",
    [
        "pprint.pprint(x)",
        "tf.print(x)",
        "sys.stdout.write('x')",
        "model.save('m.h5')",
        "model.save_weights('m.h5')",
        "tf.keras.models.save_model(model, 'm')",
        "model.backbone.save_lora_weights('m.lora.h5')",
        "model.save_to_preset('m')",
        "archive.write_out('m')",
        "tokenizer.push_to_hub('m')",
        "tf.saved_model.save(model, 'm')",
        "tf.keras.utils.plot_model(model)",
        "ckpt.write('c')",
        "manager.save()",
        "np.savetxt('a', x)",
        "pickle.dump(x, f)",
        "shutil.rmtree('d')",
        "os.rename('d', 'e')",
        "tf.io.gfile.remove('d')",
        "frame.to_csv('f')",
        "cv2.imwrite('i', x)",
        "plt.show()",
        "open('f', 'w').close()",
        "tf.summary.trace_export('t', 0)",
    ],
)
def test_what_output_is(statement: str) -> None:
    head = "import cv2, pickle, pprint, shutil, sys\nckpt = tf.train.Checkpoint()\n"
    turns(f"{head}{statement}\n", f"{head}if hvd.rank() == 0:\n    {statement}\n")


def test_a_write_on_a_shared_line_becomes_a_conditional_expression() -> None:
    turns(
        "for p in paths(): model.save(p); q = p\nd or os.mkdir(d)\nkeep = lambda p: model.save(p)\n",
        "for p in paths(): model.save(p) if hvd.rank() == 0 else None; q = p\n"
        "d or (os.mkdir(d) if hvd.rank() == 0 else None)\n"
        "keep = lambda p: model.save(p) if hvd.rank() == 0 else None\n",
    )


# ---------------------------------------------------------------------- all rules together


def test_distributing_twice_changes_nothing() -> None:
    source = (
        HEAD.replace("(n):\n    return", "(n):\n    print(n)\n    return")
        + "for i in range(3):\n    print(epoch(i))\n"
    )
    plan = distribute(summarize(Document(source)))
    assert isinstance(plan, Plan)
    assert plan.text.count("if hvd.rank() == 0:") == 2
    assert isinstance(distribute(summarize(Document(plan.text))), Unchanged)


# ---------------------------------------------------------------------- what is typed in


def test_a_function_called_input_and_a_place_that_ranks_may_not_come_to() -> None:
    stays("def input(x):\n    return x\nname = input('a')\n")
    stays("while np.random.rand() > 0.5:\n    name = input('a')\n")


def test_only_rank_0_waits_for_somebody() -> None:
    turns(
        """
        input("Press Enter")
        for i in range(3):
            epoch(i)
            plt.pause(0.1)
            plt.gcf().waitforbuttonpress()
        name = input("name: ")
        if input("again? ") == "y":
            epoch(1)
        """,
        """
        if hvd.rank() == 0:
            input("Press Enter")
        for i in range(3):
            epoch(i)
            if hvd.rank() == 0:
                plt.pause(0.1)
                plt.gcf().waitforbuttonpress()
        name = hvd.broadcast_object(input("name: ") if hvd.rank() == 0 else None)
        if hvd.broadcast_object(input("again? ") if hvd.rank() == 0 else None) == "y":
            epoch(1)
        """,
    )


def test_a_number_of_epochs_that_is_typed_in_is_sent_once() -> None:
    head = "import numpy as np\nimport tensorflow as tf\nmodel = tf.keras.Sequential([])\nmodel.compile('sgd', 'mse')\n"
    source = head + "model.fit(np.ones((8, 2)), np.ones((8, 1)), epochs=int(input('epochs: ')))\n"
    plan = distribute(summarize(Document(source)))
    assert isinstance(plan, Plan)
    assert "epochs=int(hvd.broadcast_object(input('epochs: ') if hvd.rank() == 0 else None))" in plan.text


def test_what_shares_its_line_and_must_run_everywhere_is_not_left_to_all_ranks_in_silence() -> None:
    loop = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
i = 0
for turn in range(9):
    model.fit(np.ones((8, 2)), np.ones(8))
    np.save("out/%s.npy" % i, model.predict(np.random.rand(4, 2))); i += 1
"""
    outcome = distribute(summarize(Document(loop, "train.py")))
    assert isinstance(outcome, Plan)
    assert "    if hvd.rank() == 0:\n        np.save(" in outcome.text
    assert outcome.text.index("= np.random.rand(4, 2)\n") < outcome.text.index("np.save(")
    assert outcome.text.endswith("\n    i += 1\n")


def test_what_is_drawn_for_a_file_on_the_line_of_its_loop_gets_a_line_of_its_own() -> None:
    loop = "for i in range(4): np.save(f'{i}.npy', np.random.rand(9))\n"
    text = plan_of("import numpy as np\n" + TF + loop + "model.compile('sgd', 'mse')\nmodel.fit(x, y)\n").text
    assert (
        "    result = np.random.rand(9)\n    if hvd.rank() == 0:\n        np.save(f'{i}.npy', result)\n"
        in text
    )


MADE = """\
if not os.path.exists("x.dat"):
    r = np.random.RandomState(7)
    xs = {}
    xs[:] = {}
    xs.flush()
"""
MAPPED = 'np.memmap("x.dat", dtype="f4", mode="w+", shape=(9, 3))'
READ = 'x = np.memmap("x.dat", dtype="f4", {}shape=(9, 3))\nmodel.fit(x)\n'


@pytest.mark.parametrize(
    "made", [MAPPED, 'np.lib.format.open_memmap("x.dat", mode="w+", dtype="f4", shape=(9, 3))']
)
def test_a_file_that_is_filled_as_an_array_is_made_by_rank_0(made: str) -> None:
    before = MADE.format(made, "r.randn(9, 3)")
    wait = 'hvd.broadcast(0, root_rank=0, name="saved")  # wait until rank 0 has written it\n'
    for mode in ('mode="r", ', ""):
        after = before.replace('"x.dat"):', '"x.dat") and hvd.rank() == 0:')
        check((root_rank.RULE,), before + READ.format(mode), after + wait + READ.format(mode))


def test_an_array_that_is_there_is_mapped_by_all() -> None:
    unchanged((root_rank.RULE,), READ.format(""))
    unchanged((root_rank.RULE,), READ.format('mode="r+", '))


@pytest.mark.parametrize(
    "source",
    [
        MADE.format(MAPPED, "np.random.rand(9, 3)"),  # all ranks draw from there on
        MADE.format(MAPPED, "r.randn(9, 3)") + "model.fit(xs)\n",
        "kept = {}\n" + MADE.format(MAPPED, "r.randn(9, 3)") + "    kept['x'] = xs\nmodel.fit(kept['x'])\n",
    ],
)
def test_where_more_happens_it_is_refused(source: str) -> None:
    refused = apply(HEAD + source, root_rank.RULE)
    assert any("every rank would write this file" in reason for reason in refused.reasons)


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ("manager.save()", "hvd.rank() == 0 and manager.save()"),
        ("good or manager.save()", "hvd.rank() == 0 and (good or manager.save())"),
        ("good and manager.save()", "hvd.rank() == 0 and good and manager.save()"),
        ("manager.restore_or_initialize()", "manager.restore_or_initialize() and hvd.rank() == 0"),  # by all
    ],
)
def test_what_is_written_in_a_test_is_written_by_rank_0(test: str, told: str) -> None:
    source = f"{TAPE}manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), 'ck', 3)\n"
    text = plan_of(
        f"{source}for x, y in data:\n    step(x, y)\n    if {test}:\n        print('saved')\n"
    ).text
    assert f"    if {told}:\n        print('saved')\n" in text
