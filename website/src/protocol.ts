// What the page asks of the engine and what that answers: server/horovodize/browser makes it.

/** A line and a character (UTF-16, from 0), and those of the end. */
export type Range = readonly [number, number, number, number];

export interface Place {
  /** From 1. */
  readonly line: number;
  readonly range: Range;
}

/** `page`: the name of the page about a code or a rule; null: there is none. */
export interface Paged {
  readonly page: string | null;
}

export interface Loop extends Place {
  readonly title: string;
  /** Markdown. */
  readonly hover: string;
}

export interface Finding extends Place, Paged {
  readonly code: string;
  readonly name: string;
  readonly title: string;
  readonly message: string;
  readonly severity: "error" | "warning" | "information" | "hint";
  readonly blocks: boolean;
  readonly related: readonly (Place & { readonly message: string })[];
}

export interface Changes extends Paged {
  readonly rule: string;
  readonly title: string;
  readonly what: string;
  readonly why: string;
  readonly sure: boolean;
  readonly doubt: string;
  readonly places: readonly Place[];
}

export type DiffLine = readonly [sign: " " | "+" | "-", text: string, before: number | null, after: number | null];

export interface Plan {
  readonly text: string;
  readonly changes: readonly Changes[];
  readonly notes: readonly (Place & Paged & { readonly rule: string; readonly message: string })[];
  readonly scalings: readonly { readonly text: string; readonly line: number }[];
  readonly hunks: readonly { readonly line: number; readonly lines: readonly DiffLine[] }[];
  /** Modules that have to stand in the script's folder, by name. */
  readonly beside: Readonly<Record<string, string>>;
}

export type Outcome =
  | { readonly outcome: "plan"; readonly plan: Plan }
  | { readonly outcome: "unchanged"; readonly message: string }
  | {
      readonly outcome: "refused";
      readonly reasons: readonly (Place & Paged & { readonly code: string; readonly message: string })[];
      /** The installed tool may do more here, with LibCST, which browsers don't have. */
      readonly needsLibcst: boolean;
    };

export type Look = Outcome & { readonly world: string; readonly loops: readonly Loop[]; readonly findings: readonly Finding[] };

export interface Hover {
  readonly hover: string;
  readonly range: Range;
}

export interface Opened {
  readonly name: string;
  readonly text?: string;
  readonly leftOut?: readonly string[];
  readonly problem?: string;
}

export interface Text {
  readonly name: string;
  readonly text: string;
  readonly tensorflow: string;
}

/** To the worker. */
export type Question =
  | { readonly id: number; readonly ask: "look"; readonly text: Text }
  | { readonly id: number; readonly ask: "hover"; readonly text: Text; readonly line: number; readonly character: number }
  | { readonly id: number; readonly ask: "open"; readonly name: string; readonly data: ArrayBuffer };

/** From the worker. `done` and `of` are bytes. */
export type Message =
  | { readonly kind: "progress"; readonly done: number; readonly of: number }
  | { readonly kind: "starting" }
  | { readonly kind: "ready"; readonly python: string; readonly version: string }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "answer"; readonly id: number; readonly json: string }
  | { readonly kind: "trouble"; readonly id: number; readonly message: string };
