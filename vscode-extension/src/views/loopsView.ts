// The view Training Loops.

import {
  commands,
  EventEmitter,
  l10n,
  ThemeColor,
  ThemeIcon,
  TreeItem,
  TreeItemCollapsibleState,
  window,
  type TreeDataProvider,
  type TreeView,
} from "vscode";
import { Owner } from "../owner";
import { WORKSPACE_SUMMARY, type FileState, type WorkspaceSummary } from "../protocol";
import type { Server } from "../server/server";
import { said, type Verdicts } from "../verifying/verdicts";
import { placeOf, treeOf, type FileNode, type LoopNode, type Node } from "./loopsTree";

const ICONS: Record<FileState, ThemeIcon> = {
  distributed: new ThemeIcon("pass-filled", new ThemeColor("testing.iconPassed")),
  distributable: new ThemeIcon("rocket", new ThemeColor("charts.blue")),
  blocked: new ThemeIcon("circle-slash", new ThemeColor("list.warningForeground")),
  unreadable: new ThemeIcon("error", new ThemeColor("list.errorForeground")),
  none: new ThemeIcon("circle-outline"),
};

/** In the order in which they are offered. */
const FILTERED: readonly FileState[] = ["distributable", "blocked", "distributed", "unreadable"];

const ROLE_ICONS: Record<string, string> = {
  optimizer: "settings-gear",
  model: "layers",
  dataset: "database",
  tape: "record",
  session: "terminal",
  checkpoint: "save",
  callbacks: "list-unordered",
};

export class LoopsView extends Owner implements TreeDataProvider<Node> {
  private readonly changed = this.own(new EventEmitter<undefined>());
  private readonly view: TreeView<Node>;
  private roots: readonly Node[] = [];
  private summary: WorkspaceSummary | undefined;
  /** The states that are shown; undefined: all. */
  private states: ReadonlySet<FileState> | undefined;
  private asked = 0;

  readonly onDidChangeTreeData = this.changed.event;

  constructor(
    private readonly server: Server,
    private readonly verdicts: Verdicts,
  ) {
    super();
    this.view = this.own(window.createTreeView("horovodize.loops", { treeDataProvider: this, showCollapseAll: true }));
    const refresh = (): void => void this.refresh();
    this.own(server.onDidChangeSummaries(refresh));
    this.own(commands.registerCommand("horovodize.filterLoops", async () => this.filter()));
    this.own(
      verdicts.onDidChange(() => {
        this.changed.fire(undefined);
      }),
    );
    this.own(
      this.view.onDidChangeVisibility((event) => {
        if (event.visible) {
          refresh();
        }
      }),
    );
  }

  getChildren(node?: Node): Node[] {
    return [...(node?.children ?? this.roots)];
  }

  getTreeItem(node: Node): TreeItem {
    const item = itemOf(node);
    item.id = node.id;
    if (node.kind === "file" || node.kind === "loop") {
      this.addVerdict(item, node.file.uri);
    }
    const place = placeOf(node);
    if (place !== undefined) {
      item.command = { command: "horovodize.openPlace", title: l10n.t("Open"), arguments: [place] };
    }
    return item;
  }

  private addVerdict(item: TreeItem, uri: string): void {
    const verified = this.verdicts.of(uri);
    if (verified === undefined) {
      return;
    }
    const text = said(verified);
    item.description = [item.description, text].filter(Boolean).join(", ");
    item.tooltip = typeof item.tooltip === "string" ? `${item.tooltip}\n${text}` : text;
    item.contextValue = `${item.contextValue ?? ""} verified`;
    item.accessibilityInformation = { label: [item.accessibilityInformation?.label, text].filter(Boolean).join(", ") };
  }

  private async refresh(): Promise<void> {
    if (!this.view.visible) {
      return;
    }
    const mine = ++this.asked;
    const summary = await this.server.connection?.ask<WorkspaceSummary>(WORKSPACE_SUMMARY, {});
    if (mine !== this.asked) {
      return;
    }
    this.summary = summary;
    this.show();
  }

