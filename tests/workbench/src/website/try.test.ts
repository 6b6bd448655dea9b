// The page that runs the engine in the browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { PROGRAMS, ROOT } from "../support/places";
import { Site, type Visit } from "./site";

const KERAS = readFileSync(join(ROOT, "examples", "keras_fit.py"), "utf8");

// Rows, and a count of steps, that are in another file.
const UNSEEN = `import tensorflow as tf
from data import rows, count
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(rows(), steps_per_epoch=count(), epochs=3)
`;

describe("the page that runs the engine", () => {
  let site: Site;
  let visit: Visit;

  before("open it", async () => {
    site = await Site.start();
    visit = await site.visit("try/");
  });

  after(async () => {
    await visit.picture("last");
    await site.stop();
  });

  it("tells how far loading is, then shows what comes of the example", async () => {
    await visit.page.getByText(/Loading Python and the engine: \d/).or(visit.page.locator("html[data-ready=true]")).first().waitFor({ state: "attached" });
    await visit.read();
    assert.match(await visit.text("#state"), /^Horovodize \d.* on Python 3\..* Nothing you enter leaves it\.$/);
    assert.equal(await visit.page.locator("progress").isVisible(), false);
    assert.equal(await visit.text("#verdict"), "Can be distributed; nothing is left open");
    assert.match(await visit.text("#loops"), /Keras training loop in main/);
    assert.match(await visit.text("#difference"), /hvd\.DistributedOptimizer/);
    assert.match(await visit.text("#reasons"), /C5 multiply the learning rate by the number of ranks/);
    await visit.picture("try-light");
  });

  it("explains the place under the pointer, and the one at the cursor", async () => {
    await visit.page.getByRole("button", { name: "line 39" }).first().click();
    await visit.page.locator("#here").getByText("Keras training loop in").waitFor();
    await visit.page.locator(".cm-line", { hasText: "model.fit(" }).hover({ position: { x: 55, y: 8 } });
    await visit.page.locator(".cm-tooltip .hover").getByText("Keras training loop in").waitFor();
    await visit.page.mouse.move(0, 0);
  });

  it("links each reason and each finding to its page", async () => {
    await visit.page.locator("#example").selectOption("mirrored.py");
    await visit.page.locator("#findings").getByText("HVD202").waitFor();
    assert.match(await visit.text("#verdict"), /^Refused/);
    assert.match(await visit.text("#findings"), /Blocks HVD202 · line 9/);
    assert.equal(await visit.page.locator("#plan").isVisible(), false);
    assert.equal(await visit.page.locator(".cm-lintRange-warning").count(), 1);
    const [pages] = await Promise.all([visit.context.waitForEvent("page"), visit.page.getByRole("link", { name: "HVD202" }).first().click({ modifiers: ["ControlOrMeta"] })]);
    await pages.getByRole("heading", { name: /^HVD202: unsupported-loop/ }).waitFor();
    await pages.close();
  });

  it("asks what can't be proven", async () => {
    await visit.paste(UNSEEN);
    assert.equal(await visit.text("#verdict"), "Can be distributed, with 2 questions to answer first");
    assert.match(await visit.text("#questions"), /C5 · line 4[\s\S]*The data of this step can't be followed/);
    assert.match(await visit.text("#questions"), /G4 · line 5[\s\S]*It can't be seen what count\(\) gives/);
  });

  it("reads a notebook as the script that it makes", async () => {
    await visit.page.locator("#file").setInputFiles(join(PROGRAMS, "line.ipynb"));
    await visit.page.locator("#name", { hasText: "line.py" }).waitFor();
    await visit.read();
    assert.match(await visit.text("#notice"), /the script that line\.ipynb makes/);
    assert.match(await visit.text("#verdict"), /Can be distributed/);
  });

  it("says why a file can't be read", async () => {
    await visit.page.locator("#file").setInputFiles({ name: "odd.py", mimeType: "text/x-python", buffer: Buffer.from([0xff, 0xfe, 0x00, 0x80]) });
    await visit.page.locator("#notice", { hasText: "odd.py can't be read" }).waitFor();
    await visit.paste("import tensorflow as tf\nmodel.fit(\n");
    assert.match(await visit.text("#findings"), /HVD003/);
  });

  it("shows what a script says as text, whatever it is", async () => {
    await visit.paste('import tensorflow as tf\nm = tf.keras.Sequential(name="<img src=x onerror=alert(1)>")\nm.compile("sgd")\nm.fit(x, y)\n');
    assert.equal(await visit.page.locator("#results img, #here img").count(), 0);
    assert.match(await visit.text("#verdict"), /distributed/);
  });

  it("keeps typing going while it reads a long script", async () => {
    const long = `${KERAS}\n${Array.from({ length: 1500 }, (_, n) => `def f${String(n)}(a):\n    return a + ${String(n)}\n`).join("\n")}`;
    await visit.page.locator("#file").setInputFiles({ name: "long.py", mimeType: "text/x-python", buffer: Buffer.from(long) });
    await visit.page.locator("#name", { hasText: "long.py" }).waitFor();
    await visit.page.locator(".cm-content").focus();
    await visit.page.keyboard.type("# typed meanwhile\n");
    assert.equal(await visit.page.locator(".cm-line").first().innerText(), "# typed meanwhile");
    assert.equal(await visit.page.locator("#results").getAttribute("aria-busy"), "true");
    await visit.read();
    assert.match(await visit.text("#loops"), /Keras training loop/);
  });

  it("takes the TensorFlow that is named", async () => {
    await visit.paste(KERAS);
    assert.match(await visit.text("#difference"), /horovod\.tensorflow\.keras/);
    await visit.page.locator("#tensorflow").selectOption("2.18");
    await visit.page.locator("#beside").getByRole("button", { name: "Download horovod_keras3.py" }).waitFor();
    assert.match(await visit.text("#world"), /2\.18/);
    await visit.page.locator("#tensorflow").selectOption("");
    await visit.page.locator("#beside").getByRole("button").waitFor({ state: "detached" });
  });

  it("gives the script with the line ends that it had", async () => {
    const buffer = Buffer.from(KERAS.replaceAll("\n", "\r\n"));
    await visit.page.locator("#file").setInputFiles({ name: "windows.py", mimeType: "text/x-python", buffer });
    await visit.page.locator("#name", { hasText: "windows.py" }).waitFor();
    await visit.read();
    const [download] = await Promise.all([visit.page.waitForEvent("download"), visit.page.locator("#download").click()]);
    assert.equal(download.suggestedFilename(), "windows.py");
    const text = readFileSync(await download.path(), "utf8");
    assert.match(text, /hvd\.init\(\)[^\r\n]*\r\n/);
    assert.equal(text.replaceAll("\r\n", "").includes("\n"), false);
  });

  it("can be used without a mouse", async () => {
    await visit.paste(KERAS);
    const reached: string[] = [];
    await visit.page.locator(".skip").focus();
    for (let n = 0; n < 14; n++) {
      reached.push(await visit.page.evaluate(() => document.activeElement === null ? "" : `${document.activeElement.id} ${document.activeElement.className}`));
      await visit.page.keyboard.press("Tab");
    }
    for (const part of ["skip", "example", "tensorflow", "file", "cm-content", "place"]) {
      assert.ok(reached.some((names) => names.split(" ").includes(part)), `${part} in ${reached.join(", ")}`);
    }
    await visit.page.locator(".cm-content").focus();
    await visit.page.keyboard.press("ControlOrMeta+End");
    await visit.page.keyboard.type("\n# by keyboard\n");
    await visit.page.keyboard.press("Tab");
    assert.notEqual(await visit.page.evaluate(() => document.activeElement?.className), "cm-content");
    await visit.read();
    await visit.page.locator("#loops button.place").focus();
    await visit.page.keyboard.press("Enter");
    await visit.page.locator(".cm-content:focus").waitFor();
    await visit.page.locator("#here").getByText("Keras training loop in").waitFor();
  });

  it("asks for nothing but its own files, and works without a network", async () => {
    await visit.context.setOffline(true);
    await visit.paste(KERAS.replace("0.003", "0.004"));
    assert.match(await visit.text("#difference"), /0\.004 \* hvd\.size\(\)/);
    await visit.context.setOffline(false);
    assert.deepEqual(visit.requests.filter((address) => !address.startsWith(site.address) && !address.startsWith("blob:")), []);
    assert.deepEqual(visit.errors, []);
    assert.deepEqual(site.missing.filter((path) => !path.endsWith("/favicon.ico")), []);
  });

  for (const [look, width, scheme] of [["light", 1280, "light"], ["dark", 1280, "dark"], ["narrow", 900, "light"], ["phone", 390, "dark"]] as const) {
    it(`has nothing that axe finds wrong: ${look}`, async () => {
      await visit.page.setViewportSize({ width, height: 900 });
      await visit.page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      await visit.page.locator("#example").selectOption("session.py");
      await visit.page.locator("#name", { hasText: "session.py" }).waitFor();
      await visit.read();
      assert.deepEqual(await visit.accessibility(), []);
      assert.ok(await visit.page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "it has to be scrolled sideways");
      await visit.picture(`try-${look}`);
      await visit.page.locator("#example").selectOption("mirrored.py");
      await visit.page.locator("#findings").getByText("HVD202").waitFor();
      assert.deepEqual(await visit.accessibility(), []);
    });
  }
});
