// Tasks that train a script on several ranks: `horovodize: train train.py on 2 ranks`, or what distributing makes of it: `run …`.

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
import { DOCUMENT_SUMMARY, WORKSPACE_SUMMARY, type FileSummary, type WorkspaceSummary } from "../protocol";
import { activeUri } from "../views/documents";
import { done } from "../views/steps";
import { askPython, commonPythons, type Python } from "../server/python";
import type { Server } from "../server/server";
import type { WorkspacePythons } from "../server/workspacePython";
import { trainingPython, trainingSettings } from "../settings";
import { chooseTarget, targetOf } from "../commands/target";
import { askHosts, askRanks } from "./ask";
import { doctorLine, runLine } from "./commandLine";
import { horovodrun, missing, type Command } from "./horovodrun";
import { missingRequirements, told } from "./missingRequirements";

export const TYPE = "horovodize";
/** Of several lines: horovodrun passes on what a rank writes at once, and a traceback is written at once. */
const MATCHERS = ["$horovodize", "$horovodize-marked"];
export const USUAL_RANKS = 2;
const FRESH = 5_000; // milliseconds for which a Python stays what it is

/** What a task says in tasks.json; see `taskDefinitions` of package.json. */
export interface Definition extends TaskDefinition {
  readonly script: string;
  readonly ranks?: number;
  readonly hosts?: string;
  readonly arguments?: string[];
  /** "run": distribute in memory first. Default: train the script as it is. "verify" and "doctor" are made by commands only. */
  readonly action?: "train" | "run" | "verify" | "doctor";
}

