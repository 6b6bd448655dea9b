"""C6: what is printed, shown and written comes from rank 0, and hides nothing that every rank must do."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Plan, Unchanged
from horovodize.rules import root_rank
from horovodize.source import Document
from horovodize.summary import summarize

from .guarding import HEAD, Guarded, apply, check, unchanged

RULES = (root_rank.RULE,)
WAIT = '# Wait until rank 0 has written it.\nhvd.broadcast(0, root_rank=0, name="saved")'


def turns(before: str, after: str) -> Guarded:
    return check(RULES, before, after)


def stays(before: str) -> Guarded:
    return unchanged(RULES, before)


# ---------------------------------------------------------------------- left alone


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
    for line in ("print(model.steps, epoch(3))", "print(lambda: epoch(3))", "print(y := epoch(3))"):
        assert len(stays(line + "\n").notes) == 1


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
            os.makedirs("out")
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
                os.makedirs("out")
            except OSError:
                pass
        """,
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
        "tf.saved_model.save(model, 'm')",
        "tf.keras.utils.plot_model(model)",
        "ckpt.write('c')",
        "manager.save()",
        "np.savetxt('a', x)",
        "pickle.dump(x, f)",
        "os.makedirs('d', exist_ok=True)",
        "shutil.rmtree('d')",
        "tf.io.gfile.makedirs('d')",
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


# ---------------------------------------------------------------------- what every rank must still do


def test_training_and_evaluation_are_taken_out() -> None:
    turns(
        """
        print("a")
        print(epoch(1), "and", epoch(2))
        print("b")
        print(model.evaluate(x, y)[0])
        np.save("a.npy", np.array(epoch(3)))
        """,
        """
        if hvd.rank() == 0:
            print("a")
        result = epoch(1)
        result_2 = epoch(2)
        if hvd.rank() == 0:
            print(result, "and", result_2)
            print("b")
        evaluation = model.evaluate(x, y)
        if hvd.rank() == 0:
            print(evaluation[0])
        result = epoch(3)
        if hvd.rank() == 0:
            np.save("a.npy", np.array(result))
        """,
    )


def test_parts_of_f_strings_or_all_of_them() -> None:
    turns(
        """
        result = 0
        print(f"{epoch(1)=}")
        print([epoch(i) for i in range(3)], a or epoch(1))
        """,
        """
        result = 0
        message = f"{epoch(1)=}"
        if hvd.rank() == 0:
            print(message)
        result_2 = [epoch(i) for i in range(3)]
        result_3 = a or epoch(1)
        if hvd.rank() == 0:
            print(result_2, result_3)
        """,
    )
    text = apply(HEAD + 'print(f"loss {epoch(1):.2f}")\n', *RULES).text
    assert text.endswith(
        (
            'result = epoch(1)\nif hvd.rank() == 0:\n    print(f"loss {result:.2f}")\n',
            'message = f"loss {epoch(1):.2f}"\nif hvd.rank() == 0:\n    print(message)\n',
        )
    )


def test_what_moves_a_state_on_is_taken_out() -> None:
    turns(
        """
        print(next(batches))
        print(queue.pop())
        print(np.random.rand())
        print(model(x, training=True))
        """,
        """
        item = next(batches)
        if hvd.rank() == 0:
            print(item)
        result = queue.pop()
        if hvd.rank() == 0:
            print(result)
        result = np.random.rand()
        if hvd.rank() == 0:
            print(result)
        result = model(x, training=True)
        if hvd.rank() == 0:
            print(result)
        """,
    )


def test_models_are_made_by_every_rank() -> None:
    """Keras numbers layers; with other numbers on rank 0, Horovod can't match the ranks' gradients and stalls."""
    turns(
        """
        from nets import Generator
        def build():
            return tf.keras.Sequential([tf.keras.layers.Dense(3)])
        build().summary()
        tf.keras.Model(a, b).summary()
        Generator().summary()
        """,
        """
        from nets import Generator
        def build():
            return tf.keras.Sequential([tf.keras.layers.Dense(3)])
        result = build()
        if hvd.rank() == 0:
            result.summary()
        model_2 = tf.keras.Model(a, b)
        if hvd.rank() == 0:
            model_2.summary()
        result = Generator()
        if hvd.rank() == 0:
            result.summary()
        """,
    )


