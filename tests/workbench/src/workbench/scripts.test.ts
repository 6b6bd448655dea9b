// A person opens a script, sees what it is, mends what stands in the way, reads the preview, distributes, and trains.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { story } from "../support/session";
import { trainsAlike } from "../support/training";

const KINDS = [
  { kind: "Keras", program: "keras_points.py", finding: "model.evaluate(x, y)", loop: "model.fit" },
  { kind: "GradientTape", program: "tape_curve.py", finding: "train_step(inputs, targets)", loop: "for step" },
  { kind: "Session", program: "session_line.py", finding: "sess.run([loss, train_op]", loop: "for start" },
];

for (const { kind, program, finding, loop } of KINDS) {
  describe(`A ${kind} script`, () => {
    const opened = story({ "train.py": program });
    let original: string;

    it("shows its loop and what stands in the way", async () => {
      const { workbench, file } = opened();
      original = readFileSync(file("train.py"), "utf8");
      await workbench.openFile("train.py");
      await workbench.squiggle("info").first().waitFor();
      await workbench.squiggle("hint").first().waitFor();
      await workbench.lens(kind).first().waitFor();
    });

    it("has an entry in the Problems panel, with a link", async () => {
      const { workbench } = opened();
      const entry = (await workbench.problems()).filter({ hasText: "printing becomes rank 0's alone" });
      await entry.waitFor();
      const link = entry.locator("a", { hasText: "HVD104" });
      assert.match((await link.getAttribute("href")) ?? "", /HVD104/);
      await workbench.page.keyboard.press("Control+Shift+M");
    });

    it("says on hovering what the loop is, and what distributing would do", async () => {
      const { workbench } = opened();
      await workbench.focusEditor();
      await workbench.goTo(...at(original, loop));
      await workbench.hover(new RegExp(`${kind}.* training loop`));
      await workbench.hover("Distributing with Horovod would do here");
      await workbench.page.keyboard.press("Escape");
    });

    it("is mended by the quick fix from Ctrl+.", async () => {
      const { workbench } = opened();
      await workbench.focusEditor();
      await workbench.goTo(...at(original, finding));
      const titles = await workbench.actions();
      const fix = titles.find((title) => title.startsWith("Evaluate"));
      assert.ok(fix, titles.join("\n"));
      await workbench.choose(fix);
      await workbench.squiggle("info").first().waitFor({ state: "detached" });
    });

    it("is distributed from Ctrl+.; one undo takes that back", async () => {
      const { workbench, file } = opened();
      await workbench.save();
      const mended = readFileSync(file("train.py"), "utf8");
      await workbench.goTo(...at(mended, loop));
      await workbench.actions();
      await workbench.choose("Distribute with Horovod");
      await workbench.dirtyTab.waitFor();
      await workbench.squiggle("hint").first().waitFor({ state: "detached" });
      await workbench.undo();
      await workbench.dirtyTab.waitFor({ state: "detached" });
      await workbench.squiggle("hint").first().waitFor();
      assert.equal(readFileSync(file("train.py"), "utf8"), mended);
      await workbench.goTo(...at(mended, loop));
      await workbench.actions();
      await workbench.choose("Distribute with Horovod");
      await workbench.dirtyTab.waitFor();
      await workbench.save();
      assert.match(readFileSync(file("train.py"), "utf8"), /hvd\.init\(\)/);
    });

    it("trains on two ranks as it was saved", async () => {
      await trainsAlike(opened().file("train.py"));
    });
  });
}

/** Line and column of the last occurrence, from 1. */
function at(text: string, part: string): [number, number] {
  const offset = text.lastIndexOf(part);
  assert.notEqual(offset, -1, `no ${part} in the text`);
  const before = text.slice(0, offset).split("\n");
  return [before.length, (before.at(-1) ?? "").length + 1];
}
