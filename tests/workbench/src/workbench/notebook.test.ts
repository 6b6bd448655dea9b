// A notebook: its cells are one program.

import { readFileSync, writeFileSync } from "node:fs";

import { story } from "../support/session";
import { trainsAlike } from "../support/training";

describe("A notebook", () => {
  const opened = story({ "line.ipynb": "line.ipynb" });
  let original: string;

  it("shows its loop and what stands in the way, in its cells", async () => {
    const { workbench, file } = opened();
    original = readFileSync(file("line.ipynb"), "utf8");
    await workbench.openFile("line.ipynb");
    await workbench.cell("model.fit").locator(".squiggly-hint").first().waitFor();
    await workbench.cell("model.evaluate").locator(".squiggly-info").first().waitFor();
    await workbench.cell("model.fit").locator(".codelens-decoration", { hasText: "Keras training loop: runs in one process" }).waitFor();
    await (await workbench.loops("line.ipynb, runs in one process; can be distributed")).waitFor();
    await (await workbench.problems()).filter({ hasText: "printing becomes rank 0's alone" }).waitFor();
    await workbench.page.keyboard.press("Control+Shift+M");
  });

  it("is distributed over its cells; one undo in a cell takes that back", async () => {
    const { workbench } = opened();
    await workbench.run("Horovodize: Distribute with Horovod");
    await workbench.cell("hvd.DistributedOptimizer").waitFor();
    await workbench.dirtyTab.waitFor();
    await workbench.cell("hvd.init()").locator(".view-line").first().click();
    await workbench.undo();
    await workbench.dirtyTab.waitFor({ state: "detached" });
    await workbench.cell("hvd.").waitFor({ state: "detached" });
    await workbench.cell("model.fit").locator(".squiggly-hint").first().waitFor();
  });

  it("is distributed, and saved", async () => {
    const { workbench, file } = opened();
    await workbench.run("Horovodize: Distribute with Horovod");
    await workbench.cell("hvd.init()").waitFor();
    await workbench.cell("hvd.DistributedOptimizer").waitFor();
    await workbench.cell("model.fit").locator(".squiggly-hint").first().waitFor({ state: "detached" });
    await workbench.save();
    await (await workbench.loops("line.ipynb, distributed with Horovod")).waitFor();
    const cells = cellsOf(readFileSync(file("line.ipynb"), "utf8"));
    const before = cellsOf(original);
    if (cells.length !== before.length || !cells.some((cell) => cell.includes("hvd.init()"))) {
      throw new Error(cells.join("\n---\n"));
    }
  });

  it("trains on two ranks, its cells as a script", async () => {
    const { file } = opened();
    writeFileSync(file("line.py"), `${cellsOf(readFileSync(file("line.ipynb"), "utf8")).join("\n")}\n`);
    await trainsAlike(file("line.py"));
  });
});

/** The sources of the code cells. */
function cellsOf(notebook: string): string[] {
  const { cells } = JSON.parse(notebook) as { cells: { cell_type: string; source: string | string[] }[] };
  return cells.filter((cell) => cell.cell_type === "code").map(({ source }) => (typeof source === "string" ? source : source.join("")));
}