def test_traced_code_gets_the_same_operations_on_every_rank() -> None:
    """An operation that only rank 0 adds to a graph renames others there: the same stall."""
    turns(
        """
        @tf.function
        def step(x):
            loss = tf.reduce_mean(x)
            tf.print("loss", loss, output_stream=sys.stdout)
            tf.print(tf.square(x), x[0], f"{loss}")
            if loss > 1:
                tf.print(helper(loss))
            return loss

        def helper(x):
            print(x.shape)
            if verbose:
                print(x + 1)
            return x
        """,
        """
        @tf.function
        def step(x):
            loss = tf.reduce_mean(x)
            if hvd.rank() == 0:
                tf.print("loss", loss, output_stream=sys.stdout)
            result = tf.square(x)
            result_2 = x[0]
            if hvd.rank() == 0:
                tf.print(result, result_2, f"{loss}")
            if loss > 1:
                result = helper(loss)
                if hvd.rank() == 0:
                    tf.print(result)
            return loss

        def helper(x):
            if hvd.rank() == 0:
                print(x.shape)
            if verbose:
                result = x + 1
                if hvd.rank() == 0:
                    print(result)
            return x
        """,
    )


def test_a_write_that_can_not_be_separated_is_refused() -> None:
    result = apply(HEAD + "np.save(model.path, epoch(1))\n", *RULES)
    assert len(result.reasons) == 1
    assert "give what it trains a name" in result.reasons[0]


# ---------------------------------------------------------------------- values


def test_summary_writers_do_nothing_elsewhere() -> None:
    turns(
        """
        w = tf.summary.create_file_writer("logs")
        with tf.summary.create_file_writer("logs").as_default():
            tf.summary.scalar("a", 1)
        """,
        """
        w = tf.summary.create_file_writer("logs") if hvd.rank() == 0 else tf.summary.create_noop_writer()
        with (tf.summary.create_file_writer("logs") if hvd.rank() == 0 else tf.summary.create_noop_writer()).as_default():
            tf.summary.scalar("a", 1)
        """,
    )


def test_files_that_stay_open_go_to_the_null_device() -> None:
    turns(
        """
        log = open(path, "a")
        log.write("x")
        with open("log", mode="w") as f:
            model.fit(x)
            f.write("x")
        with open("out", "w") as f:
            for row in range(3):
                f.write(str(row))
        """,
        """
        log = open(path if hvd.rank() == 0 else os.devnull, "a")
        log.write("x")
        with open("log" if hvd.rank() == 0 else os.devnull, mode="w") as f:
            model.fit(x)
            f.write("x")
        if hvd.rank() == 0:
            with open("out", "w") as f:
                for row in range(3):
                    f.write(str(row))
        """,
    )


def test_a_file_that_can_not_be_redirected_is_refused() -> None:
    result = apply(HEAD + "import h5py\nf = h5py.File('a', 'w')\nf['x'] = 1\n", *RULES)
    assert len(result.reasons) == 1
    assert "h5py.File" in result.reasons[0]


def test_wandb_and_logging() -> None:
    turns(
        "import logging, wandb\nwandb.init(project='p')\nwandb.log({})\nlogging.basicConfig(filename='l')\n",
        "import logging, wandb\nwandb.init(project='p', mode=None if hvd.rank() == 0 else \"disabled\")\nwandb.log({})\n"
        "logging.basicConfig(filename='l' if hvd.rank() == 0 else os.devnull)\n",
    )


