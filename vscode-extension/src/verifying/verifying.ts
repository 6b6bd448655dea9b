// Verifying that a script trains the same on several ranks: a task that trains it alone and on ranks, and what comes of it.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import {
  commands,
  l10n,
  ProgressLocation,
  Task,
  TaskPanelKind,
  TaskRevealKind,
  TaskScope,
  tasks,
  window,
  workspace,
  type CustomExecution,
  type TaskExecution,
  type Uri,
  type WorkspaceFolder,
} from "vscode";
import { targetOf } from "../commands/target";
import { Owner } from "../owner";
import type { Server } from "../server/server";
import { trainingSettings } from "../settings";
import { verifyLine } from "../training/commandLine";
import { missing } from "../training/horovodrun";
import { missingRequirements } from "../training/missingRequirements";
import { pathOf, TYPE, USUAL_RANKS, type Definition, type Training } from "../training/training";
import { heard } from "./process";
import { Reports } from "./report";
import { lastError, verdictOf } from "./verdict";
import { said, type Verdicts } from "./verdicts";

interface Outcome {
  /** 0 alike, 1 not, 2 could not be compared; null: ended. */
  readonly status: number | null;
  readonly output: string;
}

export class Verifying extends Owner {
  private readonly reports = this.own(new Reports());
  /** The scripts that are being verified. */
  private readonly running = new Set<string>();

  constructor(
    private readonly server: Server,
    private readonly training: Training,
    private readonly verdicts: Verdicts,
  ) {
    super();
    this.own(commands.registerCommand("horovodize.verify", async (argument?: unknown) => this.verify(argument)));
    this.own(
      commands.registerCommand("horovodize.showReport", (argument?: unknown) => {
        this.showReport(argument);
      }),
    );
  }

  private async verify(argument: unknown): Promise<void> {
    const runnable = await this.training.runnable(argument);
    if (runnable === undefined) {
      return;
    }
    const { uri, folder, summary } = runnable;
    if (summary?.state === "blocked" || summary?.state === "none") {
      const why = summary.problem ?? summary.restrictions[0]?.message ?? l10n.t("it has no training loop");
      void window.showInformationMessage(l10n.t("There is nothing to verify in {0}: {1}", path.basename(uri.path), why));
      return;
    }
    const program = (await this.server.connected())?.found;
    if (program === undefined) {
      void window.showWarningMessage(l10n.t("The Horovodize server does not run."));
      return;
    }
    if (this.running.has(uri.toString())) {
      return;
    }
    const python = await this.training.python(folder?.uri ?? uri);
    const lacking = python === undefined ? [] : missing(python);
    const ranks = Math.max(2, trainingSettings(uri).ranks ?? USUAL_RANKS);
    const name = workspace.asRelativePath(uri, false);
    const title = l10n.t("verify {0} on {1} ranks", name, ranks);
    if (python === undefined || lacking.length > 0) {
      await tasks.executeTask(taskOf(title, name, folder, missingRequirements(python?.executable, lacking)));
      return;
    }
    const place = mkdtempSync(path.join(tmpdir(), "horovodize-verify-"));
    const [verdict, report] = [path.join(place, "verdict.json"), path.join(place, "report.html")];
    const command = verifyLine(program, python, { ranks, script: uri.fsPath, distributed: summary?.state === "distributed", verdict, report });
    const text = (await workspace.openTextDocument(uri)).getText();
    this.running.add(uri.toString());
    try {
      const { status, output } = await this.watched(title, (onLine, ended) => {
        const env = { ...process.env, PATH: pathOf(python) };
        return taskOf(title, name, folder, heard(command, folder?.uri.fsPath ?? path.dirname(uri.fsPath), env, { line: onLine, ended }));
      });
      if (status === 0 || status === 1) {
        this.take(uri, text, verdict, report, output);
      } else if (status !== null && status !== 130) {
        void this.tellFailed(uri, output);
      }
    } finally {
      this.running.delete(uri.toString());
      rmSync(place, { recursive: true, force: true });
    }
  }

  /** Runs a task whose words are the progress, and that ends when the user cancels that. */
  private async watched(title: string, make: (line: (text: string) => void, ended: (status: number | null, output: string) => void) => Task): Promise<Outcome> {
    return window.withProgress({ location: ProgressLocation.Notification, title: `Horovodize: ${title}`, cancellable: true }, async (progress, token) => {
      let execution: TaskExecution | undefined;
      const outcome = new Promise<Outcome>((resolve) => {
        const task = make(
          (line) => {
            progress.report({ message: /: (training .+)$/.exec(line)?.[1] ?? "" });
          },
          (status, output) => {
            resolve({ status, output });
          },
        );
        void Promise.resolve(tasks.executeTask(task)).then(
          (started) => {
            execution = started;
            if (token.isCancellationRequested) {
              started.terminate();
            }
          },
          (error: unknown) => {
            resolve({ status: 2, output: String(error) });
          },
        );
      });
      token.onCancellationRequested(() => execution?.terminate());
      return outcome;
    });
  }

  private take(uri: Uri, text: string, verdict: string, report: string, output: string): void {
    const found = verdictOf(read(verdict));
    if (found === undefined) {
      void this.tellFailed(uri, output);
      return;
    }
    this.verdicts.put(uri, text, found, read(report));
    this.showReport(uri);
  }

  private showReport(argument: unknown): void {
    const uri = targetOf(argument)?.uri;
    const verified = uri === undefined ? undefined : this.verdicts.of(uri.toString());
    if (uri === undefined || verified === undefined) {
      void window.showInformationMessage(l10n.t("This script hasn't been verified yet."));
      return;
    }
    this.reports.show(uri, path.basename(uri.path), verified.report);
    void window.setStatusBarMessage(`Horovodize: ${path.basename(uri.path)} ${said(verified)}`, 10_000);
  }

  private async tellFailed(uri: Uri, output: string): Promise<void> {
    const why = lastError(output);
    const check = l10n.t("Check Environment");
    const chosen = await window.showErrorMessage(
      why === ""
        ? l10n.t("{0} could not be verified: the terminal says why.", path.basename(uri.path))
        : l10n.t("{0} could not be verified: {1}", path.basename(uri.path), why),
      check,
    );
    if (chosen === check) {
      await commands.executeCommand("horovodize.doctor", uri);
    }
  }
}

function taskOf(title: string, script: string, folder: WorkspaceFolder | undefined, execution: CustomExecution): Task {
  const definition: Definition = { type: TYPE, script, action: "verify" };
  const task = new Task(definition, folder ?? TaskScope.Workspace, title, TYPE, execution);
  task.presentationOptions = { reveal: TaskRevealKind.Always, panel: TaskPanelKind.Dedicated, clear: true };
  return task;
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
