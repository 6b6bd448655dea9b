// The places from which a script is distributed: the line above the loop, the editor's menu, the view. Light bulb and palette are in
// scripts.test.ts.

import type { Locator } from "playwright-core";

import { story } from "../support/session";

describe("Distribute with Horovod", () => {
  const opened = story({ "train.py": "keras_points.py" });

  /** Waits until the script is distributed, and takes that back. */
  async function done(): Promise<void> {
    const { workbench } = opened();
    await workbench.status("Keras training loop: distributed with Horovod").waitFor();
    await workbench.focusEditor();
    await workbench.undo();
    await workbench.status("can be distributed").waitFor();
  }

  it("is in the line above the loop", async () => {
    const { workbench } = opened();
    await workbench.openFile("train.py");
    await workbench.lens("Distribute with Horovod").locator("a", { hasText: "Distribute with Horovod" }).click();
    await done();
  });

  it("is in the editor's context menu", async () => {
    const { workbench } = opened();
    await workbench.page.keyboard.press("Shift+F10");
    await workbench.chooseFromMenu("Distribute with Horovod");
    await done();
  });

  it("is in the view of training loops, in the row of the file", async () => {
    const { workbench } = opened();
    const row: Locator = await workbench.loops("train.py, runs in one process; can be distributed");
    await row.hover();
    await row.locator('.action-label[aria-label="Distribute with Horovod"]').click();
    await done();
  });
});
