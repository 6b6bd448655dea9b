import assert from "node:assert/strict";
import { test } from "node:test";
import { prose, reasonsPage, type Words } from "../src/commands/reasons";
import { workspaceReport } from "../src/commands/workspaceReport";
import type { PreviewedChange, PreviewedText } from "../src/protocol";

const WORDS: Words = {
  title: (name) => `Changes in ${name}`,
  howTo: "Read them.",
  toConfirm: "To confirm",
  changes: "Changes",
  line: (line) => `line ${String(line)}`,
  why: "Why:",
  doubt: "Doubt:",
  link: ({ uri, range }) => (uri.startsWith("file:") ? `/${name(uri)}#L${String(range.start.line + 1)}` : undefined),
};

function change(rule: string, line: number, more: Partial<PreviewedChange> = {}): PreviewedChange {
  const at = { line, character: 0 };
  return { rule, title: `title of ${rule}`, what: `what ${rule}`, why: `why ${rule}`, sure: true, location: { uri: "file:///a.py", range: { start: at, end: at } }, ...more };
}

function text(uri: string, changes: PreviewedChange[]): PreviewedText {
  return { uri, version: 1, oldText: "", newText: "", changes };
}

const name = (uri: string): string => uri.split("/").at(-1) ?? "";

test("what is to be confirmed comes first, with its doubt; lines count from 1", () => {
  const page = reasonsPage("a.py", [text("file:///a.py", [change("C1", 0), change("K3", 11, { sure: false, doubt: "is it so?" })])], name, WORDS);
  assert.equal(
    page,
    `# Changes in a.py

Read them.

## To confirm

### [line 12](</a.py#L12>): title of K3 ([K3](../../pages/K3.md))

what K3

**Doubt:** is it so?

**Why:** why K3

## Changes

### title of C1 ([C1](../../pages/C1.md))

**Why:** why C1

- [line 1](</a.py#L1>): what C1
`,
  );
});

test("changes of one rule stand together, each reason once, each line a link", () => {
  const changes = [change("C6", 1), change("C1", 0), change("C6", 6), change("C6", 8, { what: "another" }), change("C6", 9, { why: "for this" })];
  const page = reasonsPage("a.py", [text("file:///a.py", changes)], name, WORDS);
  assert.equal(
    page.slice(page.indexOf("### ")),
    `### 4 × title of C6 ([C6](../../pages/C6.md))

**Why:** why C6

- [line 2](</a.py#L2>), [line 7](</a.py#L7>): what C6
- [line 9](</a.py#L9>): another

**Why:** for this

- [line 10](</a.py#L10>): what C6

### title of C1 ([C1](../../pages/C1.md))

**Why:** why C1

- [line 1](</a.py#L1>): what C1
`,
  );
});

test("of several files each change says its own; no link goes into a cell", () => {
  const at = { line: 2, character: 0 };
  const inCell = change("C5", 2, { location: { uri: "vscode-notebook-cell:/b.ipynb#X", range: { start: at, end: at } } });
  const page = reasonsPage("a.py", [text("file:///a.py", [change("C1", 0)]), text("file:///b.py", [inCell])], name, WORDS);
  assert.match(page, /- \[a\.py, line 1\]\(<\/a\.py#L1>\): /);
  assert.match(page, /- b\.py, line 3: /);
  assert.doesNotMatch(page, /To confirm/);
});

test("what is of the user's file is not rendered, code stays code", () => {
  assert.equal(prose("a_b * [x](command:evil) <img> `x*y`"), "a\\_b \\* \\[x\\](command:evil) \\<img\\> `x*y`");
  assert.equal(prose("two\n\n# lines"), "two \\# lines");
});

test("the report of a workspace", () => {
  const words = { title: "Done", distributed: "Distributed", toConfirm: "Look", refused: "Refused", unchanged: "Left", none: "Nothing." };
  const at = { line: 4, character: 0 };
  const report = workspaceReport(
    {
      scripts: ["file:///a.py"],
      distributed: ["file:///a.py"],
      toConfirm: [{ uri: "file:///a.py", code: "C7", message: "is it?", location: { uri: "file:///m.py", range: { start: at, end: at } } }],
      refused: [{ uri: "file:///b.py", code: "HVD203", message: "no", location: { uri: "file:///b.py", range: { start: at, end: at } } }],
      unchanged: [],
    },
    name,
    words,
  );
  assert.equal(report, "# Done\n\n## Distributed (1)\n\n- a.py\n\n## Look (1)\n\n- m.py:5: [C7](../pages/C7.md) is it?\n\n## Refused (1)\n\n- b.py:5: [HVD203](../pages/HVD203.md) no\n");
  assert.equal(workspaceReport({ scripts: [], distributed: [], toConfirm: [], refused: [], unchanged: [] }, name, words), "# Done\n\nNothing.\n");
});
