// The extension's own settings, and what of the section the server is told.

import { homedir } from "node:os";
import { workspace, type ConfigurationScope, type Uri } from "vscode";
import { expandPath } from "./server/find";

export const SECTION = "horovodize";

/** Settings that are not the server's. */
const OWN = ["path", "train", "trace", "saveDistributed"];

/** `horovodize.path`; "" when it is not set, or the workspace is not trusted (VS Code answers with the user's value then). */
export function serverPath(): string {
  return pathSetting("path", undefined);
}

/** `horovodize.train.python` for a folder; "" when it is not set. */
export function trainingPython(folder: Uri | undefined): string {
  return pathSetting("train.python", folder);
}

function pathSetting(name: string, scope: Uri | undefined): string {
  const text = workspace.getConfiguration(SECTION, scope ?? null).get<string | null>(name) ?? "";
  const folder = scope ?? workspace.workspaceFolders?.[0]?.uri;
  return text.trim() === "" ? "" : expandPath(text, homedir(), folder?.scheme === "file" ? folder.fsPath : undefined);
}

/** Whether anything is to stand above loops. */
export function lensesShown(scope: ConfigurationScope): boolean {
  return workspace.getConfiguration(SECTION, scope).get<boolean | null>("codeLens") ?? true;
}

/** Whether files that Distribute Workspace changed are saved. */
export function savesDistributed(): boolean {
  return workspace.getConfiguration(SECTION).get<boolean | null>("saveDistributed") ?? false;
}

export interface TrainingSettings {
  /** Null: ask. */
  readonly ranks: number | null;
  /** As `horovodrun -H` takes it: "this:4,that:4". "" is this machine. */
  readonly hosts: string;
}

export function trainingSettings(scope: ConfigurationScope | undefined): TrainingSettings {
  const settings = workspace.getConfiguration(SECTION, scope ?? null);
  return { ranks: settings.get<number | null>("train.ranks") ?? null, hosts: (settings.get<string | null>("train.hosts") ?? "").trim() };
}

/** Takes our own settings out of a section that is about to be sent. */
export function withoutOwn(section: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(section).filter(([name]) => !OWN.includes(name)));
}
