// From the line above the loop: a script is verified, the result stands at the loop and in the view, the report beside it. And it is run
// distributed, as Train offers where a script isn't.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { TENSORFLOW_PYTHON } from "../support/places";
import { story } from "../support/session";
import { placeOf } from "../support/text";
import { until } from "../support/until";

const TRAINS = 500_000; // milliseconds for what trains, on a busy machine

describe("A script that is not distributed", () => {
  const settings = {
    "horovodize.train.python": TENSORFLOW_PYTHON,
    "horovodize.train.ranks": 2,
    "terminal.integrated.gpuAcceleration": "off", // so that what it shows is text of the page
    "terminal.integrated.env.linux": { TF_CPP_MIN_LOG_LEVEL: "2" },
  };
  const opened = story({ "train.py": "keras_points.py" }, { settings });

  it("is verified from the line above its loop, and the report opens beside it", async () => {
    const { workbench } = opened();
    await workbench.openFile("train.py");
    await workbench.lens("Verify").locator("a", { hasText: /^Verify$/ }).click();
    const report = workbench.rendered("train.py: trains the same");
    await report.waitFor({ timeout: TRAINS });
    const page = workbench.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame");
    await page.locator("svg polyline").first().waitFor();
    assert.equal(await page.locator("svg polyline").count(), 2, "the loss alone, and that on ranks");
    assert.equal(await page.locator("h2", { hasText: "On 2 ranks: trains the same" }).count(), 1);
  });

  it("says so at its loop and in the view, and that it was before a change", async () => {
    const { workbench, file } = opened();
    await until("the loop says it", async () => (await workbench.behindLines()).some((text) => text.includes("✓ trains the same on 2 ranks")));
    await (await workbench.loops("trains the same on 2 ranks")).first().waitFor();
    await workbench.focusEditor();
    const text = readFileSync(file("train.py"), "utf8");
    await workbench.goTo(...placeOf(text, "epochs=2"));
    await workbench.type(" ");
    await until("the loop says that it is stale", async () => (await workbench.behindLines()).some((said) => said.includes("before the last change")));
    await (await workbench.loops("before the last change")).first().waitFor();
    await workbench.undo();
    await until("what was verified is there again", async () => (await workbench.behindLines()).some((said) => said.includes("✓ trains the same")));
  });

  it("is not trained as it is without a question, and runs distributed", async () => {
    const { workbench, file } = opened();
    const before = readFileSync(file("train.py"), "utf8");
    await workbench.run("Horovodize: Train on Several Ranks…");
    await workbench.answer(workbench.notification("train.py isn't distributed: each rank would train by itself"), "Run Distributed");
    await workbench.page.locator(".xterm-rows", { hasText: "trained on 2 ranks in" }).waitFor({ timeout: TRAINS });
    assert.equal(readFileSync(file("train.py"), "utf8"), before);
  });
});
