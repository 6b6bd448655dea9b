// The view Training Loops where there is no loop yet, and the walkthrough that it leads to.

import assert from "node:assert/strict";

import type { Locator } from "playwright-core";

import { story } from "../support/session";

const LOOP = `import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(tf.ones((8, 2)), tf.ones((8, 1)))
`;

describe("A workspace in which nothing trains", () => {
  const opened = story({ "train.py": { text: "" } });

  it("is welcomed, and led to the walkthrough, whose pictures are there", async () => {
    const { workbench } = opened();
    const { page } = workbench;
    await workbench.quickly("train.py", "train.py");
    await workbench.loops(); // shows the view
    const welcome = page.locator(".welcome-view-content");
    await welcome.getByText("No training loop was found.").waitFor();
    await welcome.locator(".monaco-button", { hasText: "Get Started" }).click();
    await page.locator(".getting-started-category, .gettingStartedContainer").getByText("Train on many GPUs").first().waitFor();
    const steps = page.locator(".getting-started-step");
    assert.equal(await steps.count(), 5);
    for (let i = 0; i < 5; i++) {
      await steps.nth(i).locator(".step-title").click();
      await steps.nth(i).locator(".step-description-container").waitFor();
      const picture = page.locator(".getting-started-media img");
      await picture.waitFor();
      await page.waitForFunction(() => {
        const shown = document.querySelector<HTMLImageElement>(".getting-started-media img");
        return shown !== null && shown.complete && shown.naturalWidth > 0 && shown.alt !== "";
      });
    }
    await workbench.run("View: Close Editor");
  });

  it("is told what is missing where no script is open", async () => {
    const { workbench } = opened();
    await workbench.run("View: Close All Editors");
    await workbench.run("Horovodize: Distribute with Horovod");
    await workbench.notification("Open a Python script or a notebook first.").waitFor();
    await workbench.run("Notifications: Clear All Notifications");
    await workbench.quickly("train.py", "train.py");
  });

  it("shows a loop as it is typed", async () => {
    const { workbench } = opened();
    await workbench.focusEditor();
    await workbench.type(LOOP);
    await (await workbench.loops("train.py, runs in one process; can be distributed")).waitFor();
  });

  it("has the walkthrough's steps done to the script in the other tab, and ticked when they are", async () => {
    const { workbench } = opened();
    const { page } = workbench;
    await workbench.save();
    await workbench.run("Horovodize: Get Started");
    const steps = page.locator(".getting-started-step");
    const ticked = (index: number): Locator => steps.nth(index).locator(".codicon-getting-started-step-checked.complete, .codicon-pass-filled");
    await ticked(0).waitFor(); // a script with a loop is open
    assert.equal(await ticked(2).count(), 0);
    await steps.nth(2).locator(".step-title").click();
    await steps.nth(2).locator(".monaco-button", { hasText: "Preview Distribution" }).click();
    await workbench.diff.locator(".view-line", { hasText: "hvd.init()" }).waitFor();
    await workbench.answer(workbench.notification("Distribute train.py with Horovod"), "Apply");
    await workbench.status("Keras training loop: distributed with Horovod").waitFor();
    await workbench.run("Horovodize: Get Started");
    await ticked(2).waitFor();
    await ticked(3).waitFor();
    assert.equal(await ticked(4).count(), 0, "nothing has trained");
  });
});
