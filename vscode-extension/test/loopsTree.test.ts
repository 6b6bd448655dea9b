import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileSummary, Loop, WorkspaceSummary } from "../src/protocol";
import { placeOf, treeOf, type Node } from "../src/views/loopsTree";

function range(from: number, to: number): Loop["range"] {
  return { start: { line: from, character: 0 }, end: { line: to, character: 4 } };
}

function file(uri: string, more: Partial<FileSummary> = {}): FileSummary {
  const loop = { kind: "Keras", range: range(3, 5), uri, function: "main", description: "", roles: [{ role: "model", name: "m", range: range(1, 1), uri, detail: "" }] };
  return { uri, state: "distributable", loops: [loop], restrictions: [], ...more };
}

function restriction(uri: string, line: number): FileSummary["restrictions"][number] {
  return { code: "HVD105", name: "aliased-optimizer", message: "m", range: range(line, line), uri };
}

function summary(...folders: [string, FileSummary[]][]): WorkspaceSummary {
  return { complete: true, folders: folders.map(([uri, files]) => ({ uri, name: uri.split("/").at(-1) ?? "", files })) };
}

function shape(nodes: readonly Node[]): unknown {
  return nodes.map((node) => (node.children.length === 0 ? node.kind : [node.kind, shape(node.children)]));
}

test("one folder is not shown as such, several are", () => {
  const a = file("file:///w/a.py");
  assert.deepEqual(shape(treeOf(summary(["file:///w", [a]]))), [["file", [["loop", ["role"]]]]]);
  assert.deepEqual(shape(treeOf(summary(["file:///w", [a]], ["file:///v", [file("file:///v/b.py")]], ["file:///empty", []]))), [
    ["folder", [["file", [["loop", ["role"]]]]]],
    ["folder", [["file", [["loop", ["role"]]]]]],
  ]);
  assert.deepEqual(treeOf(undefined), []);
});

test("of the states that are chosen", () => {
  const files = [file("file:///w/a.py"), file("file:///w/b.py", { state: "blocked" }), file("file:///w/c.py", { state: "distributed" })];
  const shown = (...states: FileSummary["state"][]): string[] =>
    treeOf(summary(["file:///w", files]), new Set(states)).map((node) => (node.kind === "file" ? node.file.uri : node.kind));
  assert.deepEqual(shown("blocked"), ["file:///w/b.py"]);
  assert.deepEqual(shown("distributable", "distributed"), ["file:///w/a.py", "file:///w/c.py"]);
  assert.deepEqual(shown("unreadable"), []);
  assert.equal(treeOf(summary(["file:///w", files])).length, 3);
});

test("a finding belongs to the loop that it is in, others to the file", () => {
  const uri = "file:///w/a.py";
  const [node] = treeOf(summary(["file:///w", [file(uri, { restrictions: [restriction(uri, 4), restriction(uri, 9)] })]]));
  assert.deepEqual(shape(node === undefined ? [] : [node]), [["file", [["loop", ["role", "restriction"]], "restriction"]]]);
});

test("files in order, their paths within the folder and readable", () => {
  const files = ["file:///w/z.py", "file:///w/sub%20dir/a.py", "untitled:Untitled-1"].map((uri) => file(uri));
  const paths = treeOf(summary(["file:///w", files])).map((node) => (node.kind === "file" ? node.path.join("/") : ""));
  assert.deepEqual(paths, ["sub dir/a.py", "Untitled-1", "z.py"].sort((a, b) => a.localeCompare(b)));
});

test("a file that does not train is left out, one that can't be read is not", () => {
  const files = [file("file:///w/a.py", { state: "none", loops: [] }), file("file:///w/b.py", { state: "unreadable", loops: [], problem: "line 3" })];
  const roots = treeOf(summary(["file:///w", files]));
  assert.deepEqual(roots.map((node) => node.id), ["file:///w file:///w/b.py"]);
});

test("what is shown stays the same while it is the same", () => {
  const ids = (nodes: readonly Node[]): string[] => nodes.flatMap((node) => [node.id, ...ids(node.children)]);
  const before = ids(treeOf(summary(["file:///w", [file("file:///w/a.py")]])));
  const after = ids(treeOf(summary(["file:///w", [file("file:///w/a.py", { state: "distributed" })]])));
  assert.deepEqual(after, before);
  assert.equal(new Set(before).size, before.length);
});

test("places", () => {
  const [node] = treeOf(summary(["file:///w", [file("file:///w/a.py")]]));
  assert.deepEqual(node && placeOf(node), { uri: "file:///w/a.py" });
  const loop = node?.children[0];
  assert.deepEqual(loop && placeOf(loop)?.range, range(3, 5));
});
