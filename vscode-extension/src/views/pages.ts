// The pages about findings and rules, as documents: `horovodize:/pages/HVD105.md`. VS Code shows them rendered, as package.json
// says of such documents.

import { commands, EventEmitter, l10n, Uri, window, workspace, type TextDocumentContentProvider } from "vscode";
import { Owner } from "../owner";
import { ServerCommand, type PageName } from "../protocol";
import type { Server } from "../server/server";
import { done } from "./steps";

export const SCHEME = "horovodize";
/** Of texts as they would be: the path is that of the text as it is. */
export const PREVIEW_SCHEME = "horovodize-preview";

/** The document that is the page about a code ("HVD105") or a rule ("C5"). */
export function pageUri(name: string): Uri {
  return Uri.from({ scheme: SCHEME, path: `/pages/${name}.md` });
}

/** Documents of the extension's own: the pages, and texts that other parts put here. */
export class Pages extends Owner implements TextDocumentContentProvider {
  private readonly changed = this.own(new EventEmitter<Uri>());
  private readonly texts = new Map<string, string>();

  readonly onDidChange = this.changed.event;

  constructor(private readonly server: Server) {
    super();
    for (const scheme of [SCHEME, PREVIEW_SCHEME]) {
      this.own(workspace.registerTextDocumentContentProvider(scheme, this));
    }
  }

  async provideTextDocumentContent(uri: Uri): Promise<string> {
    const kept = this.texts.get(uri.toString());
    if (kept !== undefined) {
      return kept;
    }
    const name = /^\/pages\/(.+)\.md$/.exec(uri.path)?.[1];
    if (name === undefined) {
      return l10n.t("This is no longer there.");
    }
    const connection = await this.server.connected();
    if (connection === undefined) {
      return l10n.t("The Horovodize server does not run.");
    }
    return connection.execute<string>(ServerCommand.explain, [name]).catch(() => l10n.t("There is no page about {0}.", name));
  }

  /** Puts a document there, or another text in its place. */
  put(uri: Uri, text: string): void {
    this.texts.set(uri.toString(), text);
    this.changed.fire(uri);
  }

  remove(uri: Uri): void {
    this.texts.delete(uri.toString());
  }

  /** Opens the page about a code, its name, or a rule; offers all to choose from when none is given. */
  async explain(name?: string): Promise<void> {
    const wanted = name ?? (await this.choose());
    if (wanted !== undefined && wanted.trim() !== "") {
      await showMarkdown(pageUri(wanted.trim()));
      done("explained");
    }
  }

  private async choose(): Promise<string | undefined> {
    const connection = await this.server.connected();
    if (connection === undefined) {
      void window.showWarningMessage(l10n.t("The Horovodize server does not run."));
      return undefined;
    }
    const pages = connection.execute<PageName[]>(ServerCommand.explain, []);
    const items = pages.then((all) => all.map((page) => ({ label: page.id, description: page.name, detail: page.title })));
    const options = { title: l10n.t("Explain a finding or a rule"), matchOnDescription: true, matchOnDetail: true };
    return (await window.showQuickPick(items, options))?.label;
  }
}

/** Opens a Markdown document rendered. */
export async function showMarkdown(uri: Uri, options: { readonly beside?: boolean } = {}): Promise<void> {
  await commands.executeCommand(options.beside === true ? "markdown.showPreviewToSide" : "markdown.showPreview", uri);
}
