// The scripts and notebooks of a workspace that train, with boxes: what is to be distributed is chosen before anything is changed.

import { l10n, ProgressLocation, QuickPickItemKind, Uri, window, workspace, type QuickPickItem } from "vscode";
import { DOCUMENT_SUMMARY, WORKSPACE_SUMMARY, type FileSummary, type WorkspaceSummary } from "../protocol";
import type { Connection } from "../server/connection";

const PAUSE = 300; // milliseconds between two questions whether the workspace has been read
const MOST_NOTEBOOKS = 100; // that are opened to see whether they train
const LARGEST_NOTEBOOK = 10 * 2 ** 20; // bytes; larger ones are pictures
const TRAINS = /tensorflow|keras/;

interface Row extends QuickPickItem {
  readonly file?: FileSummary;
}

/** The URIs of what the user wants distributed; undefined: nothing. `folders`: URIs. */
export async function chooseScripts(connection: Connection, folders: readonly string[], willSave: boolean): Promise<readonly string[] | undefined> {
  const files = await window.withProgress({ location: ProgressLocation.Window, title: l10n.t("Reading the workspace …") }, async () => [
    ...(await scriptsOf(connection)),
    ...(await notebooksOf(connection)),
  ]);
  const within = files.filter((file) => folders.some((folder) => file.uri.startsWith(folder.endsWith("/") ? folder : `${folder}/`)));
  const possible = within.filter((file) => file.state === "distributable");
  const impossible = within.filter((file) => file.state === "blocked");
  if (possible.length === 0) {
    void window.showInformationMessage(
      impossible.length === 0
        ? l10n.t("No script here can be distributed: none trains in one process.")
        : l10n.t("No script here can be distributed. Problems and the view Training Loops say what stands in the way of {0}.", impossible.length),
    );
    return undefined;
  }
  const rows: Row[] = possible.map((file) => ({ ...rowOf(file), picked: true }));
  if (impossible.length > 0) {
    rows.push({ label: l10n.t("can't be distributed"), kind: QuickPickItemKind.Separator });
    rows.push(...impossible.map((file) => ({ ...rowOf(file), detail: file.problem ?? file.restrictions[0]?.message ?? "" })));
  }
  const chosen = await window.showQuickPick(rows, {
    title: l10n.t("Distribute these scripts with Horovod"),
    placeHolder: willSave
      ? l10n.t("The files are changed and saved. Undo takes the changes back.")
      : l10n.t("The files are changed in the editor and not saved. Undo takes the changes back."),
    canPickMany: true,
    matchOnDescription: true,
  });
  const uris = chosen?.flatMap(({ file }) => (file === undefined ? [] : [file.uri]));
  return uris?.length === 0 ? undefined : uris;
}

function rowOf(file: FileSummary): Row {
  const path = workspace.asRelativePath(Uri.parse(file.uri));
  const kinds = [...new Set(file.loops.map((loop) => loop.kind))].join(", ");
  return { label: path.split("/").at(-1) ?? path, description: [path, kinds].filter(Boolean).join(" · "), file };
}

/** Once the server has read all of the workspace. */
async function scriptsOf(connection: Connection): Promise<readonly FileSummary[]> {
  for (;;) {
    const summary = await connection.ask<WorkspaceSummary>(WORKSPACE_SUMMARY, {});
    if (summary === undefined || summary.complete) {
      return (summary?.folders ?? []).flatMap((folder) => folder.files).filter((file) => !file.uri.endsWith(".ipynb"));
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

/** Open or not: the server knows notebooks that are open, so the others are opened, without being shown. */
async function notebooksOf(connection: Connection): Promise<readonly FileSummary[]> {
  const found: FileSummary[] = [];
  for (const uri of await workspace.findFiles("**/*.ipynb", undefined, MOST_NOTEBOOKS)) {
    if (!(await mayTrain(uri))) {
      continue;
    }
    try {
      await workspace.openNotebookDocument(uri);
    } catch {
      continue; // not JSON: there is nothing to distribute
    }
    const summary = await connection.ask<FileSummary | null>(DOCUMENT_SUMMARY, { textDocument: { uri: connection.text(uri) } });
    found.push(...(summary === undefined || summary === null ? [] : [summary]));
  }
  return found;
}

async function mayTrain(uri: Uri): Promise<boolean> {
  try {
    const { size } = await workspace.fs.stat(uri);
    return size <= LARGEST_NOTEBOOK && TRAINS.test(new TextDecoder().decode(await workspace.fs.readFile(uri)));
  } catch {
    return false; // gone since
  }
}
