"""C6: what every rank must run is taken out of what rank 0 prints or writes alone."""

from __future__ import annotations

import pytest

from horovodize.rules.output import root_rank

from ..guarding import HEAD, Guarded, apply, check

RULES = (root_rank.RULE,)


def turns(before: str, after: str) -> Guarded:
    return check(RULES, before, after)


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
    result = apply(HEAD + "np.save(open(model.path, 'wb'), epoch(1))\n", *RULES)
    assert len(result.reasons) == 1
    assert "give what it trains a name" in result.reasons[0]


def test_a_path_that_is_put_together_before_it_stays() -> None:
    turns(
        """
        import os
        np.save(os.path.join(args.out, "{}.npy".format(n), str(n)), np.array(epoch(3)))
        """,
        """
        import os
        result = epoch(3)
        if hvd.rank() == 0:
            np.save(os.path.join(args.out, "{}.npy".format(n), str(n)), np.array(result))
        """,
    )


@pytest.mark.parametrize(
    "path", ["os.path.join(run.out, 'a')", "names[0]", "str(run.step)", "'{}'.format(names[0])"]
)
def test_a_path_that_a_step_may_change_is_taken_out_before_it(path: str) -> None:
    """Near misses: what is set in another place than a constructor, or read of what moves on."""
    code = f"""
import os
class Run:
    def __init__(self): self.out = "a"
    def move(self): self.out = "b"
run = Run()
np.save({path}, np.array(epoch(3)))
"""
    result = apply(HEAD + code, *RULES)
    assert not result.reasons
    taken_out = f"result = {path}\nresult_2 = epoch(3)\nif hvd.rank() == 0:\n    np.save(result, np.array(result_2))\n"
    assert result.text.endswith(taken_out)
