// What the tests in the extension host share.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { commands, extensions, languages, Uri, window, workspace, type Diagnostic, type TextDocument } from "vscode";

import { until } from "../support/until";

export interface ServerState {
  readonly state: string;
  readonly source?: string;
  readonly command?: string;
  readonly processId?: number;
}

export interface PythonExtension {
  /** Chooses a Python, as a person would; undefined: none. */
  select(path: string | undefined): void;
}

const SCRIPT = `import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(tf.ones((8, 2)), tf.ones((8, 1)))
`;

/** The repository's development environment, which has Horovodize. */
export const VENV = process.env.HOROVODIZE_TEST_VENV ?? "";

export async function server(): Promise<ServerState> {
  const extension = extensions.getExtension<{ server(): ServerState }>("horovodize.horovodize");
  assert.ok(extension, "the extension is not installed");
  return (await extension.activate()).server();
}

export async function python(): Promise<PythonExtension> {
  const extension = extensions.getExtension<PythonExtension>("ms-python.python");
  assert.ok(extension);
  return extension.activate();
}

/** Waits for a server that runs and is not the one with the process id `before`. */
export async function running(before?: number, limit = 240_000): Promise<ServerState> {
  return until("a server runs", async () => {
    const now = await server();
    return now.state === "running" && now.processId !== undefined && now.processId !== before && now;
  }, limit);
}

export async function failed(): Promise<void> {
  await until("the server has failed", async () => (await server()).state === "failed", 240_000);
}

/** Changes a setting of the user's; undefined takes it out. */
export async function set(name: string, value: unknown): Promise<void> {
  await workspace.getConfiguration("horovodize").update(name, value, true);
}

/** Opens a new script with a Keras loop. */
export async function openScript(text = SCRIPT): Promise<TextDocument> {
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath ?? tmpdir();
  const file = join(mkdtempSync(join(folder, "script-")), "train.py");
  writeFileSync(file, text);
  const document = await workspace.openTextDocument(Uri.file(file));
  await window.showTextDocument(document);
  return document;
}

/** Waits for a diagnostic of a code. */
export async function diagnostic(document: TextDocument, code: string): Promise<Diagnostic> {
  return until(`a diagnostic ${code}`, () => languages.getDiagnostics(document.uri).find((one) => codeOf(one) === code));
}

export function codeOf({ code }: Diagnostic): string {
  return String(typeof code === "object" ? code.value : code);
}

export async function run(command: string, ...args: unknown[]): Promise<unknown> {
  return commands.executeCommand(command, ...args);
}
