// What distributing a workspace came to, as a page of Markdown. Knows nothing of the editor.

import type { DistributedWorkspace, FileReason } from "../protocol";
import { prose } from "./reasons";

export interface ReportWords {
  readonly title: string;
  readonly distributed: string;
  readonly toConfirm: string;
  readonly refused: string;
  readonly unchanged: string;
  readonly none: string;
}

export function workspaceReport(outcome: DistributedWorkspace, nameOf: (uri: string) => string, words: ReportWords): string {
  const parts = [`# ${prose(words.title)}`];
  const list = (title: string, items: readonly string[]): void => {
    if (items.length > 0) {
      parts.push(`## ${prose(title)} (${String(items.length)})`, items.map((item) => `- ${item}`).join("\n"));
    }
  };
  list(
    words.distributed,
    outcome.distributed.map((uri) => prose(nameOf(uri))),
  );
  const reason = ({ uri, code, message, location }: FileReason): string => {
    const place = location === undefined || location === null ? nameOf(uri) : `${nameOf(location.uri)}:${String(location.range.start.line + 1)}`;
    return `${prose(place)}: [${code}](../pages/${code}.md) ${prose(message)}`;
  };
  list(words.toConfirm, outcome.toConfirm.map(reason));
  list(words.refused, outcome.refused.map(reason));
  list(
    words.unchanged,
    outcome.unchanged.map((uri) => prose(nameOf(uri))),
  );
  if (parts.length === 1) {
    parts.push(prose(words.none));
  }
  return `${parts.join("\n\n")}\n`;
}
