// Several folders in one window, each with settings of its own; and a script of several files.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { story } from "../support/session";
import { trainsAlike } from "../support/training";
import { until } from "../support/until";

const WORKSPACE = { text: JSON.stringify({ folders: [{ path: "vision" }, { path: "text" }] }) };

describe("A workspace of two folders", () => {
  const opened = story(
    {
      "all.code-workspace": WORKSPACE,
      "vision/points.py": "keras_points.py",
      "vision/pyproject.toml": { text: '[tool.horovodize]\nignore = ["HVD104"]\n' },
      "text/curve.py": "tape_curve.py",
      "text/already.py": "mirrored.py",
      "text/closed.ipynb": "line.ipynb",
      "text/helper.py": { text: "def double(x):\n    return 2 * x\n" },
    },
    { open: "all.code-workspace" },
  );

  it("shows the loops of all its folders, also of files that are not open", async () => {
    const { workbench } = opened();
    await workbench.openFile("points.py");
    await workbench.lens("Keras training loop").waitFor();
    await workbench.page.locator('.pane-header[aria-label^="Explorer Section"]').click(); // room for the view
    for (const row of ["vision", "text", "points.py, runs in one process", "curve.py, runs in one process", "already.py, can't be distributed"]) {
      await (await workbench.loops(row)).first().waitFor();
    }
    assert.equal(await (await workbench.loops("helper.py")).count(), 0);
  });

  it("reads each folder's own pyproject.toml", async () => {
    const { workbench } = opened();
    assert.equal(await workbench.squiggle("info").count(), 0); // vision ignores the finding
    await workbench.openFile("curve.py");
    await workbench.squiggle("info").first().waitFor(); // text does not
  });

  it("follows what is typed", async () => {
    const { workbench } = opened();
    await workbench.goTo(1, 1);
    await workbench.type("import horovod.tensorflow as hvd\n");
    await (await workbench.loops("curve.py, runs in one process")).waitFor({ state: "detached" });
    await workbench.run("File: Revert File");
    await workbench.dirtyTab.waitFor({ state: "detached" });
    await (await workbench.loops("curve.py, runs in one process")).waitFor();
  });

  it("is shown by state, when asked to", async () => {
    const { workbench } = opened();
    const distributable = "runs in one process; can be distributed";
    await workbench.runAndBeAsked("Horovodize: Filter Training Loops…", "Show training loops that are");
    await workbench.row(distributable).click();
    await workbench.page.keyboard.press("Enter");
    await (await workbench.loops("points.py")).first().waitFor({ state: "detached" });
    await (await workbench.loops("already.py, can't be distributed")).waitFor();
    await workbench.runAndBeAsked("Horovodize: Filter Training Loops…", "Show training loops that are");
    assert.equal(await workbench.isTicked(distributable), false);
    await workbench.row(distributable).click();
    await workbench.page.keyboard.press("Enter");
    await (await workbench.loops("points.py, runs in one process")).first().waitFor();
  });

  it("is distributed as it is chosen, with a summary of what was done and what was refused", async () => {
    const { workbench } = opened();
    await workbench.runAndBeAsked("Horovodize: Distribute Workspace", "Distribute these scripts with Horovod");
    for (const [name, ticked] of [["points.py", true], ["curve.py", true], ["closed.ipynb", true], ["already.py", false]] as const) {
      const box = workbench.row(name).locator("input[type=checkbox], .monaco-checkbox").first();
      await box.waitFor();
      assert.equal(await workbench.isTicked(name), ticked, name);
    }
    await workbench.row("already.py").click();
    await workbench.page.keyboard.press("Enter");
    await workbench.answer(workbench.notification("Scripts: 3 distributed, 1 refused. Files changed: 3"), "Show Details");
    await workbench.rendered("Distributed with Horovod").waitFor();
    await (await workbench.loops("points.py, distributed with Horovod")).waitFor();
    await (await workbench.loops("curve.py, distributed with Horovod")).waitFor();
    await workbench.run("File: Save All Files");
    await workbench.page.locator(".tabs-container .tab.dirty").first().waitFor({ state: "detached" });
  });

  it("trains on two ranks as it was saved", async () => {
    await trainsAlike(opened().file("vision/points.py"));
  });
});

describe("A script of several files", () => {
  const opened = story({ ".": "../../projects/four_modules" });
  const names = ["train.py", "data.py", "optim.py", "step.py", "model.py"];
  const texts = (): string[] => names.map((name) => readFileSync(opened().file(name), "utf8"));

  it("is distributed with the modules that have to change; one undo takes that back", async () => {
    const { workbench } = opened();
    await workbench.openFile("train.py");
    await workbench.status("can be distributed").waitFor();
    await workbench.run("Horovodize: Distribute with Horovod");
    await workbench.line("hvd.init()").waitFor();
    const dirty = workbench.page.locator(".tabs-container .tab.dirty");
    await until("all its files are changed", async () => (await dirty.count()) === 4);
    await workbench.focusEditor();
    await workbench.undo();
    await dirty.first().waitFor({ state: "detached" });
    await workbench.line("hvd.init()").waitFor({ state: "detached" });
  });

  it("is saved, all of it", async () => {
    const { workbench } = opened();
    const before = texts();
    await workbench.run("Horovodize: Distribute with Horovod");
    await workbench.line("hvd.init()").waitFor();
    const changed = (): string[] => {
      const now = texts();
      return names.filter((_, index) => now[index] !== before[index]);
    };
    await until("all files of the plan are changed", async () => {
      await workbench.run("File: Save All Files"); // the editor changes one file after another
      return changed().length >= 4;
    });
    assert.deepEqual(changed(), ["train.py", "data.py", "optim.py", "step.py"]);
  });

  it("trains on two ranks as it was saved", async () => {
    await trainsAlike(opened().file("train.py"));
  });
});
