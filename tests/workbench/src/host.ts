// Has code-server's extension host run the tests of src/host; the browser only carries the workbench. The extension is installed
// from its package, as a person does; what is named as under development is a stand-in for the Python extension.

import { existsSync, mkdirSync, readFileSync, rmSync, unwatchFile, watchFile } from "node:fs";
import { join } from "node:path";

import type { Result } from "./host/index";
import { startBrowser } from "./support/browser";
import { CodeServer } from "./support/code-server";
import { until } from "./support/until";
import { EVIDENCE, ROOT, TENSORFLOW_PYTHON, VENV, VSIX, needed } from "./support/places";

const LIMIT = 600_000; // ms in which no test ends

async function main(): Promise<number> {
  const results = join(ROOT, "build", "host-results.json");
  rmSync(results, { force: true });
  const server = await CodeServer.start({
    packages: [needed(VSIX, "run make vsix")],
    environment: { HOROVODIZE_TEST_RESULTS: results, HOROVODIZE_TEST_VENV: VENV, HOROVODIZE_TEST_TF_PYTHON: TENSORFLOW_PYTHON },
  });
  const browser = await startBrowser();
  try {
    const page = await browser.newPage();
    await page.exposeFunction("codeAutomationLog", () => undefined);
    const ended = new Promise<number>((resolve) => void page.exposeFunction("codeAutomationExit", resolve));
    const late = new Promise<never>((_, reject) => {
      let waiting = performance.now();
      watchFile(results, { interval: 1000, persistent: false }, () => {
        waiting = performance.now();
      });
      setInterval(() => {
        if (performance.now() - waiting > LIMIT) {
          reject(new Error(`no test ended within ${String(LIMIT / 1000)} s; before: ${existsSync(results) ? readFileSync(results, "utf8").slice(-500) : "none"}`));
        }
      }, 1000).unref();
    });
    await page.addInitScript(developing, {
      extensions: [remote(server, join(ROOT, "tests", "workbench", "host-extensions", "python"))],
      extensionTestsPath: remote(server, join(__dirname, "host", "index.js")),
    });
    await page.goto(server.address(server.workspace()));
    try {
      await Promise.race([ended, late]);
    } catch (error) {
      mkdirSync(EVIDENCE, { recursive: true });
      await page.screenshot({ path: join(EVIDENCE, "host.png") });
      throw error;
    } finally {
      unwatchFile(results);
    }
    await page.close({ runBeforeUnload: true });
    await until("deactivation leaves no server", () => server.processes("horovodize server").length === 0);
    console.log("  ✔ deactivation leaves no process");
  } finally {
    await browser.close();
    const killed = await server.stop();
    if (killed.length > 0) {
      console.error(`${String(killed.length)} processes had to be killed`);
      process.exitCode = 1;
    }
  }
  return tell(JSON.parse(readFileSync(results, "utf8")) as Result[]);
}

/** Prints what came out; the exit status. */
function tell(results: readonly Result[]): number {
  for (const { title, duration, error } of results) {
    console.log(error === undefined ? `  ✔ ${title} (${String(duration)} ms)` : `  ✘ ${title}\n${error}`);
  }
  const failed = results.filter(({ error }) => error !== undefined).length;
  console.log(`\n  ${String(results.length - failed)} passing, ${String(failed)} failing`);
  return failed > 0 || results.length === 0 ? 1 : 0;
}

function remote(server: CodeServer, path: string): unknown {
  return { $mid: 1, scheme: "vscode-remote", authority: `127.0.0.1:${String(server.port)}`, path };
}

/** Runs in the page before its own scripts: says in its configuration what is under development, and which tests to run. */
function developing(options: unknown): void {
  // eslint-disable-next-line @typescript-eslint/unbound-method
  const original = Element.prototype.getAttribute;
  Element.prototype.getAttribute = function (name) {
    const value = original.call(this, name);
    if (value === null || name !== "data-settings" || this.id !== "vscode-workbench-web-configuration") {
      return value;
    }
    return JSON.stringify({ ...(JSON.parse(value) as object), developmentOptions: options });
  };
}

main().then(
  (status) => {
    process.exitCode = Math.max(status, Number(process.exitCode ?? 0));
  },
  (error: unknown) => {
    console.error(error);
    process.exitCode = 1;
  },
);