/** A script that may be run, saved, and what it trains with. */
export interface Runnable {
  readonly uri: Uri;
  readonly folder: WorkspaceFolder | undefined;
  readonly summary: FileSummary | undefined;
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
    this.own(
      tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
        const { action, type } = execution.task.definition as Partial<Definition>;
        if (type === TYPE && exitCode === 0 && (action ?? "train") !== "doctor") {
          done("trained");
        }
      }),
    );
    this.own(commands.registerCommand("horovodize.train", async (argument?: unknown) => this.train(argument, false)));
    this.own(commands.registerCommand("horovodize.run", async (argument?: unknown) => this.train(argument, true)));
    this.own(commands.registerCommand("horovodize.doctor", async (argument?: unknown) => this.diagnose(argument)));
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

  /** Asks for what the settings do not say, and trains: the script as it is, or what distributing makes of it. */
  private async train(argument: unknown, distribute: boolean): Promise<void> {
    const runnable = await this.runnable(argument, distribute);
    if (runnable === undefined) {
      return;
    }
    const { uri } = runnable;
    const alone = runnable.summary?.state === "distributable" || runnable.summary?.state === "blocked";
    if (!distribute && alone && (await this.ready(runnable))) {
      const chosen = await askToDistribute(path.basename(uri.path), runnable.summary.state === "blocked");
      if (chosen !== "train") {
        return chosen === "run" ? this.train(uri, true) : undefined;
      }
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
    const task = await this.task(uri, ranks, hosts, distribute);
    await tasks.executeTask(task);
  }

  /** The script of a command, saved and in a trusted workspace; else the user is told why not. */
  async runnable(argument: unknown, notebooks = false): Promise<Runnable | undefined> {
    const uri = (await chooseTarget(argument))?.uri;
    if (uri === undefined) {
      return undefined;
    }
    if (uri.path.endsWith(".ipynb") && !notebooks) {
      void window.showInformationMessage(
        l10n.t("Horovod trains scripts. Make one of the notebook: horovodize distribute {0} --output train.py", path.basename(uri.path)),
      );
      return undefined;
    }
    if (uri.scheme !== "file") {
      void window.showInformationMessage(l10n.t("Save the script first."));
      return undefined;
    }
    if (!workspace.isTrusted) {
      await tellUntrusted(); // VS Code would ask too, but for a task whose Python was chosen without the workspace
      return undefined;
    }
    const open = [...workspace.textDocuments, ...workspace.notebookDocuments].find((one) => one.uri.toString() === uri.toString());
    if (open?.isDirty === true && !(await open.save())) {
      return undefined;
    }
    const connection = this.server.connection;
    const summary = await connection?.ask<FileSummary | null>(DOCUMENT_SUMMARY, { textDocument: { uri: connection.text(uri) } });
    return { uri, folder: workspace.getWorkspaceFolder(uri), summary: summary ?? undefined };
  }

  /** Whether its Python has what training takes. */
  private async ready({ uri, folder }: Runnable): Promise<boolean> {
    const python = await this.python(folder?.uri ?? uri);
    return python !== undefined && missing(python).length === 0;
  }

  /** Says in a terminal what of the environment that trains is not as it has to be. */
  private async diagnose(argument: unknown): Promise<void> {
    if (!workspace.isTrusted) {
      await tellUntrusted();
      return;
    }
    const uri = targetOf(argument)?.uri;
    const folder = (uri === undefined ? undefined : workspace.getWorkspaceFolder(uri)) ?? workspace.workspaceFolders?.[0];
    const program = (await this.server.connected())?.found;
    if (program === undefined) {
      void window.showWarningMessage(l10n.t("The Horovodize server does not run."));
      return;
    }
    const { ranks, hosts } = trainingSettings(uri);
    const python = await this.python(folder?.uri ?? uri);
    const command = doctorLine(program, python, ranks ?? USUAL_RANKS, hosts);
    const definition: Definition = { type: TYPE, script: "", action: "doctor" };
    const task = new Task(definition, folder ?? TaskScope.Workspace, l10n.t("check the training environment"), TYPE, run(command, folder?.uri.fsPath, python));
    task.presentationOptions = { reveal: TaskRevealKind.Always, panel: TaskPanelKind.Dedicated, clear: true };
    await tasks.executeTask(task);
  }

  private async task(uri: Uri, ranks?: number, hosts?: string, distribute = false): Promise<Task> {
    const settings = trainingSettings(uri);
    const folder = workspace.getWorkspaceFolder(uri);
    const chosen = hosts ?? settings.hosts;
    const definition: Definition = {
      type: TYPE,
      script: folder === undefined ? uri.fsPath : path.relative(folder.uri.fsPath, uri.fsPath).replaceAll("\\", "/"),
      ranks: ranks ?? settings.ranks ?? USUAL_RANKS,
      ...(chosen === "" ? {} : { hosts: chosen }),
      ...(distribute ? { action: "run" as const } : {}),
    };
    return this.make(definition, uri, folder);
  }

  private async make(definition: Definition, script: Uri, folder: WorkspaceFolder | undefined, name?: string): Promise<Task> {
    const settings = trainingSettings(script);
    const ranks = definition.ranks ?? settings.ranks ?? USUAL_RANKS;
    const distribute = definition.action === "run";
    const title =
      name ?? (distribute ? l10n.t("run {0} distributed on {1} ranks", definition.script, ranks) : l10n.t("train {0} on {1} ranks", definition.script, ranks));
    const python = await this.python(folder?.uri ?? script);
    const lacking = python === undefined ? undefined : missing(python);
    const cwd = folder?.uri.fsPath ?? path.dirname(script.fsPath);
    const training = { ranks, hosts: definition.hosts ?? settings.hosts, script: script.fsPath, arguments: definition.arguments ?? [] };
    const program = distribute ? (await this.server.connected())?.found : undefined;
    const execution =
      python === undefined || lacking === undefined || lacking.length > 0
        ? missingRequirements(python?.executable, lacking ?? [])
        : distribute
          ? program === undefined
            ? told([l10n.t("The Horovodize server does not run.")])
            : run(runLine(program, python, training), cwd, python)
          : run(horovodrun(python, training), cwd, python);
    const task = new Task(definition, folder ?? TaskScope.Workspace, title, TYPE, execution, MATCHERS);
    task.group = TaskGroup.Test;
    task.detail = distribute
      ? l10n.t("horovodize run: what distributing makes of it, in memory")
      : l10n.t("horovodrun, in the Python environment of the workspace");
    task.presentationOptions = { reveal: TaskRevealKind.Always, panel: TaskPanelKind.Dedicated, clear: true };
    return task;
  }

  /** The Python that trains: of the setting, chosen for the folder, or the machine's. */
  async python(folder: Uri | undefined): Promise<Python | undefined> {
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

/** One that is not distributed would train as often as there are ranks, each on its own. Undefined: neither. */
async function askToDistribute(name: string, blocked: boolean): Promise<"run" | "train" | undefined> {
  const [distributed, anyway] = [l10n.t("Run Distributed"), l10n.t("Train Anyway")];
  const chosen = await window.showWarningMessage(
    l10n.t("{0} isn't distributed: each rank would train by itself, on all of the data.", name),
    ...(blocked ? [anyway] : [distributed, anyway]),
  );
  return chosen === distributed ? "run" : chosen === anyway ? "train" : undefined;
}

function run(command: Command, cwd: string | undefined, python: Python | undefined): ProcessExecution {
  return new ProcessExecution(command.program, [...command.arguments], { ...(cwd === undefined ? {} : { cwd }), env: { PATH: pathOf(python) } });
}

/** Where the environment is activated its programs come first; horovodrun looks for some. */
export function pathOf(python: Python | undefined): string {
  return [...(python === undefined ? [] : [python.scripts]), process.env.PATH ?? ""].join(path.delimiter);
}
