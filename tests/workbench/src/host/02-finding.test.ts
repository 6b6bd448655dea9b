// The three ways to a server, and what stands in the way of each.

import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { diagnostic, failed, openScript, python, run, running, server, set, VENV } from "./support";

const VENV_PYTHON = join(VENV, "bin", "python");

/** A program that is a shell script. */
function program(name: string, text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), "programs-")), name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** A Python that answers the extension's question as told. */
function answering(answer: object): string {
  return program("python3", `echo '${JSON.stringify({ makesEnvironments: true, tensorflow: false, horovod: false, scripts: "", ...answer })}'`);
}

async function notRunning(): Promise<void> {
  await failed();
  assert.equal((await server()).processId, undefined);
}

describe("The server of the setting horovodize.path", () => {
  it("is a program", async () => {
    await set("path", join(VENV, "bin", "horovodize"));
    assert.equal((await running()).source, "path");
  });

  it("is a module of a Python", async () => {
    const before = await server();
    await set("path", VENV_PYTHON);
    const now = await running(before.processId);
    assert.deepEqual([now.source, now.command], ["path", VENV_PYTHON]);
    await diagnostic(await openScript(), "HVD001");
  });

  for (const [what, path] of [
    ["a file that is not there", "/nowhere/horovodize"],
    ["a Python without Horovodize", "/usr/bin/python3"],
    ["another program", "/bin/true"],
    ["a folder", "/tmp"],
  ] as const) {
    it(`fails for ${what}, and does not start another one`, async () => {
      await set("path", path);
      await notRunning();
    });
  }

  it("is started when the setting is mended", async () => {
    await set("path", join(VENV, "bin", "horovodize"));
    assert.equal((await running()).source, "path");
  });
});

describe("The server of the workspace's Python", () => {
  it("is used when no path is set", async () => {
    (await python()).select(VENV_PYTHON);
    const before = await server();
    await set("path", undefined);
    const now = await running(before.processId);
    assert.deepEqual([now.source, now.command], ["environment", VENV_PYTHON]);
  });

  it("goes on where the same Python is chosen again", async () => {
    const before = await server();
    (await python()).select(VENV_PYTHON);
    await diagnostic(await openScript(), "HVD001");
    assert.equal((await server()).processId, before.processId);
  });
});

describe("The server of the private environment", () => {
  const { PATH } = process.env;

  before(async () => {
    (await python()).select(undefined);
    await set("path", undefined);
  });

  afterEach(() => {
    process.env.PATH = PATH;
    delete process.env.PIP_INDEX_URL;
  });

  for (const [what, found] of [
    ["no Python", "/nowhere/python3"],
    ["a Python that is too old", answering({ version: [3, 8] })],
    ["a Python that can't make environments", answering({ version: [3, 11], makesEnvironments: false })],
  ] as const) {
    it(`is not made with ${what}`, async () => {
      process.env.PATH = join(found, "..");
      await run("horovodize.restartServer");
      await notRunning();
    });
  }

  it("is not made without a connection", async () => {
    process.env.PIP_INDEX_URL = "http://127.0.0.1:9/simple";
    await run("horovodize.restartServer");
    await notRunning();
  });

  it("is made, once", async () => {
    await run("horovodize.restartServer");
    const made = await running();
    assert.equal(made.source, "private");
    await diagnostic(await openScript(), "HVD001");
    process.env.PIP_INDEX_URL = "http://127.0.0.1:9/simple"; // nothing is downloaded again
    await run("horovodize.restartServer");
    assert.equal((await running(made.processId)).source, "private");
  });

  it("is used where the workspace's Horovodize does not start", async () => {
    const before = await server();
    const broken = program("python3", `case "$*" in *"-m horovodize"*) exit 1;; *) exec ${VENV_PYTHON} "$@";; esac`);
    (await python()).select(broken);
    assert.equal((await running(before.processId)).source, "private");
    (await python()).select(undefined);
  });

  it("gives way to the workspace's Horovodize when there is one", async () => {
    const before = await server();
    (await python()).select(VENV_PYTHON);
    assert.equal((await running(before.processId)).source, "environment");
  });
});