def test_the_path_of_a_checkpoint() -> None:
    head = "ckpt = tf.train.Checkpoint(model=model)\n"
    turns(
        f"{head}path = ckpt.save('c')\nprint(path)\n",
        f"{head}path = ckpt.save('c') if hvd.rank() == 0 else None\nif hvd.rank() == 0:\n    print(path)\n",
    )
    turns(
        f"{head}path = ckpt.save('c')\nckpt.restore(path)\n",
        f"{head}path = hvd.broadcast_object(ckpt.save('c') if hvd.rank() == 0 else None)\nckpt.restore(path)\n",
    )
    turns(
        f"{head}def keep():\n    return ckpt.save('c')\nckpt.restore(keep())\n",
        f"{head}def keep():\n    return hvd.broadcast_object(ckpt.save('c') if hvd.rank() == 0 else None)\n"
        "ckpt.restore(keep())\n",
    )


def test_a_path_kept_under_a_condition_of_the_ranks_own_is_told_where_it_is_used() -> None:
    turns(
        """
        ckpt = tf.train.Checkpoint(model=model)
        best = 9.0
        for i in range(3):
            valid = float(model(x))
            if valid < best:
                best = valid
                path = ckpt.save("c")
        ckpt.restore(path)
        """,
        """
        ckpt = tf.train.Checkpoint(model=model)
        best = 9.0
        for i in range(3):
            valid = float(model(x))
            if valid < best:
                best = valid
                path = ckpt.save("c") if hvd.rank() == 0 else None
        ckpt.restore(hvd.broadcast_object(path))
        """,
    )


# ---------------------------------------------------------------------- reading back


def test_the_ranks_wait_before_they_read_what_rank_0_wrote() -> None:
    turns(
        """
        model.load_weights("m.h5")
        model.save_weights("m.h5")
        if os.path.exists("m.h5"):
            model.load_weights("m.h5")
        """,
        f"""
        model.load_weights("m.h5")
        if hvd.rank() == 0:
            model.save_weights("m.h5")
        {WAIT.replace(chr(10), chr(10) + " " * 8)}
        if os.path.exists("m.h5"):
            model.load_weights("m.h5")
        """,
    )


def test_a_checkpoint_callback_writes_while_fit_runs() -> None:
    turns(
        """
        model.fit(x, callbacks=[tf.keras.callbacks.ModelCheckpoint("best-{epoch}.h5")])
        def test():
            return tf.keras.models.load_model("best-3.h5")
        test()
        """,
        f"""
        model.fit(x, callbacks=[tf.keras.callbacks.ModelCheckpoint("best-{{epoch}}.h5")])
        def test():
            return tf.keras.models.load_model("best-3.h5")
        {WAIT.replace(chr(10), chr(10) + " " * 8)}
        test()
        """,
    )


def test_a_manager_tells_the_others_what_it_has_saved() -> None:
    head = "ckpt = tf.train.Checkpoint()\nmanager = tf.train.CheckpointManager(ckpt, 'c', 3)\n"
    first = f"{head}ckpt.restore(manager.latest_checkpoint)\nfor i in range(3):\n    epoch(i)\n    "
    turns(
        f"{first}manager.save()\nckpt.restore(manager.latest_checkpoint)\n",
        f"{first}if hvd.rank() == 0:\n        manager.save()\n"
        "ckpt.restore(hvd.broadcast_object(manager.latest_checkpoint))\n",
    )


@pytest.mark.parametrize(
    "program",
    [
        "model.load_weights('pretrained.h5')\nmodel.save_weights('m.h5')\n",
        "if train:\n    model.save_weights('m.h5')\nelse:\n    model.load_weights('m.h5')\n",
        "model.save_weights('m.h5')\nmodel.load_weights('pretrained.h5')\n",
        "np.save('a.npy', x)\ny = np.load('b.npy')\n",
        "model.save('m.h5')\nprint(tf.keras.models.load_model('m.h5').name)\n",
    ],
)
def test_no_wait_for_other_files_or_none_written_before(program: str) -> None:
    assert "broadcast" not in apply(HEAD + program, *RULES).text


def test_no_wait_where_not_every_rank_comes() -> None:
    result = apply(
        HEAD + "def back():\n    if float(model(x)) < 1:\n        model.save_weights('m.h5')\n"
        "        model.load_weights('m.h5')\nback()\n",
        *RULES,
    )
    assert "broadcast" not in result.text
    assert len(result.notes) == 1


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
