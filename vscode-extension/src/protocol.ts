// What the server says beyond the Language Server Protocol; see docs/language-server.md.

import type { Location, Range } from "vscode-languageserver-protocol";

export type FileState = "distributed" | "distributable" | "blocked" | "unreadable" | "none";

/** `horovodize/documentSummary`: what an open document trains with; null where it is not the server's. */
export interface FileSummary {
  readonly uri: string;
  readonly state: FileState;
  /** Why it is blocked or can't be read: a sentence. */
  readonly problem?: string | null;
  readonly loops: readonly Loop[];
  readonly restrictions: readonly Restriction[];
  /** Other files that distributing would change, where that is known. */
  readonly project?: readonly string[] | null;
}

export interface Loop {
  /** "Keras", "GradientTape", … */
  readonly kind: string;
  readonly range: Range;
  readonly uri: string;
  readonly function: string;
  readonly description: string;
  readonly roles: readonly Role[];
}

export interface Role {
  /** "optimizer", "model", "dataset", … */
  readonly role: string;
  readonly name: string;
  readonly range: Range;
  readonly uri: string;
  readonly detail: string;
}

export interface Restriction {
  readonly code: string;
  readonly name: string;
  readonly message: string;
  readonly range: Range;
  readonly uri: string;
  readonly href?: string | null;
}

/** `horovodize/workspaceSummary` */
export interface WorkspaceSummary {
  /** False while the server still reads files. */
  readonly complete: boolean;
  readonly folders: readonly FolderSummary[];
}

export interface FolderSummary {
  readonly uri: string;
  readonly name: string;
  readonly files: readonly FileSummary[];
}

export const WORKSPACE_SUMMARY = "horovodize/workspaceSummary";
export const DOCUMENT_SUMMARY = "horovodize/documentSummary";
/** Sent by the server when a summary may have changed and it has nothing else to do. */
export const SUMMARY_CHANGED = "horovodize/workspaceSummaryChanged";

/** An entry of the answer of `horovodize.preview`. */
export type Preview = PreviewedText | RefusedDocument | UnchangedDocument;

export interface PreviewedText {
  readonly uri: string;
  readonly version: number | null;
  readonly oldText: string;
  readonly newText: string;
  readonly changes: readonly PreviewedChange[];
}

export interface PreviewedChange {
  readonly rule: string;
  readonly title: string;
  readonly what: string;
  readonly why: string;
  /** False where the user has to confirm it; then `doubt` says why. */
  readonly sure: boolean;
  readonly doubt?: string | null;
  readonly location: Location;
}

export interface RefusedDocument {
  readonly uri: string;
  readonly refused: readonly { readonly code: string; readonly message: string; readonly location: Location }[];
}

export interface UnchangedDocument {
  readonly uri: string;
  readonly unchanged: string;
}

/** An entry of the answer of `horovodize.explain` without an argument. */
export interface PageName {
  /** "HVD105", "C5" */
  readonly id: string;
  /** "aliased-optimizer"; "" for a rule. */
  readonly name: string;
  /** In a line. */
  readonly title: string;
}

/** The answer of `horovodize.distributeWorkspace`. */
export interface DistributedWorkspace {
  /** What was asked to be distributed, and was: what starts training. */
  readonly scripts: readonly string[];
  /** The files that were changed: scripts, and modules of theirs. */
  readonly distributed: readonly string[];
  /** Changes that were made, and are to be looked at. */
  readonly toConfirm: readonly FileReason[];
  readonly refused: readonly FileReason[];
  readonly unchanged: readonly string[];
}

export interface FileReason {
  readonly uri: string;
  readonly code: string;
  readonly message: string;
  readonly location?: Location | null;
}

export const ServerCommand = {
  distribute: "horovodize.distribute",
  preview: "horovodize.preview",
  explain: "horovodize.explain",
  debugInformation: "horovodize.debugInformation",
  distributeWorkspace: "horovodize.distributeWorkspace",
  reindex: "horovodize.reindex",
} as const;
