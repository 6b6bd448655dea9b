// A person opens a script, sees what it is, mends what stands in the way, reads the preview, distributes, and trains.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { story } from "../support/session";
import { placeOf } from "../support/text";
import { trainsAlike } from "../support/training";

const KINDS = [
  { kind: "Keras", program: "keras_points.py", finding: "model.evaluate(x, y)", loop: "model.fit", optimizer: "Adam" },
  { kind: "GradientTape", program: "tape_curve.py", finding: "train_step(inputs, targets)", loop: "for step", optimizer: "Adam" },
  { kind: "Session", program: "session_line.py", finding: "sess.run([loss, train_op]", loop: "for start", optimizer: "GradientDescentOptimizer" },
];

for (const { kind, program, finding, loop, optimizer } of KINDS) {
  describe(`A ${kind} script`, () => {
    const opened = story({ "train.py": program });
    let mended: string;

    it("shows its loop and what stands in the way", async () => {
      const { workbench } = opened();
      await workbench.openFile("train.py");
      await workbench.squiggle("info").first().waitFor();
      await workbench.squiggle("hint").first().waitFor();
      await workbench.lens(`${kind} training loop: runs in one process, 1 finding`).waitFor();
      await workbench.status(`${kind} training loop: runs in one process; can be distributed`).waitFor();
    });

    it("has an entry in the Problems panel, with a link that opens a page", async () => {
      const { workbench } = opened();
      const entry = (await workbench.problems()).filter({ hasText: "printing becomes rank 0's alone" });
      await entry.locator("a", { hasText: "HVD104" }).click();
      await workbench.rendered("printed-effect").waitFor();
      await workbench.run("View: Close Editor");
      await workbench.tab("train.py").waitFor();
      await workbench.page.keyboard.press("Control+Shift+M");
    });

    it("is in the view of training loops, with its optimizer and the finding", async () => {
      const { workbench } = opened();
      await (await workbench.loops("train.py, runs in one process; can be distributed")).waitFor();
      await (await workbench.loops("Finding HVD104")).waitFor();
      await (await workbench.loops(`${kind} training loop`)).locator(".monaco-tl-twistie").click();
      await (await workbench.loops("optimizer")).filter({ hasText: optimizer }).waitFor();
    });

    it("says on hovering what the loop is, and what distributing would do", async () => {
      const { workbench, file } = opened();
      await workbench.focusEditor();
      await workbench.goTo(...placeOf(readFileSync(file("train.py"), "utf8"), loop));
      await workbench.hover(new RegExp(`${kind}.* training loop`));
      await workbench.hover("Distributing with Horovod would do here");
      await workbench.page.keyboard.press("Escape");
    });

    it("is mended by the quick fix from Ctrl+.", async () => {
      const { workbench, file } = opened();
      await workbench.goTo(...placeOf(readFileSync(file("train.py"), "utf8"), finding));
      const fix = (await workbench.actions()).find((title) => title.startsWith("Evaluate `"));
      assert.ok(fix);
      await workbench.choose(fix);
      await workbench.squiggle("info").first().waitFor({ state: "detached" });
      await (await workbench.loops("Finding HVD104")).waitFor({ state: "detached" });
      await workbench.save();
      mended = readFileSync(file("train.py"), "utf8");
      assert.doesNotMatch(mended, /horovod/);
    });

    it("previews beside the reasons; discarding changes nothing", async () => {
      const { workbench, file } = opened();
      await workbench.run("Horovodize: Preview Distribution with Horovod");
      await workbench.diff.locator(".view-line", { hasText: "hvd.init()" }).waitFor();
      await workbench.rendered("What distributing changes in train.py").waitFor();
      await workbench.rendered("import and initialise Horovod").waitFor();
      await workbench.renderedLink("line 4").first().click(); // of a reason: to the line
      await workbench.tab("train.py").waitFor();
      await workbench.page.locator("#status\\.editor\\.selection", { hasText: "Ln 4, Col 1" }).waitFor();
      await workbench.answer(workbench.notification("Distribute train.py with Horovod"), "Discard");
      await workbench.tab("train.py").waitFor();
      await workbench.diff.waitFor({ state: "detached" });
      assert.equal(await workbench.dirtyTab.count(), 0);
      assert.equal(readFileSync(file("train.py"), "utf8"), mended);
    });

    it("shows again what was closed before it is applied; the choice goes with the preview", async () => {
      const { workbench } = opened();
      await workbench.run("Horovodize: Preview Distribution with Horovod");
      const choice = workbench.page.locator('.statusbar-item[aria-label^="Apply: Make the changes"]');
      await choice.waitFor();
      await workbench.notification("Distribute train.py with Horovod").waitFor(); // comes last
      await workbench.run("View: Close All Editors");
      await choice.waitFor({ state: "detached" });
      await workbench.answer(workbench.notification("Distribute train.py with Horovod"), "Apply");
      await workbench.diff.locator(".view-line", { hasText: "hvd.init()" }).waitFor();
      assert.equal(await workbench.dirtyTab.count(), 0);
      await choice.waitFor();
      await workbench.page.locator('.statusbar-item[aria-label^="Discard: Close the preview"] a').click();
      await workbench.diff.waitFor({ state: "detached" });
      await workbench.tab("train.py").waitFor();
    });

    it("is distributed from the preview; one undo takes that back", async () => {
      const { workbench, file } = opened();
      await workbench.run("Horovodize: Preview Distribution with Horovod");
      await workbench.answer(workbench.notification("Distribute train.py with Horovod"), "Apply");
      await workbench.tab("train.py").waitFor();
      await workbench.dirtyTab.waitFor();
      await workbench.status(`${kind} training loop: distributed with Horovod`).waitFor();
      await workbench.focusEditor();
      await workbench.undo();
      await workbench.dirtyTab.waitFor({ state: "detached" });
      await workbench.status("can be distributed").waitFor();
      assert.equal(readFileSync(file("train.py"), "utf8"), mended);
    });

    it("is distributed from Ctrl+., and saved", async () => {
      const { workbench, file } = opened();
      await workbench.goTo(...placeOf(mended, loop));
      const offered = (await workbench.actions()).filter((title) => title.includes("Distribut"));
      assert.deepEqual(offered, ["Distribute with Horovod", "Preview Distribution with Horovod"]);
      await workbench.choose("Distribute with Horovod");
      await workbench.squiggle("hint").first().waitFor({ state: "detached" });
      await (await workbench.loops("train.py, distributed with Horovod")).waitFor();
      await workbench.save();
      assert.match(readFileSync(file("train.py"), "utf8"), /hvd\.init\(\)/);
    });

    it("trains on two ranks as it was saved", async () => {
      await trainsAlike(opened().file("train.py"));
    });
  });
}
