// Distributes every script of the workspace, and says what was done and what was refused.

import { commands, l10n, Uri, window, workspace, type Disposable } from "vscode";
import { ServerCommand, type DistributedWorkspace, type Preview } from "../protocol";
import { SCHEME, showMarkdown, type Pages } from "../views/pages";
import type { Node } from "../views/loopsTree";
import type { Connection } from "../server/connection";
import type { Server } from "../server/server";
import { savesDistributed } from "../settings";
import { confirmNextEdit } from "./confirmation";
import { messageOf } from "./distribute";
import { workspaceReport } from "./workspaceReport";
import { chooseScripts } from "./workspaceScripts";

const REPORT = Uri.from({ scheme: SCHEME, path: "/reports/distributed.md" });

export function registerDistributeWorkspace(server: Server, pages: Pages): Disposable {
  return commands.registerCommand("horovodize.distributeFolders", async (argument?: Node | string) => {
    const connection = await server.connected();
    if (connection === undefined) {
      void window.showWarningMessage(l10n.t("The Horovodize server does not run."));
      return;
    }
    const folders =
      typeof argument === "string" ? [argument] : argument?.kind === "folder" ? [argument.folder.uri] : folderUris((uri) => connection.text(uri));
    const saves = savesDistributed();
    const chosen = await chooseScripts(connection, folders, saves);
    if (chosen === undefined) {
      return;
    }
    try {
      const outcome = await distributed(connection, chosen);
      if (saves) {
        await save(outcome);
      }
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
      const counts = [outcome.scripts.length, refusedFiles(outcome), outcome.distributed.length];
      const again = await (outcome.toConfirm.length === 0
        ? window.showInformationMessage(l10n.t("Scripts: {0} distributed, {1} refused. Files changed: {2}.", ...counts), details)
        : window.showWarningMessage(
            l10n.t("Scripts: {0} distributed, {1} refused. Files changed: {2}. Changes to be confirmed: {3}.", ...counts, outcome.toConfirm.length),
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

/** Scripts by one edit; notebooks each by its own, since their cells are edited in the editor's model. */
async function distributed(connection: Connection, uris: readonly string[]): Promise<DistributedWorkspace> {
  const scripts = uris.filter((uri) => !uri.endsWith(".ipynb"));
  const { forget } = confirmNextEdit(); // made as a whole; what is to be confirmed is in the report
  const title = l10n.t("Distributing the workspace");
  const outcome =
    scripts.length === 0
      ? { scripts: [], distributed: [], toConfirm: [], refused: [], unchanged: [] }
      : await connection.execute<DistributedWorkspace>(ServerCommand.distributeWorkspace, scripts, title);
  forget(); // where nothing was to be changed, no edit came
  return uris.filter((uri) => uri.endsWith(".ipynb")).reduce(
    async (before, uri) => joined(await before, await distributedNotebook(connection, uri)),
    Promise.resolve<DistributedWorkspace>(outcome),
  );
}

async function distributedNotebook(connection: Connection, uri: string): Promise<DistributedWorkspace> {
  const nothing: DistributedWorkspace = { scripts: [], distributed: [], toConfirm: [], refused: [], unchanged: [] };
  const previews = await connection.execute<Preview[]>(ServerCommand.preview, [uri]);
  const changes = previews.flatMap((preview) => ("newText" in preview ? preview.changes : []));
  if (!previews.some((preview) => "newText" in preview)) {
    const reasons = previews.flatMap((preview) => ("refused" in preview ? preview.refused : []));
    return reasons.length > 0 ? { ...nothing, refused: reasons.map((reason) => ({ ...reason, uri })) } : { ...nothing, unchanged: [uri] };
  }
  const { came, forget } = confirmNextEdit();
  try {
    await connection.execute(ServerCommand.distribute, [uri]);
    await came;
  } finally {
    forget();
  }
  const doubts = changes.filter((change) => !change.sure);
  const toConfirm = doubts.map((change) => ({ uri, code: change.rule, message: change.doubt ?? change.what, location: change.location }));
  return { ...nothing, scripts: [uri], distributed: [uri], toConfirm };
}

function joined(one: DistributedWorkspace, other: DistributedWorkspace): DistributedWorkspace {
  return {
    scripts: [...one.scripts, ...other.scripts],
    distributed: [...one.distributed, ...other.distributed],
    toConfirm: [...one.toConfirm, ...other.toConfirm],
    refused: [...one.refused, ...other.refused],
    unchanged: [...one.unchanged, ...other.unchanged],
  };
}

async function save(outcome: DistributedWorkspace): Promise<void> {
  const changed = new Set(outcome.distributed);
  for (const document of [...workspace.textDocuments, ...workspace.notebookDocuments]) {
    if (document.isDirty && changed.has(document.uri.toString())) {
      await document.save();
    }
  }
}

function folderUris(text: (uri: Uri) => string): string[] {
  return (workspace.workspaceFolders ?? []).map((folder) => text(folder.uri));
}

function refusedFiles(outcome: DistributedWorkspace): number {
  return new Set(outcome.refused.map((reason) => reason.uri)).size;
}
