// The Python that is chosen for a folder: by the Python extension where there is one, by its setting, or the folder's own
// environment. Nothing of it is used before the workspace is trusted: what is in there would be run.

import * as fs from "node:fs/promises";
import { homedir } from "node:os";
import * as path from "node:path";
import { EventEmitter, extensions, Uri, workspace, type Event } from "vscode";
import { Owner } from "../owner";
import { expandPath } from "./find";
import { pythonOf } from "./python";

/** What is used of the API of ms-python.python. */
interface PythonExtension {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: Uri): { readonly path: string };
    resolveEnvironment(environment: { readonly path: string } | string): Promise<{ readonly executable: { readonly uri?: Uri } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath?: Event<unknown>;
  };
}

const PATIENCE = 15_000; // milliseconds for another extension to start

export class WorkspacePythons extends Owner {
  private readonly changed = this.own(new EventEmitter<void>());
  private listening = false;

  /** Another Python was chosen for some folder. */
  readonly onDidChange = this.changed.event;

  constructor() {
    super();
    this.own(extensions.onDidChange(() => void this.listen()));
  }

  /** One for each folder (or for files outside of one), each once, the first folder's first. */
  async all(): Promise<string[]> {
    if (!workspace.isTrusted) {
      return [];
    }
    const folders = workspace.workspaceFolders?.map((folder) => folder.uri) ?? [undefined];
    const found = await Promise.all(folders.map(async (folder) => this.of(folder)));
    return [...new Set(found.filter((python) => python !== undefined))];
  }

  /** Undefined where none is chosen. */
  async of(folder: Uri | undefined): Promise<string | undefined> {
    if (!workspace.isTrusted) {
      return undefined;
    }
    return (await this.fromExtension(folder)) ?? (await fromSetting(folder)) ?? (await fromFolder(folder));
  }

  private async fromExtension(folder: Uri | undefined): Promise<string | undefined> {
    try {
      const environments = (await this.listen())?.environments;
      if (environments === undefined) {
        return undefined;
      }
      const active = environments.getActiveEnvironmentPath(folder);
      const resolved = await within(PATIENCE, environments.resolveEnvironment(active));
      return resolved?.executable.uri?.fsPath;
    } catch {
      return undefined; // an extension that fails is like one that is absent
    }
  }

  /** The Python extension, started and listened to; undefined where it is absent. */
  private async listen(): Promise<PythonExtension | undefined> {
    const extension = extensions.getExtension<PythonExtension>("ms-python.python");
    if (extension === undefined) {
      return undefined;
    }
    const api = extension.isActive ? extension.exports : await within(PATIENCE, Promise.resolve(extension.activate()));
    const onChange = api?.environments?.onDidChangeActiveEnvironmentPath;
    if (!this.listening && onChange !== undefined) {
      this.listening = true;
      this.own(
        onChange(() => {
          this.changed.fire();
        }),
      );
    }
    return api;
  }
}

async function fromSetting(folder: Uri | undefined): Promise<string | undefined> {
  const setting = workspace.getConfiguration("python", folder ?? null).get<string>("defaultInterpreterPath");
  if (setting === undefined || setting === "" || setting === "python") {
    return undefined; // "python" is what it is without having been chosen
  }
  const file = expandPath(setting, homedir(), folder?.fsPath);
  return (await isFile(file)) ? file : undefined;
}

async function fromFolder(folder: Uri | undefined): Promise<string | undefined> {
  for (const name of folder?.scheme === "file" ? [".venv", "venv"] : []) {
    const python = pythonOf(path.join(folder?.fsPath ?? "", name));
    if (await isFile(python)) {
      return python;
    }
  }
  return undefined;
}

async function isFile(file: string): Promise<boolean> {
  return fs.stat(file).then(
    (stats) => stats.isFile(),
    () => false,
  );
}

async function within<T>(time: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => {
      resolve(undefined);
    }, time);
  });
  return Promise.race([work, late]).finally(() => {
    clearTimeout(timer);
  });
}
