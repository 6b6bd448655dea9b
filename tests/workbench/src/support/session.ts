// What the stories of src/workbench share: one code-server with the extension installed, one browser, started with the first
// story and ended after the last; and a workspace and a page for each story.

import { copyFileSync, cpSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import type { Browser } from "playwright-core";

import { startBrowser } from "./browser";
import { CodeServer } from "./code-server";
import { EVIDENCE, PROGRAMS, VENV, VSIX, needed } from "./places";
import type { Settings } from "./settings";
import { Workbench } from "./workbench";

let shared: { readonly server: CodeServer; readonly browser: Browser } | undefined;

/** Files of a workspace by name: the name of one of `programs/`, or the text itself as `{ text }`, a program with its `mode`. */
export type Files = Record<string, string | { readonly text: string; readonly mode?: number }>;

export interface Story {
  readonly workbench: Workbench;
  readonly server: CodeServer;
  /** The workspace's folder. */
  readonly folder: string;
  readonly file: (name: string) => string;
}

export interface StoryOptions {
  /** Of the workspace. */
  readonly settings?: Settings;
  /** What of the workspace to open; without, its folder. */
  readonly open?: string;
  /** Settings of the user's, in a code-server of the story's own in which nothing has been set up yet. */
  readonly fresh?: Settings;
  /** With `fresh`: the editor asks whether the folder is to be trusted. */
  readonly asksForTrust?: boolean;
}

/** To be called in a `describe`: opens the files in a workbench of their own, before its first test. Once a test of it has failed,
 * those after it fail at once. */
export function story(files: Files, options: StoryOptions = {}): () => Story {
  let current: Story | undefined;
  let broken: string | undefined;

  before("open the workbench", async function () {
    const { server: common, browser } = await start();
    const server = options.fresh === undefined ? common : await freshServer(options.fresh, options.asksForTrust);
    const folder = server.workspace();
    for (const [name, content] of Object.entries(files)) {
      place(join(folder, name), content);
    }
    if (options.settings !== undefined) {
      place(join(folder, options.open?.endsWith(".code-workspace") === false ? options.open : "", ".vscode", "settings.json"), { text: JSON.stringify(options.settings) });
    }
    const workbench = await Workbench.open(browser, server, join(folder, options.open ?? ""));
    current = { workbench, server, folder, file: (name) => join(folder, name) };
  });

  beforeEach(function () {
    if (broken !== undefined) {
      throw new Error(`nothing to go on from: “${broken}” failed`);
    }
  });

  afterEach("keep what a failure looked like", async function () {
    const test = this.currentTest;
    if (test?.state === "failed" && broken === undefined) {
      broken = test.title;
      mkdirSync(EVIDENCE, { recursive: true });
      await current?.workbench.picture(join(EVIDENCE, `${test.fullTitle().replace(/[^\w]+/g, "-")}.png`));
    }
  });

  after("close the workbench", async () => {
    await current?.workbench.close();
    if (options.fresh !== undefined) {
      await current?.server.stop();
    }
  });

  return () => {
    if (current === undefined) {
      throw new Error("the workbench is not open");
    }
    return current;
  };
}

function place(target: string, content: Files[string]): void {
  mkdirSync(join(target, ".."), { recursive: true });
  if (typeof content !== "string") {
    writeFileSync(target, content.text, { mode: content.mode ?? 0o644 });
  } else if (statSync(join(PROGRAMS, content)).isDirectory()) {
    cpSync(join(PROGRAMS, content), target, { recursive: true });
  } else {
    copyFileSync(join(PROGRAMS, content), target);
  }
}

async function start(): Promise<{ readonly server: CodeServer; readonly browser: Browser }> {
  shared ??= {
    server: await freshServer({ "horovodize.path": join(VENV, "bin", "horovodize") }),
    browser: await startBrowser(),
  };
  return shared;
}

async function freshServer(settings: Settings, workspaceTrust = false): Promise<CodeServer> {
  const trust = { "security.workspace.trust.enabled": workspaceTrust };
  return CodeServer.start({ packages: [needed(VSIX, "run make vsix")], settings: { ...trust, ...settings }, workspaceTrust });
}

/** Mocha calls it after all tests. */
export const mochaHooks = {
  async afterAll(): Promise<void> {
    if (shared !== undefined) {
      await shared.browser.close();
      const killed = await shared.server.stop();
      shared = undefined;
      if (killed.length > 0) {
        throw new Error(`${String(killed.length)} processes had to be killed`);
      }
    }
  },
};
