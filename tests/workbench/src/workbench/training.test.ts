// Training from the palette: asks on how many ranks and where, and runs them in a terminal.

import { existsSync } from "node:fs";
import { join } from "node:path";

import { TENSORFLOW_PYTHON, VENV } from "../support/places";
import { story } from "../support/session";
import { until } from "../support/until";

// Each rank leaves a file beside the script.
const SCRIPT = `import os

open(f"rank {os.environ['HOROVOD_RANK']} of {os.environ['HOROVOD_SIZE']}", "w").close()
`;

describe("Train on Several Ranks", () => {
  const opened = story({ "train.py": { text: SCRIPT } }, { settings: { "horovodize.train.python": TENSORFLOW_PYTHON } });

  it("asks for ranks and hosts, and says what can't be", async () => {
    const { workbench } = opened();
    const box = workbench.page.locator(".quick-input-widget");
    const answer = async (text: string): Promise<void> => box.locator("input").first().fill(text);
    await workbench.openFile("train.py");
    await workbench.runAndBeAsked("Horovodize: Train on Several Ranks…", "Train on several ranks (1 of 2)");
    await answer("0");
    await box.getByText("A number from 1 on").waitFor();
    await answer("2");
    await box.getByText("A number from 1 on").waitFor({ state: "hidden" });
    await workbench.page.keyboard.press("Enter");
    await box.locator(".quick-input-title", { hasText: "Train on several ranks (2 of 2)" }).waitFor();
    await answer("localhost:1");
    await box.getByText("These have room for 1 processes, not 2").waitFor();
    await answer("");
    await box.getByText("These have room for 1 processes, not 2").waitFor({ state: "hidden" });
    await workbench.page.keyboard.press("Enter");
  });

  it("runs the script on them, in a terminal", async () => {
    const { workbench, file } = opened();
    await workbench.page.locator(".terminal-outer-container, .terminal-group").first().waitFor();
    await until("both ranks have run", () => existsSync(file("rank 0 of 2")) && existsSync(file("rank 1 of 2")), 400_000);
  });
});

describe("Training where there is no Horovod", () => {
  const opened = story(
    { "train.py": { text: SCRIPT } },
    {
      settings: {
        "horovodize.train.python": join(VENV, "bin", "python"),
        "horovodize.train.ranks": 2,
        "terminal.integrated.gpuAcceleration": "off", // so that what it shows is text of the page
      },
    },
  );

  it("says what is missing, and how to get it", async () => {
    const { workbench } = opened();
    await workbench.openFile("train.py");
    await workbench.run("Horovodize: Train on Several Ranks…");
    const said = workbench.page.locator(".xterm-rows", { hasText: "Training on several ranks needs TensorFlow and Horovod" });
    await said.filter({ hasText: "-m pip install --no-build-isolation horovod" }).waitFor();
  });
});
