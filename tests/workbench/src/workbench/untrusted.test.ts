// A workspace that is not trusted: scripts are served, and no program of the workspace is run.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { VENV } from "../support/places";
import { story } from "../support/session";
import { until } from "../support/until";

/** A program that leaves a file beside itself, and then is the one of `.venv` that has its name. */
function telling(name: string): { text: string; mode: number } {
  return { text: `#!/bin/sh\ntouch "$0.was-run"\nexec ${join(VENV, "bin", name)} "$@"\n`, mode: 0o755 };
}

const PROGRAMS = ["horovodize", ".venv/bin/python"];

describe("A workspace that is not trusted", () => {
  const opened = story(
    {
      "train.py": "keras_points.py",
      horovodize: telling("horovodize"),
      ".venv/bin/python": telling("python"),
    },
    { fresh: {}, asksForTrust: true, settings: { "horovodize.path": "${workspaceFolder}/horovodize" } },
  );
  const wereRun = (): string[] => PROGRAMS.filter((name) => existsSync(opened().file(`${name}.was-run`)));

  it("is served by a server of the extension's own, and says that it is limited", async () => {
    const { workbench } = opened();
    await workbench.answerDialog("No, I don't trust the authors");
    await workbench.openFile("train.py");
    await workbench.squiggle("hint").first().waitFor({ timeout: 400_000 });
    await workbench.lens("Keras training loop: runs in one process").waitFor();
    await workbench.status("Horovodize is limited: the workspace is not trusted").waitFor();
    assert.deepEqual(wereRun(), []);
  });

  it("is not trained in, and says what to do", async () => {
    const { workbench } = opened();
    await workbench.run("Horovodize: Train on Several Ranks…");
    await workbench.answer(workbench.notification("Training runs the script: trust the workspace first."), "Manage Trust");
    await workbench.page.locator(".workspace-trust-editor").waitFor();
    assert.deepEqual(wereRun(), []);
  });

  it("is served by what its settings name once it is trusted", async () => {
    const { workbench } = opened();
    await workbench.page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust$/ }).click();
    await until("the workspace's server is run", () => wereRun().includes("horovodize"));
    await workbench.openFile("train.py");
    await workbench.status("Horovodize is limited").waitFor({ state: "detached" });
    await workbench.status("Keras training loop: runs in one process").waitFor();
  });
});
