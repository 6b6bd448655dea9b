// The summaries of a workspace as a tree: workspace folder, file, loop, roles and restrictions. Knows nothing of the editor.

import type { FileState, FileSummary, FolderSummary, Loop, Restriction, Role, WorkspaceSummary } from "../protocol";

export interface Place {
  readonly uri: string;
  /** From 0; characters in UTF-16 units. Undefined: the document as a whole. */
  readonly range?: Loop["range"];
}

interface NodeBase {
  /** The same while the thing is the same, so that what is open in the view stays open. */
  readonly id: string;
  readonly children: readonly Node[];
}

export interface FolderNode extends NodeBase {
  readonly kind: "folder";
  readonly folder: FolderSummary;
}

export interface FileNode extends NodeBase {
  readonly kind: "file";
  readonly file: FileSummary;
  /** The path in its folder, in parts; the last is the name. */
  readonly path: readonly string[];
}

export interface LoopNode extends NodeBase {
  readonly kind: "loop";
  readonly file: FileSummary;
  readonly loop: Loop;
  readonly state: FileState;
}

export interface RoleNode extends NodeBase {
  readonly kind: "role";
  readonly role: Role;
}

export interface RestrictionNode extends NodeBase {
  readonly kind: "restriction";
  readonly restriction: Restriction;
}

export type Node = FolderNode | FileNode | LoopNode | RoleNode | RestrictionNode;

/** The roots: folders where there are several, else files. `states`: of which files; all where it is not given. */
export function treeOf(summary: WorkspaceSummary | undefined, states?: ReadonlySet<FileState>): readonly Node[] {
  const folders = (summary?.folders ?? []).map((folder) => folderNode(folder, states));
  return folders.length === 1 ? (folders[0]?.children ?? []) : folders.filter((folder) => folder.children.length > 0);
}

function folderNode(folder: FolderSummary, states: ReadonlySet<FileState> | undefined): FolderNode {
  const files = folder.files
    .filter((file) => file.state !== "none" || file.loops.length > 0)
    .filter((file) => states?.has(file.state) ?? true)
    .map((file) => fileNode(file, folder))
    .sort((a, b) => a.path.join("/").localeCompare(b.path.join("/")));
  return { kind: "folder", id: folder.uri, folder, children: files };
}

function fileNode(file: FileSummary, folder: FolderSummary): FileNode {
  const { uri } = file;
  const id = `${folder.uri} ${uri}`;
  // A finding belongs to the loop that it is in, or to the file.
  const owner = (restriction: Restriction): number =>
    file.loops.findIndex((loop) => loop.uri === restriction.uri && contains(loop.range, restriction.range));
  const loops = file.loops.map((loop, index): LoopNode => {
    const key = `${id} loop ${String(index)}`;
    return {
      kind: "loop",
      id: key,
      file,
      loop,
      state: file.state,
      children: [
        ...loop.roles.map((role, i): RoleNode => ({ kind: "role", id: `${key} role ${String(i)}`, role, children: [] })),
        ...file.restrictions
          .filter((restriction) => owner(restriction) === index)
          .map((restriction, i) => restrictionNode(restriction, `${key} restriction ${String(i)}`)),
      ],
    };
  });
  const others = file.restrictions
    .filter((restriction) => owner(restriction) === -1)
    .map((restriction, i) => restrictionNode(restriction, `${id} restriction ${String(i)}`));
  return { kind: "file", id, file, path: pathIn(folder.uri, uri), children: [...loops, ...others] };
}

function restrictionNode(restriction: Restriction, id: string): RestrictionNode {
  return { kind: "restriction", id, restriction, children: [] };
}

/** Where a node is to be found. */
export function placeOf(node: Node): Place | undefined {
  switch (node.kind) {
    case "folder":
      return undefined;
    case "file":
      return { uri: node.file.uri };
    case "loop":
      return node.loop;
    case "role":
      return node.role;
    case "restriction":
      return node.restriction;
  }
}

function contains(outer: Loop["range"], inner: Loop["range"]): boolean {
  const before = (a: { line: number; character: number }, b: { line: number; character: number }): boolean =>
    a.line < b.line || (a.line === b.line && a.character <= b.character);
  return before(outer.start, inner.start) && before(inner.end, outer.end);
}

function pathIn(folder: string, file: string): string[] {
  const root = folder.endsWith("/") ? folder : `${folder}/`;
  const relative = folder !== "" && file.startsWith(root) ? file.slice(root.length) : (file.split(/[/:]/).at(-1) ?? file);
  return relative.split("/").map(decode);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
