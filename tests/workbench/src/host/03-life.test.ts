// Restarts, crashes and settings.

import assert from "node:assert/strict";

import { commands, languages, type CodeLens } from "vscode";

import { alive, processesMarked } from "../support/processes";
import { until } from "../support/until";
import { diagnostic, failed, openScript, run, running, server, set, VENV } from "./support";

/** The servers that run: programs of a Python, started by this extension host or what came before it. */
function servers(): number[] {
  const mark = `HOROVODIZE_TEST_RUN=${process.env.HOROVODIZE_TEST_RUN ?? ""}`;
  return processesMarked(mark, "horovodize server").filter(alive);
}

async function kill(): Promise<number> {
  const { processId } = await running();
  assert.ok(processId !== undefined);
  process.kill(processId, "SIGKILL");
  await until("the server is gone", () => !alive(processId));
  return processId;
}

describe("A running server", () => {
  before(async () => {
    await set("path", `${VENV}/bin/horovodize`);
    await running();
  });

  it("is one after a storm of restarts", async () => {
    const document = await openScript();
    for (let i = 0; i < 20; i++) {
      void run("horovodize.restartServer");
    }
    void set("path", `${VENV}/bin/python`);
    void run("horovodize.restartServer");
    await set("path", `${VENV}/bin/horovodize`);
    await diagnostic(document, "HVD001");
    await until("one server is left", async () => {
      const { processId } = await server();
      return processId !== undefined && servers().length === 1 && servers()[0] === processId;
    });
  });

  it("is started again when it was killed, and knows what is open", async () => {
    const document = await openScript();
    await diagnostic(document, "HVD001");
    const killed = await kill();
    await running(killed);
    await until("a lens of the new server", async () => (await lenses(document.uri)).length > 0);
    assert.equal(servers().length, 1);
  });

  it("is not started for ever when it keeps ending, and again when asked to", async () => {
    for (;;) {
      const killed = await kill();
      // Its end is told to the extension host a turn later: until then, what runs is still what was killed.
      const now = await until("another is started, or it is given up", async () => {
        const { state, processId } = await server();
        return (state === "failed" || (state === "running" && processId !== killed)) && state;
      });
      if (now === "failed") {
        break;
      }
    }
    await failed();
    assert.deepEqual(servers(), []);
    await run("horovodize.restartServer");
    await running();
  });

  it("is told of settings, and goes on", async () => {
    const { processId } = await running();
    const document = await openScript();
    await diagnostic(document, "HVD001");
    await set("diagnostics.notDistributed", false);
    await until("the hint is gone", () => languages.getDiagnostics(document.uri).length === 0);
    await set("diagnostics.notDistributed", undefined);
    await diagnostic(document, "HVD001");
    await set("codeLens", false);
    await until("the lenses are gone", async () => (await lenses(document.uri)).length === 0);
    await set("codeLens", undefined);
    await until("the lenses are back", async () => (await lenses(document.uri)).length > 0);
    assert.equal((await server()).processId, processId);
  });
});

async function lenses(uri: unknown): Promise<CodeLens[]> {
  return commands.executeCommand("vscode.executeCodeLensProvider", uri);
}
