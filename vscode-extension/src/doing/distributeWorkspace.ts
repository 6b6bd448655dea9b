// Distributes every script of the workspace, and says what was done and what was refused.

import { commands, l10n, Uri, window, workspace, type Disposable } from "vscode";
import { ServerCommand, type DistributedWorkspace } from "../protocol";
import { SCHEME, showMarkdown, type Pages } from "../seeing/pages";
import type { Node } from "../seeing/loopsTree";
import type { Server } from "../server/server";
import { confirmNextEdit } from "./confirmation";
import { messageOf } from "./distribute";
import { workspaceReport } from "./workspaceReport";

const REPORT = Uri.from({ scheme: SCHEME, path: "/reports/distributed.md" });

export function registerDistributeWorkspace(server: Server, pages: Pages): Disposable {
  return commands.registerCommand("horovodize.distributeFolders", async (argument?: Node | string) => {
    const connection = await server.connected();
    if (connection === undefined) {
      void window.showWarningMessage(l10n.t("The Horovodize server does not run."));
      return;
    }
    const go = l10n.t("Distribute");
    const chosen = await window.showWarningMessage(
      l10n.t("Distribute every training script of the workspace with Horovod?"),
      { modal: true, detail: l10n.t("The files are changed in the editor and not saved. Undo takes the changes back.") },
      go,
    );
    if (chosen !== go) {
      return;
    }
    const folders =
      typeof argument === "string" ? [argument] : argument?.kind === "folder" ? [argument.folder.uri] : folderUris((uri) => connection.text(uri));
    const { forget } = confirmNextEdit(); // made as a whole; what is to be confirmed is in the report
    try {
      const title = l10n.t("Distributing the workspace");
      const outcome = await connection
        .execute<DistributedWorkspace>(ServerCommand.distributeWorkspace, folders, title)
        .finally(forget); // where nothing was to be changed, no edit came
      pages.put(
        REPORT,
        workspaceReport(outcome, (uri) => workspace.asRelativePath(Uri.parse(uri)), {
          title: l10n.t("Distributed with Horovod"),
          distributed: l10n.t("Distributed"),
          toConfirm: l10n.t("To be confirmed: look at these changes before training"),
          refused: l10n.t("Refused"),
          unchanged: l10n.t("Nothing to do"),
          none: l10n.t("There is no training script in the workspace."),
        }),
      );
      const details = l10n.t("Show Details");
      const counts = [outcome.distributed.length, refusedFiles(outcome), outcome.unchanged.length];
      const again = await (outcome.toConfirm.length === 0
        ? window.showInformationMessage(l10n.t("{0} distributed, {1} refused, {2} left as they are.", ...counts), details)
        : window.showWarningMessage(
            l10n.t("{0} distributed, {1} refused, {2} left as they are. {3} changes are to be confirmed.", ...counts, outcome.toConfirm.length),
            details,
          ));
      if (again === details) {
        await showMarkdown(REPORT);
      }
    } catch (error) {
      void window.showWarningMessage(l10n.t("Distribute with Horovod: {0}", messageOf(error)));
    }
  });
}

function folderUris(text: (uri: Uri) => string): string[] {
  return (workspace.workspaceFolders ?? []).map((folder) => text(folder.uri));
}

function refusedFiles(outcome: DistributedWorkspace): number {
  return new Set(outcome.refused.map((reason) => reason.uri)).size;
}
