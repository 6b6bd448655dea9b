// What was verified: which scripts train the same, and whether that still holds. Shown behind the loops and in the view.

import { EventEmitter, l10n, workspace, type TextDocument, type Uri } from "vscode";
import { Owner } from "../owner";
import { foremost, type Verdict } from "./verdict";

export interface Verified {
  readonly verdict: Verdict;
  /** The page, as `verify` wrote it. */
  readonly report: string;
  /** The script has changed since, or a module beside it. */
  readonly stale: boolean;
}

interface Kept extends Verified {
  /** What was verified. */
  readonly text: string;
  /** Another file was changed: no undo in this one brings that back. */
  readonly others: boolean;
}

export class Verdicts extends Owner {
  private readonly changed = this.own(new EventEmitter<Uri>());
  private readonly kept = new Map<string, Kept>();

  readonly onDidChange = this.changed.event;

  constructor() {
    super();
    this.own(
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0) {
          this.compare(document);
        }
      }),
    );
    this.own(
      workspace.onDidSaveTextDocument((document) => {
        this.otherSaved(document);
      }),
    );
  }

  of(uri: string): Verified | undefined {
    return this.kept.get(uri);
  }

  /** `text` is what the script was when it was verified. */
  put(uri: Uri, text: string, verdict: Verdict, report: string): void {
    this.kept.set(uri.toString(), { verdict, report, text, stale: false, others: false });
    this.changed.fire(uri);
    const now = workspace.textDocuments.find((document) => document.uri.toString() === uri.toString());
    if (now !== undefined) {
      this.compare(now);
    }
  }

  private compare(document: TextDocument): void {
    const one = this.kept.get(document.uri.toString());
    const stale = one !== undefined && (one.others || document.getText() !== one.text);
    if (one !== undefined && one.stale !== stale) {
      this.kept.set(document.uri.toString(), { ...one, stale });
      this.changed.fire(document.uri);
    }
  }

  /** A script may import any other file of its folder. */
  private otherSaved(document: TextDocument): void {
    if (document.languageId !== "python") {
      return;
    }
    const folder = workspace.getWorkspaceFolder(document.uri)?.uri.toString();
    for (const [key, one] of this.kept) {
      if (key !== document.uri.toString() && folder !== undefined && key.startsWith(`${folder}/`) && !one.others) {
        this.kept.set(key, { ...one, others: true, stale: true });
        this.changed.fire(document.uri);
      }
    }
  }
}

/** "trains the same on 2 ranks", "differs …, on 2 ranks", and that this was before a change. */
export function said({ verdict, stale }: Verified): string {
  const run = foremost(verdict);
  if (run === undefined) {
    return "";
  }
  const text = run.alike ? l10n.t("trains the same on {0} ranks", run.ranks) : l10n.t("on {0} ranks: {1}", run.ranks, run.conclusion);
  return stale ? l10n.t("before the last change: {0}", text) : text;
}
