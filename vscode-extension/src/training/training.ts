// Tasks that train a script on several ranks: `horovodize: train train.py on 2 ranks`.

import * as path from "node:path";
import {
  commands,
  l10n,
  ProcessExecution,
  Task,
  TaskGroup,
  TaskPanelKind,
  TaskRevealKind,
  TaskScope,
  tasks,
  Uri,
  window,
  workspace,
  type ExtensionContext,
  type TaskDefinition,
  type TaskProvider,
  type WorkspaceFolder,
} from "vscode";
import { Owner } from "../owner";
import { WORKSPACE_SUMMARY, type WorkspaceSummary } from "../protocol";
import { activeUri } from "../seeing/documents";
import { askPython, commonPythons, type Python } from "../server/python";
import type { Server } from "../server/server";
import type { WorkspacePythons } from "../server/workspacePython";
import { trainingPython, trainingSettings } from "../settings";
import { targetOf } from "../doing/target";
import { askHosts, askRanks } from "./ask";
import { horovodrun, missing } from "./horovodrun";
import { saying } from "./saying";

const TYPE = "horovodize";
/** Of several lines: horovodrun passes on what a rank writes at once, and a traceback is written at once. */
const MATCHERS = ["$horovodize", "$horovodize-marked"];
const USUAL_RANKS = 2;
const FRESH = 5_000; // milliseconds for which a Python stays what it is

/** What a task says in tasks.json; see `taskDefinitions` of package.json. */
interface Definition extends TaskDefinition {
  readonly script: string;
  readonly ranks?: number;
  readonly hosts?: string;
  readonly arguments?: string[];
}

export class Training extends Owner implements TaskProvider {
  /** What was asked last: a list of tasks asks for every script. */
  private latest: { readonly key: string; readonly time: number; readonly python: Promise<Python | undefined> } | undefined;

  constructor(
    private readonly context: ExtensionContext,
    private readonly server: Server,
    private readonly pythons: WorkspacePythons,
  ) {
    super();
    this.own(tasks.registerTaskProvider(TYPE, this));
    this.own(commands.registerCommand("horovodize.train", async (argument?: unknown) => this.train(argument)));
  }

  /** The scripts that use Horovod already, and the one in the editor. */
  async provideTasks(): Promise<Task[]> {
    const scripts = new Map<string, Uri>();
    const active = activeUri();
    if (active?.scheme === "file" && active.path.endsWith(".py")) {
      scripts.set(active.toString(), active);
    }
    const summary = await this.server.connection?.ask<WorkspaceSummary>(WORKSPACE_SUMMARY, {});
    for (const file of summary?.folders.flatMap((folder) => folder.files) ?? []) {
      const uri = Uri.parse(file.uri);
      if (file.state === "distributed" && uri.scheme === "file" && uri.path.endsWith(".py")) {
        scripts.set(uri.toString(), uri);
      }
    }
    return Promise.all([...scripts.values()].map(async (uri) => this.task(uri)));
  }

  /** A task of tasks.json, which says what to run and not how. */
  async resolveTask(task: Task): Promise<Task | undefined> {
    const definition = task.definition as Partial<Definition>;
    if (typeof definition.script !== "string") {
      return undefined;
    }
    const folder = typeof task.scope === "object" ? task.scope : workspace.workspaceFolders?.[0];
    const script = path.resolve(folder?.uri.fsPath ?? "", definition.script.replaceAll("${workspaceFolder}", folder?.uri.fsPath ?? ""));
    return this.make(definition as Definition, Uri.file(script), folder, task.name);
  }

