// The view Training Loops where there is no loop yet, and the walkthrough that it leads to.

import assert from "node:assert/strict";

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

  it("shows a loop as it is typed", async () => {
    const { workbench } = opened();
    await workbench.focusEditor();
    await workbench.type(LOOP);
    await (await workbench.loops("train.py, runs in one process; can be distributed")).waitFor();
  });
});