  private show(): void {
    this.roots = treeOf(this.summary, this.states);
    const hidden = this.states !== undefined && this.roots.length === 0 ? l10n.t("None in the states that are chosen.") : "";
    this.view.message = this.summary?.complete === false ? l10n.t("Reading the workspace …") : hidden;
    this.view.description = this.states === undefined ? "" : [...this.states].map(stateLabel).join(", ");
    this.changed.fire(undefined);
  }

  private async filter(): Promise<void> {
    const rows = FILTERED.map((state) => ({ label: stateLabel(state), iconPath: ICONS[state], picked: this.states?.has(state) ?? true, state }));
    const chosen = await window.showQuickPick(rows, { title: l10n.t("Show training loops that are …"), canPickMany: true });
    if (chosen !== undefined) {
      const all = chosen.length === 0 || chosen.length === FILTERED.length;
      this.states = all ? undefined : new Set(chosen.map(({ state }) => state));
      void commands.executeCommand("setContext", "horovodize.filtered", this.states !== undefined);
      this.show();
    }
  }
}

function itemOf(node: Node): TreeItem {
  switch (node.kind) {
    case "folder": {
      const item = new TreeItem(node.folder.name, TreeItemCollapsibleState.Expanded);
      item.iconPath = ThemeIcon.Folder;
      item.contextValue = "folder";
      return item;
    }
    case "file":
      return fileItem(node);
    case "loop":
      return loopItem(node);
    case "role": {
      const { role, name, detail } = node.role;
      const item = new TreeItem(name === "" ? role : `${role}: ${name}`);
      item.description = detail;
      item.tooltip = detail;
      item.iconPath = new ThemeIcon(ROLE_ICONS[role] ?? "symbol-variable");
      item.contextValue = "role";
      item.accessibilityInformation = { label: [role, name, detail].filter(Boolean).join(", ") };
      return item;
    }
    case "restriction": {
      const { code, name, message } = node.restriction;
      const item = new TreeItem(brief(name)); // the sentence would be cut off
      item.description = message;
      item.tooltip = `${code} ${name}: ${message}`;
      item.iconPath = new ThemeIcon("warning", new ThemeColor("list.warningForeground"));
      item.contextValue = "restriction";
      item.accessibilityInformation = { label: l10n.t("Finding {0}: {1}", code, message) };
      return item;
    }
  }
}

function fileItem({ file, path, children }: FileNode): TreeItem {
  const name = path.at(-1) ?? file.uri;
  const item = new TreeItem(name, children.length === 0 ? TreeItemCollapsibleState.None : TreeItemCollapsibleState.Expanded);
  const folder = path.slice(0, -1).join("/");
  const state = stateLabel(file.state);
  item.description = folder;
  item.iconPath = ICONS[file.state];
  item.contextValue = `file ${file.state}`;
  item.tooltip = [path.join("/"), state, file.problem].filter(Boolean).join("\n");
  item.accessibilityInformation = { label: [name, folder, state, file.problem].filter(Boolean).join(", ") };
  return item;
}

function loopItem({ loop, state, children }: LoopNode): TreeItem {
  const item = new TreeItem(
    l10n.t("{0} training loop", loop.kind),
    children.length === 0 ? TreeItemCollapsibleState.None : TreeItemCollapsibleState.Collapsed,
  );
  const line = l10n.t("line {0}", loop.range.start.line + 1);
  item.description = [loop.function, line].filter(Boolean).join(", ");
  item.tooltip = [loop.description, stateLabel(state)].filter(Boolean).join("\n");
  item.iconPath = new ThemeIcon("sync", ICONS[state].color);
  item.contextValue = `loop ${state}`;
  item.accessibilityInformation = {
    label: [l10n.t("{0} training loop", loop.kind), loop.function, line, stateLabel(state)].filter(Boolean).join(", "),
  };
  return item;
}

/** A finding's name as words: "aliased-optimizer" is "Aliased optimizer". */
function brief(name: string): string {
  const words = name.replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function stateLabel(state: FileState): string {
  switch (state) {
    case "distributed":
      return l10n.t("distributed with Horovod");
    case "distributable":
      return l10n.t("runs in one process; can be distributed");
    case "blocked":
      return l10n.t("can't be distributed");
    case "unreadable":
      return l10n.t("can't be read");
    case "none":
      return "";
  }
}
