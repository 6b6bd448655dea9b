// What a preview would change and why, as a page of Markdown. Knows nothing of the editor.

import type { PreviewedChange, PreviewedText } from "../protocol";

/** The words of the page, in the user's language. */
export interface Words {
  readonly title: (name: string) => string;
  readonly howTo: string;
  readonly toConfirm: string;
  readonly changes: string;
  readonly line: (line: number) => string;
  readonly why: string;
  readonly doubt: string;
}

interface Placed {
  readonly change: PreviewedChange;
  readonly name: string;
}

/** `name`: of what is distributed; `nameOf` says what one of its files or cells is called. */
export function reasonsPage(name: string, texts: readonly PreviewedText[], nameOf: (uri: string) => string, words: Words): string {
  const several = texts.length > 1;
  const all = texts.flatMap(({ uri, changes }) => changes.map((change): Placed => ({ change, name: several ? nameOf(uri) : "" })));
  const doubtful = all.filter(({ change }) => !change.sure);
  const sure = all.filter(({ change }) => change.sure);
  const parts = [`# ${prose(words.title(name))}`, prose(words.howTo)];
  if (doubtful.length > 0) {
    parts.push(`## ${prose(words.toConfirm)}`, ...doubtful.map((placed) => section(placed, words)));
  }
  if (sure.length > 0) {
    parts.push(`## ${prose(words.changes)}`, ...sure.map((placed) => section(placed, words)));
  }
  return `${parts.join("\n\n")}\n`;
}

function section({ change, name }: Placed, words: Words): string {
  const line = words.line(change.location.range.start.line + 1);
  const place = name === "" ? line : `${name}, ${line}`;
  const lines = [`### ${prose(place)}: ${prose(change.title)} ([${change.rule}](../../pages/${change.rule}.md))`, prose(change.what)];
  if (!change.sure && change.doubt !== undefined && change.doubt !== null && change.doubt !== "") {
    lines.push(`**${prose(words.doubt)}** ${prose(change.doubt)}`);
  }
  if (change.why !== "") {
    lines.push(`**${prose(words.why)}** ${prose(change.why)}`);
  }
  return lines.join("\n\n");
}

/** Text of which only `code` is Markdown: what comes from the user's file is never rendered. */
export function prose(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .trim()
    .split(/(`[^`]+`)/)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(/[\\`*_[\]<>&~|#]/g, "\\$&")))
    .join("");
}
