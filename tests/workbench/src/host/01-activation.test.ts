import assert from "node:assert/strict";

import { commands, extensions, languages } from "vscode";

import { until } from "../support/until";
import { diagnostic, openScript, running, server, set, VENV } from "./support";

describe("Activation", () => {
  before(async () => {
    await set("path", `${VENV}/bin/horovodize`);
  });

  it("waits for no server", async () => {
    const extension = extensions.getExtension("horovodize.horovodize");
    assert.ok(extension);
    assert.equal(extension.isActive, false, "it is active before there is a Python file");
    const before = performance.now();
    await extension.activate();
    const took = performance.now() - before;
    console.log(`activation took ${took.toFixed(0)} ms`);
    assert.notEqual((await server()).state, "running", "a server ran before activation had ended");
  });

  it("leads to diagnostics", async () => {
    await running();
    const before = performance.now();
    await diagnostic(await openScript(), "HVD001");
    console.log(`first diagnostics, with a server that runs, took ${(performance.now() - before).toFixed(0)} ms`);
  });

  it("registers every command that package.json names", async () => {
    const extension = extensions.getExtension("horovodize.horovodize");
    const { contributes } = extension?.packageJSON as { contributes: { commands: { command: string }[] } };
    const registered = new Set(await commands.getCommands());
    assert.ok(contributes.commands.length > 10);
    assert.deepEqual(contributes.commands.filter(({ command }) => !registered.has(command)), []);
  });

  it("serves Python and nothing else", async () => {
    const python = await openScript();
    await diagnostic(python, "HVD001");
    await languages.setTextDocumentLanguage(python, "plaintext");
    await until("nothing is reported any more", () => languages.getDiagnostics(python.uri).length === 0);
    await running();
  });
});
