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
  /** What a link to a place says where it goes; undefined: none can go there. */
  readonly link: (place: PreviewedChange["location"]) => string | undefined;
}

interface Placed {
  readonly change: PreviewedChange;
  readonly name: string;
}

/** `name`: of what is distributed; `nameOf` says what one of its files or cells is called. What is to be confirmed comes first, each change by
 * itself; the others by rule, each reason once. */
export function reasonsPage(name: string, texts: readonly PreviewedText[], nameOf: (uri: string) => string, words: Words): string {
  const several = texts.length > 1;
  const all = texts.flatMap(({ uri, changes }) => changes.map((change): Placed => ({ change, name: several ? nameOf(uri) : "" })));
  const doubtful = all.filter(({ change }) => !change.sure);
  const sure = all.filter(({ change }) => change.sure);
  const parts = [`# ${prose(words.title(name))}`, prose(words.howTo)];
  if (doubtful.length > 0) {
    parts.push(`## ${prose(words.toConfirm)}`, ...doubtful.map((placed) => question(placed, words)));
  }
  if (sure.length > 0) {
    parts.push(`## ${prose(words.changes)}`, ...[...grouped(sure, ({ change }) => change.rule)].map((group) => ofRule(group, words)));
  }
  return `${parts.join("\n\n")}\n`;
}

function question(placed: Placed, words: Words): string {
  const { change } = placed;
  const lines = [`### ${placeOf(placed, words)}: ${titleOf(change)}`, prose(change.what)];
  if (change.doubt !== undefined && change.doubt !== null && change.doubt !== "") {
    lines.push(`**${prose(words.doubt)}** ${prose(change.doubt)}`);
  }
  if (change.why !== "") {
    lines.push(`**${prose(words.why)}** ${prose(change.why)}`);
  }
  return lines.join("\n\n");
}

function ofRule(group: readonly [Placed, ...Placed[]], words: Words): string {
  const times = group.length > 1 ? `${String(group.length)} × ` : "";
  const lines = [`### ${times}${titleOf(group[0].change)}`];
  for (const alike of grouped(group, ({ change }) => change.why)) {
    const { why } = alike[0].change;
    const items = [...grouped(alike, ({ change }) => change.what)].map(
      (same) => `- ${same.map((placed) => placeOf(placed, words)).join(", ")}: ${prose(same[0].change.what)}`,
    );
    lines.push(...(why === "" ? [] : [`**${prose(words.why)}** ${prose(why)}`]), items.join("\n"));
  }
  return lines.join("\n\n");
}

/** In the order in which the first of each group comes. */
function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Iterable<readonly [T, ...T[]]> {
  const groups = new Map<string, [T, ...T[]]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) {
      groups.set(keyOf(item), [item]);
    } else {
      group.push(item);
    }
  }
  return groups.values();
}

function titleOf(change: PreviewedChange): string {
  return `${prose(change.title)} ([${change.rule}](../../pages/${change.rule}.md))`;
}

/** A link to the line, where one can go there. */
function placeOf({ change, name }: Placed, words: Words): string {
  const line = prose(words.line(change.location.range.start.line + 1));
  const text = name === "" ? line : `${prose(name)}, ${line}`;
  const link = words.link(change.location);
  return link === undefined ? text : `[${text}](<${link}>)`;
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
