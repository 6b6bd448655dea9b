// A file that is refused says why, and where.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { story } from "../support/session";
import { placeOf } from "../support/text";

describe("A script that is refused", () => {
  const opened = story({ "train.py": "mirrored.py" });

  it("is underlined as a warning, and shown as blocked", async () => {
    const { workbench } = opened();
    await workbench.openFile("train.py");
    await workbench.squiggle("warning").first().waitFor();
    await (await workbench.problems()).filter({ hasText: "distributed already by `tf.distribute.MirroredStrategy`" }).waitFor();
    await workbench.page.keyboard.press("Control+Shift+M");
    await workbench.status("can't be distributed").waitFor();
    await (await workbench.loops("train.py, can't be distributed")).waitFor();
    assert.equal(await workbench.lens("Distribute with Horovod").count(), 0);
  });

  it("is left as it is when asked to, with the reason and the way to the place", async () => {
    const { workbench, file } = opened();
    const original = readFileSync(file("train.py"), "utf8");
    await workbench.focusEditor();
    await workbench.run("Horovodize: Distribute with Horovod");
    const told = workbench.notification(/It can't be distributed: .*MirroredStrategy.*\(HVD202\)/);
    await workbench.answer(told, "Go to Place");
    const [line] = placeOf(original, "tf.distribute.MirroredStrategy");
    await workbench.page.locator("#status\\.editor\\.selection", { hasText: `Ln ${String(line)},` }).waitFor();
    assert.equal(await workbench.dirtyTab.count(), 0);
    assert.equal(readFileSync(file("train.py"), "utf8"), original);
  });

  it("is explained", async () => {
    const { workbench } = opened();
    await workbench.run("Horovodize: Preview Distribution with Horovod");
    await workbench.answer(workbench.notification(/It can't be distributed: .*\(HVD202\)/), "Explain HVD202");
    await workbench.rendered("unsupported-loop").waitFor();
  });
});
