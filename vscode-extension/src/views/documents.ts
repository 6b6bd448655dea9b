// What the document in the active editor trains with, kept up to date; and the context keys that menus depend on.

import { commands, EventEmitter, window, workspace, type Uri } from "vscode";
import { Owner } from "../owner";
import { DOCUMENT_SUMMARY, type FileSummary } from "../protocol";
import { isServed } from "../served";
import type { Server } from "../server/server";
import { done } from "./steps";

export interface ActiveDocument {
  /** Of a script, or of a notebook as a whole. */
  readonly uri: Uri;
  readonly summary: FileSummary | undefined;
}

export class Documents extends Owner {
  private readonly changed = this.own(new EventEmitter<ActiveDocument | undefined>());
  private latest: ActiveDocument | undefined;
  private asked = 0;

  readonly onDidChangeActive = this.changed.event;

  constructor(private readonly server: Server) {
    super();
    const update = (): void => void this.update();
    this.own(window.onDidChangeActiveTextEditor(update));
    this.own(window.onDidChangeActiveNotebookEditor(update));
    this.own(workspace.onDidOpenTextDocument(update)); // also when a document becomes one of another language
    this.own(server.onDidChangeSummaries(update));
    update();
  }

  get active(): ActiveDocument | undefined {
    return this.latest;
  }

  private async update(): Promise<void> {
    const mine = ++this.asked;
    const uri = activeUri();
    const connection = this.server.connection;
    const summary =
      uri === undefined ? undefined : await connection?.ask<FileSummary | null>(DOCUMENT_SUMMARY, { textDocument: { uri: connection.text(uri) } });
    if (mine !== this.asked) {
      return; // something newer was asked
    }
    this.tick(uri, summary ?? undefined);
    this.latest = uri === undefined ? undefined : { uri, summary: summary ?? undefined };
    void commands.executeCommand("setContext", "horovodize.document", summary?.state ?? "none");
    this.changed.fire(this.latest);
  }

  /** What the user has seen, or done from wherever: by the light bulb, too. */
  private tick(uri: Uri | undefined, summary: FileSummary | undefined): void {
    if ((summary?.loops.length ?? 0) > 0) {
      done("opened");
    }
    const before = this.latest;
    if (before?.uri.toString() === uri?.toString() && before?.summary?.state === "distributable" && summary?.state === "distributed") {
      done("distributed");
    }
  }
}

/** The script, or the notebook, that the user is in; undefined: something else. */
export function activeUri(): Uri | undefined {
  const notebook = window.activeNotebookEditor?.notebook;
  if (notebook !== undefined) {
    return notebook.getCells().some((cell) => cell.document.languageId === "python") ? notebook.uri : undefined;
  }
  const document = window.activeTextEditor?.document;
  return document !== undefined && isServed(document) ? document.uri : undefined;
}
