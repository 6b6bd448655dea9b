// The editor's own preview of an edit, Control+Enter in the menu of actions: its panel shows what each change is for.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { story } from "../support/session";
import { placeOf } from "../support/text";

describe("VS Code's refactor preview", () => {
  const opened = story({ "train.py": "keras_points.py" });
  let original: string;

  /** Asks for the preview of distributing. */
  async function preview(): Promise<void> {
    const { workbench } = opened();
    await workbench.focusEditor();
    await workbench.goTo(...placeOf(original, "model.fit"));
    await workbench.actions();
    await workbench.choose("Distribute with Horovod", "Control+Enter");
    await workbench.refactorPreview.waitFor();
  }

  it("lists the changes, and by kind each rule with its reason", async () => {
    const { workbench, file } = opened();
    original = readFileSync(file("train.py"), "utf8");
    await workbench.openFile("train.py");
    await workbench.squiggle("hint").first().waitFor();
    await preview();
    const rows = workbench.refactorPreview.locator(".monaco-list-row");
    await rows.filter({ hasText: "hvd.DistributedOptimizer(" }).first().waitFor();
    await workbench.page.locator('.part.panel .action-label[aria-label="Group Changes By Type"]').first().click();
    await rows.filter({ hasText: "C1 import and initialise Horovod" }).waitFor();
    const scaled = rows.filter({ hasText: "C5 multiply the learning rate by the number of ranks" });
    await scaled.filter({ hasText: "A step averages size() batches" }).waitFor();
  });

  it("changes nothing when discarded", async () => {
    const { workbench, file } = opened();
    await workbench.refactorPreview.locator(".monaco-button", { hasText: "Discard" }).click();
    await workbench.refactorPreview.waitFor({ state: "hidden" });
    assert.equal(await workbench.dirtyTab.count(), 0);
    assert.equal(readFileSync(file("train.py"), "utf8"), original);
  });

  it("makes all changes when applied; one undo takes them back", async () => {
    const { workbench, file } = opened();
    await preview();
    await workbench.refactorPreview.locator(".monaco-button", { hasText: "Apply" }).click();
    await workbench.status("Keras training loop: distributed with Horovod").waitFor();
    await workbench.focusEditor();
    await workbench.undo();
    await workbench.dirtyTab.waitFor({ state: "detached" });
    await workbench.status("can be distributed").waitFor();
    assert.equal(readFileSync(file("train.py"), "utf8"), original);
  });
});
