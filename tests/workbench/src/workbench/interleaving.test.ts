// Where ranks may wait for each other forever: who comes to a collective is said on hovering, and the way to the stall is walked
// from the finding, step by step.

import { story } from "../support/session";

const TEXT = `import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
rows = tf.range(8.0)[hvd.rank() :: hvd.size()]
for step in range(9):
    if float(tf.reduce_sum(rows)) > 12.5:
        break
    hvd.allreduce(rows)
`;
// What each rank does, in the order of the finding, and the line where it does it.
const WAY: readonly (readonly [string, number])[] = [
  ["rank 1: `float(tf.reduce_sum(rows)) > 12.5` is true", 10],
  ["rank 1: leaves the loop", 11],
  ["rank 0: `float(tf.reduce_sum(rows)) > 12.5` is false", 10],
  ["rank 0: waits here for the others", 12],
];

describe("A script in which a rank may wait forever", () => {
  const opened = story({ "train.py": { text: TEXT } });

  it("says on hovering over a collective what is exchanged, and which ranks come", async () => {
    const { workbench } = opened();
    await workbench.openFile("train.py");
    await workbench.squiggle("warning").first().waitFor();
    await workbench.goTo(12, 10);
    await workbench.hover(/Collective .*allreduce/);
    await workbench.hover("and each waits until all of them are in it");
    await workbench.hover("HVD331: a rank may wait here forever");
    await workbench.page.keyboard.press("Escape");
  });

  it("leads from the finding through the steps of the ranks", async () => {
    const { workbench } = opened();
    const rows = await workbench.problems();
    await rows.filter({ hasText: "a rank may wait here forever" }).click();
    await workbench.page.keyboard.press("ArrowRight"); // shows the steps under it
    for (const [step, line] of WAY) {
      await rows.filter({ hasText: step }).click();
      await workbench.page.locator("#status\\.editor\\.selection", { hasText: `Ln ${String(line)},` }).waitFor();
    }
  });
});
