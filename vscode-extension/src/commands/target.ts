// Which document a command is about: whatever it was started from.

import { commands, l10n, NotebookRange, Range, Uri, window, workspace, type NotebookDocument, type TextDocument } from "vscode";
import { activeUri } from "../views/documents";
import { openScripts } from "../views/openScripts";
import type { Place } from "../views/loopsTree";

/** A document to work on, open in the editor's model. */
export interface Target {
  /** Of a script, or of a notebook as a whole. */
  readonly uri: Uri;
}

/** From the arguments of a command: of a lens, a node of the view, a menu of the editor; else the active editor. */
export function targetOf(argument: unknown): Target | undefined {
  if (argument instanceof Uri) {
    return { uri: wholeOf(argument) };
  }
  if (typeof argument === "string") {
    return { uri: wholeOf(Uri.parse(argument)) };
  }
  if (typeof argument === "object" && argument !== null) {
    if ("uri" in argument && typeof argument.uri === "string") {
      return { uri: wholeOf(Uri.parse(argument.uri)) };
    }
    if ("file" in argument && typeof argument.file === "object") {
      return targetOf(argument.file); // a file, or a loop, of the view
    }
    if ("notebookEditor" in argument) {
      const editor = argument.notebookEditor as { notebookUri?: Uri } | undefined; // a notebook's toolbar
      return editor?.notebookUri === undefined ? active() : { uri: editor.notebookUri };
    }
  }
  return active();
}

function active(): Target | undefined {
  const uri = activeUri();
  return uri === undefined ? undefined : { uri };
}

/** The same; where something else has the focus, such as the walkthrough: the script that is open, or the one of several that the user
 * chooses. Undefined: none is open, and that is told; or the user thought better of it. */
export async function chooseTarget(argument: unknown): Promise<Target | undefined> {
  const meant = targetOf(argument);
  if (meant !== undefined) {
    return meant;
  }
  const open = openScripts();
  const [only] = open;
  if (only === undefined) {
    await tellNoScript();
    return undefined;
  }
  if (open.length === 1) {
    return { uri: only };
  }
  const items = open.map((uri) => {
    const path = workspace.asRelativePath(uri);
    return { label: path.split("/").at(-1) ?? path, description: path, uri };
  });
  const chosen = await window.showQuickPick(items, { title: l10n.t("Which script?"), matchOnDescription: true });
  return chosen === undefined ? undefined : { uri: chosen.uri };
}

async function tellNoScript(): Promise<void> {
  const open = l10n.t("Open File");
  const chosen = await window.showInformationMessage(l10n.t("Open a Python script or a notebook first."), open);
  if (chosen === open) {
    await commands.executeCommand("workbench.action.files.openFile");
  }
}

/** The notebook that a cell is in; other documents are themselves. */
export function wholeOf(uri: Uri): Uri {
  if (uri.scheme !== "vscode-notebook-cell") {
    return uri;
  }
  const text = uri.toString();
  const notebook = workspace.notebookDocuments.find((one) => one.getCells().some((cell) => cell.document.uri.toString() === text));
  return notebook?.uri ?? uri;
}

export function isNotebook(uri: Uri): boolean {
  return uri.path.endsWith(".ipynb") || workspace.notebookDocuments.some((one) => one.uri.toString() === uri.toString());
}

/** Opens a document and shows it, so that the server knows it and the user sees what becomes of it. */
export async function show(uri: Uri): Promise<TextDocument | NotebookDocument> {
  if (isNotebook(uri)) {
    const notebook = await workspace.openNotebookDocument(uri);
    await window.showNotebookDocument(notebook);
    return notebook;
  }
  const document = await workspace.openTextDocument(uri);
  await window.showTextDocument(document);
  return document;
}

/** Opens a document for the server without showing it. */
export async function open(uri: Uri): Promise<TextDocument | NotebookDocument> {
  return isNotebook(uri) ? workspace.openNotebookDocument(uri) : workspace.openTextDocument(uri);
}

/** Goes to a place, in a cell of a notebook too. */
export async function openPlace(place: Place): Promise<void> {
  const uri = Uri.parse(place.uri);
  const range =
    place.range === undefined
      ? undefined
      : new Range(place.range.start.line, place.range.start.character, place.range.end.line, place.range.end.character);
  if (uri.scheme === "vscode-notebook-cell") {
    await openCell(uri, range);
  } else if (isNotebook(uri)) {
    await show(uri);
  } else {
    await commands.executeCommand("vscode.open", uri, range === undefined ? {} : { selection: new Range(range.start, range.start) });
  }
}

async function openCell(uri: Uri, range: Range | undefined): Promise<void> {
  const notebook = workspace.notebookDocuments.find((one) => one.uri.toString() === wholeOf(uri).toString());
  const index = notebook?.getCells().findIndex((cell) => cell.document.uri.toString() === uri.toString()) ?? -1;
  if (notebook === undefined || index === -1) {
    await commands.executeCommand("vscode.open", uri);
    return;
  }
  const selection = new NotebookRange(index, index + 1);
  const editor = await window.showNotebookDocument(notebook, { selections: [selection] });
  editor.revealRange(selection);
  const cell = window.visibleTextEditors.find((one) => one.document.uri.toString() === uri.toString());
  if (cell !== undefined && range !== undefined) {
    cell.revealRange(range);
  }
}