  /** Asks for what the settings do not say, and trains. */
  async train(argument?: unknown): Promise<void> {
    const uri = targetOf(argument)?.uri;
    if (uri === undefined) {
      void window.showInformationMessage(l10n.t("Open a Python script first."));
      return;
    }
    if (uri.path.endsWith(".ipynb")) {
      void window.showInformationMessage(
        l10n.t("Horovod trains scripts. Make one of the notebook: horovodize distribute {0} --output train.py", path.basename(uri.path)),
      );
      return;
    }
    if (uri.scheme !== "file") {
      void window.showInformationMessage(l10n.t("Save the script first."));
      return;
    }
    if (!workspace.isTrusted) {
      await tellUntrusted(); // VS Code would ask too, but for a task whose Python was chosen without the workspace
      return;
    }
    const document = workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
    if (document?.isDirty === true && !(await document.save())) {
      return;
    }
    const settings = trainingSettings(uri);
    const ranks = settings.ranks ?? (await askRanks(USUAL_RANKS));
    if (ranks === undefined) {
      return;
    }
    const hosts = settings.ranks !== null || settings.hosts !== "" ? settings.hosts : await askHosts(ranks);
    if (hosts === undefined) {
      return;
    }
    const task = await this.task(uri, ranks, hosts);
    await tasks.executeTask(task);
  }

  private async task(uri: Uri, ranks?: number, hosts?: string): Promise<Task> {
    const settings = trainingSettings(uri);
    const folder = workspace.getWorkspaceFolder(uri);
    const chosen = hosts ?? settings.hosts;
    const definition: Definition = {
      type: TYPE,
      script: folder === undefined ? uri.fsPath : path.relative(folder.uri.fsPath, uri.fsPath).replaceAll("\\", "/"),
      ranks: ranks ?? settings.ranks ?? USUAL_RANKS,
      ...(chosen === "" ? {} : { hosts: chosen }),
    };
    return this.make(definition, uri, folder);
  }

  private async make(definition: Definition, script: Uri, folder: WorkspaceFolder | undefined, name?: string): Promise<Task> {
    const settings = trainingSettings(script);
    const ranks = definition.ranks ?? settings.ranks ?? USUAL_RANKS;
    const title = name ?? l10n.t("train {0} on {1} ranks", definition.script, ranks);
    const python = await this.python(folder?.uri ?? script);
    const lacking = python === undefined ? undefined : missing(python);
    const cwd = folder?.uri.fsPath ?? path.dirname(script.fsPath);
    const execution =
      python === undefined || lacking === undefined || lacking.length > 0
        ? saying(python?.executable, lacking ?? [])
        : run(horovodrun(python, { ranks, hosts: definition.hosts ?? settings.hosts, script: script.fsPath, arguments: definition.arguments ?? [] }), cwd, python);
    const task = new Task(definition, folder ?? TaskScope.Workspace, title, TYPE, execution, MATCHERS);
    task.group = TaskGroup.Test;
    task.detail = l10n.t("horovodrun, in the Python environment of the workspace");
    task.presentationOptions = { reveal: TaskRevealKind.Always, panel: TaskPanelKind.Dedicated, clear: true };
    return task;
  }

  /** The Python that trains: of the setting, chosen for the folder, or the machine's. */
  private async python(folder: Uri): Promise<Python | undefined> {
    const setting = trainingPython(folder);
    const chosen = setting === "" ? await this.pythons.of(folder) : setting;
    const candidates = chosen === undefined ? commonPythons() : [chosen];
    const key = candidates.join("\n");
    if (this.latest?.key !== key || Date.now() - this.latest.time > FRESH) {
      this.latest = { key, time: Date.now(), python: this.firstOf(candidates) };
    }
    return this.latest.python;
  }

  private async firstOf(candidates: readonly string[]): Promise<Python | undefined> {
    for (const candidate of candidates) {
      const python = await askPython(candidate, { cwd: this.context.extensionPath });
      if (python !== undefined) {
        return python;
      }
    }
    return undefined;
  }
}

async function tellUntrusted(): Promise<void> {
  const manage = l10n.t("Manage Trust");
  const chosen = await window.showWarningMessage(l10n.t("Training runs the script: trust the workspace first."), manage);
  if (chosen === manage) {
    await commands.executeCommand("workbench.trust.manage");
  }
}

function run(command: { program: string; arguments: readonly string[] }, cwd: string, python: Python): ProcessExecution {
  // Where the environment is activated its programs come first; horovodrun looks for some.
  const PATH = [python.scripts, process.env.PATH ?? ""].join(path.delimiter);
  return new ProcessExecution(command.program, [...command.arguments], { cwd, env: { PATH } });
}
