// What distributing a workspace came to, as a page of Markdown. Knows nothing of the editor.

import type { DistributedWorkspace } from "../protocol";
import { prose } from "./reasons";

export interface ReportWords {
  readonly title: string;
  readonly distributed: string;
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
  list(
    words.refused,
    outcome.refused.map(({ uri, code, message, location }) => {
      const line = location === undefined || location === null ? "" : `:${String(location.range.start.line + 1)}`;
      return `${prose(nameOf(uri) + line)}: [${code}](../pages/${code}.md) ${prose(message)}`;
    }),
  );
  list(
    words.unchanged,
    outcome.unchanged.map((uri) => prose(nameOf(uri))),
  );
  if (parts.length === 1) {
    parts.push(prose(words.none));
  }
  return `${parts.join("\n\n")}\n`;
}
