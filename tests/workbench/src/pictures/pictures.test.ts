// The pictures of README and docs, taken of the product as it is. `make pictures` runs this, and makes the files small.

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { ROOT, TENSORFLOW_PYTHON } from "../support/places";
import { story } from "../support/session";
import { placeOf } from "../support/text";
import { until } from "../support/until";

const PICTURES = join(ROOT, "build", "pictures");
const THEMES = { light: "Default Light Modern", dark: "Default Dark Modern", contrast: "Default High Contrast" };
const ROOM = { "editor.fontSize": 13, "outline.collapseItems": "alwaysCollapse", "explorer.openEditors.visible": 0 };

for (const [name, theme] of Object.entries(THEMES)) {
  describe(`Pictures, ${name}`, () => {
    const files = { "points/train.py": "keras_points.py", "points/mirrored.py": "mirrored.py", "points/line.ipynb": "line.ipynb" };
    const opened = story(files, { settings: { ...ROOM, "workbench.colorTheme": theme }, open: "points" });
    const picture = (what: string): string => join(PICTURES, `${what}-${name}.png`);

    before(() => mkdirSync(PICTURES, { recursive: true }));

    it("of a script as it is opened", async () => {
      const { workbench } = opened();
      await workbench.openFile("train.py");
      await workbench.lens("Keras training loop: runs in one process, 1 finding").waitFor();
      await workbench.page.locator('.pane-header[aria-label^="Explorer Section"]').click();
      await (await workbench.loops("Keras training loop")).last().locator(".monaco-tl-twistie").click();
      await (await workbench.loops("mirrored.py, can't be distributed")).waitFor();
      await (await workbench.problems()).filter({ hasText: "printing becomes rank 0's alone" }).waitFor();
      await workbench.focusEditor();
      await workbench.picture(picture("script"));
      await workbench.page.keyboard.press("Control+Shift+M");
      await workbench.page.keyboard.press("Control+Shift+M");
    });

    it("of what hovering says", async () => {
      const { workbench, file } = opened();
      await workbench.focusEditor();
      await workbench.goTo(...placeOf(readFileSync(file("points/train.py"), "utf8"), "tf.keras.optimizers"));
      await workbench.hover("Distributing with Horovod would do here");
      await workbench.picture(picture("hover"));
      await workbench.page.keyboard.press("Escape");
    });

    it("of a quick fix", async () => {
      const { workbench, file } = opened();
      await workbench.goTo(...placeOf(readFileSync(file("points/train.py"), "utf8"), "model.evaluate"));
      await workbench.actions();
      await workbench.picture(picture("fix"));
      await workbench.page.keyboard.press("Escape");
    });

    it("of distributing", async () => {
      const { workbench, file } = opened();
      await workbench.goTo(...placeOf(readFileSync(file("points/train.py"), "utf8"), "model.fit"));
      await workbench.actions();
      await workbench.picture(picture("distribute"));
      await workbench.page.keyboard.press("Escape");
    });

    it("of the preview", async () => {
      const { workbench } = opened();
      await workbench.run("Horovodize: Preview Distribution with Horovod");
      await workbench.rendered("import and initialise Horovod").waitFor();
      await workbench.diff.locator(".view-line", { hasText: "hvd.init()" }).waitFor();
      await workbench.notification("Distribute train.py with Horovod").waitFor();
      await workbench.picture(picture("preview"));
      await workbench.answer(workbench.notification("Distribute train.py with Horovod"), "Discard");
    });

    it("of a notebook", async () => {
      const { workbench } = opened();
      await workbench.openFile("line.ipynb");
      await workbench.cell("model.fit").locator(".codelens-decoration", { hasText: "Keras training loop" }).waitFor();
      await workbench.cell("model.evaluate").locator(".squiggly-info").first().waitFor();
      await workbench.picture(picture("notebook"));
    });
  });
}

describe("Pictures of training, light", () => {
  const settings = {
    ...ROOM,
    "workbench.colorTheme": THEMES.light,
    "horovodize.train.python": TENSORFLOW_PYTHON,
    "horovodize.train.ranks": 2,
    "terminal.integrated.gpuAcceleration": "off", // so that what it shows is text of the page
    "terminal.integrated.env.linux": { TF_CPP_MIN_LOG_LEVEL: "2", TF_ENABLE_ONEDNN_OPTS: "0" },
  };
  const opened = story({ "curve/train.py": "tape_curve.py" }, { settings, open: "curve" });

  it("of two ranks that train", async () => {
    const { workbench, file } = opened();
    await workbench.openFile("train.py");
    await workbench.lens("GradientTape training loop: runs in one process").waitFor();
    await workbench.goTo(...placeOf(readFileSync(file("curve/train.py"), "utf8"), "for step"));
    await workbench.actions();
    await workbench.choose("Distribute with Horovod");
    await (await workbench.loops("train.py, distributed with Horovod")).waitFor();
    await workbench.save();
    await workbench.run("Horovodize: Train on Several Ranks…");
    await workbench.page.locator(".xterm-rows", { hasText: "Terminal will be reused by tasks" }).waitFor({ timeout: 400_000 });
    await workbench.focusEditor();
    await workbench.picture(join(PICTURES, "train-light.png"));
  });
});

describe("Pictures of verifying, light", () => {
  const settings = { ...ROOM, "workbench.colorTheme": THEMES.light, "horovodize.train.python": TENSORFLOW_PYTHON, "horovodize.train.ranks": 2 };
  const opened = story({ "points/train.py": "keras_points.py" }, { settings, open: "points" });

  it("of the report", async () => {
    const { workbench } = opened();
    await workbench.openFile("train.py");
    await workbench.lens("Verify").locator("a", { hasText: /^Verify$/ }).click();
    await workbench.rendered("train.py: trains the same").waitFor({ timeout: 500_000 });
    await workbench.page.keyboard.press("Control+J"); // the terminal has said what it had to
    await workbench.page.keyboard.press("Control+B");
    await until("the loop says it", async () => (await workbench.behindLines()).some((text) => text.includes("trains the same")));
    await workbench.picture(join(PICTURES, "verify-light.png"));
  });
});
