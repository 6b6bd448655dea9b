// What `horovodize verify` found, as the editor keeps it. Knows nothing of the editor.

/** Of the JSON of `horovodize verify`, what is shown here; see docs/verify.md. */
export interface Verdict {
  readonly alike: boolean;
  readonly runs: readonly { readonly ranks: number; readonly alike: boolean; readonly conclusion: string }[];
}

/** Undefined: it is none. */
export function verdictOf(text: string): Verdict | undefined {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { alike, runs } = (given ?? {}) as { alike?: unknown; runs?: unknown };
  if (typeof alike !== "boolean" || !Array.isArray(runs)) {
    return undefined;
  }
  const whole = runs.every((run: unknown) => {
    const { ranks, conclusion, alike: same } = (run ?? {}) as Record<string, unknown>;
    return typeof ranks === "number" && typeof conclusion === "string" && typeof same === "boolean";
  });
  return whole && runs.length > 0 ? (given as Verdict) : undefined;
}

/** The run to be told of: the first that differs, else that on most ranks. */
export function foremost(verdict: Verdict): Verdict["runs"][number] | undefined {
  return verdict.runs.find((run) => !run.alike) ?? [...verdict.runs].sort((a, b) => b.ranks - a.ranks)[0];
}

const LONGEST = 110; // characters of a reason: it stands behind a line of code

export function shortened(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1).trimEnd()}…`;
}

const LIGHT = "--band: #8ab4e8; --alone: #1f5fa8; --ranks: #c2410c; --ok: #15803d; --bad: #b91c1c;";
const DARK = "--band: #35557d; --alone: #8ab4e8; --ranks: #fb923c; --ok: #4ade80; --bad: #f87171;";
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** A report as a webview may show it: nothing is loaded, no script runs. The colours are those of the theme. */
export function guarded(page: string): string {
  const head =
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">` +
    "<style>body { background: var(--vscode-editor-background); color: var(--vscode-editor-foreground); }" +
    // The page asks the system whether it is dark; a theme may be otherwise.
    `body.vscode-light { ${LIGHT} } body.vscode-dark, body.vscode-high-contrast:not(.vscode-high-contrast-light) { ${DARK} }</style>`;
  // Before anything that the page brings, right after what says that it is one.
  const [begin = ""] = /^\s*(?:<!doctype[^>]*>\s*)?(?:<html[^>]*>\s*)?(?:<head[^>]*>)?/i.exec(page) ?? [];
  return `${begin}${head}${page.slice(begin.length)}`;
}

const NAME = "horovodize: ";

/** The last error that the program told; "" when it told none. */
export function lastError(output: string): string {
  const lines = output.split(/\r?\n/).filter((line) => line.startsWith(NAME));
  return lines.at(-1)?.slice(NAME.length).replace(/^error: /, "").trim() ?? "";
}
