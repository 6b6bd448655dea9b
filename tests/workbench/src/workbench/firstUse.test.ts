// Somebody installs the extension, has nothing but Python, and opens a first file; or has set something wrong.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";

import { story } from "../support/session";

describe("The first file after installing", () => {
  const opened = story({ "train.py": "keras_points.py" }, { fresh: {} });

  it("needs an environment, whose making can be cancelled", async () => {
    const { workbench } = opened();
    await workbench.openFile("train.py");
    await workbench.answer(workbench.notification("Preparing Horovodize (once)"), "Cancel");
    await workbench.status("Horovodize does not run: Preparing it was cancelled.").waitFor();
  });

  it("is served by that environment, and says so", async () => {
    const { workbench } = opened();
    await workbench.run("Horovodize: Restart Server");
    await workbench.notification("Preparing Horovodize (once)").waitFor();
    await workbench.squiggle("hint").first().waitFor({ timeout: 400_000 });
    await workbench.lens("Keras training loop: runs in one process").waitFor();
    await workbench.notification("Preparing Horovodize (once)").waitFor({ state: "detached" });
  });

  it("is served at once the next time", async () => {
    const { workbench } = opened();
    await workbench.page.reload();
    await workbench.page.locator(".explorer-folders-view .monaco-list").waitFor();
    const before = performance.now();
    await workbench.openFile("train.py");
    await workbench.squiggle("hint").first().waitFor();
    console.log(`      from opening a script to its first diagnostics: ${((performance.now() - before) / 1000).toFixed(1)} s`);
  });
});

describe("A setting that names no server", () => {
  const nowhere = "/nowhere/horovodize";
  const opened = story({ "train.py": "keras_points.py" }, { fresh: { "horovodize.path": nowhere } });

  it("is told once, with what to do", async () => {
    const { workbench } = opened();
    assert.ok(!existsSync(nowhere));
    await workbench.openFile("train.py");
    const told = workbench.notification(`The setting horovodize.path names ${nowhere}, which is not there or does not run`);
    await told.waitFor();
    await workbench.status("Horovodize does not run").waitFor();
    assert.equal(await told.count(), 1);
    await workbench.answer(told, "Open Settings");
    await workbench.page.locator(".settings-editor").waitFor();
  });

  it("is told again when asked to try again, with the log one click away", async () => {
    const { workbench } = opened();
    await workbench.run("Horovodize: Restart Server");
    const told = workbench.notification("which is not there or does not run");
    await told.waitFor();
    assert.equal(await told.count(), 1);
    await workbench.answer(told, "Show Log");
    await workbench.page.locator(".part.panel .view-line", { hasText: "The server does not run" }).last().waitFor();
  });
});
