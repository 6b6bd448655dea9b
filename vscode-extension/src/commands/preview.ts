// Preview: a diff of what distributing would change, the reasons beside it, and then: apply, or not.

import {
  commands,
  l10n,
  languages,
  TabInputText,
  TabInputTextDiff,
  Uri,
  ViewColumn,
  window,
  workspace,
  type Tab,
} from "vscode";
import { Owner } from "../owner";
import { ServerCommand, type Preview, type PreviewedText } from "../protocol";
import { PREVIEW_SCHEME, SCHEME, showMarkdown } from "../views/pages";
import { done } from "../views/steps";
import { Choice } from "./choice";
import { messageOf, type Distributing } from "./distribute";
import { reasonsPage, type Words } from "./reasons";
import { chooseTarget, show, type Target } from "./target";

interface Shown {
  readonly number: number;
  readonly target: Target;
  readonly texts: readonly PreviewedText[];
  readonly documents: readonly Uri[];
}

export class Previews extends Owner {
  private readonly choice = this.own(new Choice());
  private shown: Shown | undefined;
  private count = 0;
  /** The previews that were applied or discarded; the others were just closed. */
  private readonly decided = new Set<number>();

  constructor(private readonly distributing: Distributing) {
    super();
    distributing.onDoubts = async (target) => this.preview({ uri: target.uri.toString() });
    this.own(
      window.tabGroups.onDidChangeTabs((event) => {
        if (this.shown !== undefined && event.closed.some((tab) => isDiffOf(tab, this.shown)) && !this.hasDiff()) {
          this.forget();
        }
      }),
    );
  }

  /** `argument`: what the command was started with. */
  async preview(argument?: unknown): Promise<void> {
    const target = await chooseTarget(argument);
    if (target === undefined) {
      return;
    }
    await show(target.uri);
    const texts = await this.ask(target);
    if (texts !== undefined) {
      await this.discard();
      await this.open({ uri: target.uri }, texts);
    }
  }

  /** Makes the changes that are shown, unless they would be others by now: then those are shown. */
  async apply(): Promise<void> {
    const { shown } = this;
    if (shown === undefined) {
      void window.showInformationMessage(l10n.t("There is no preview."));
      return;
    }
    const texts = await this.ask(shown.target);
    if (texts === undefined) {
      return;
    }
    await this.discard();
    if (JSON.stringify(texts.map(essence)) !== JSON.stringify(shown.texts.map(essence))) {
      await this.open(shown.target, texts);
      void window.showWarningMessage(l10n.t("The files have changed since. This is what would be changed now."));
      return;
    }
    await this.distributing.applyConfirmed(shown.target);
  }

  /** Closes the preview and leaves everything as it is. */
  async discard(): Promise<void> {
    const { shown } = this;
    if (shown === undefined) {
      return;
    }
    const tabs = allTabs().filter((tab) => isDiffOf(tab, shown) || isReasonsOf(tab, shown));
    this.decided.add(shown.number);
    this.forget();
    await window.tabGroups.close(tabs, true);
    await commands.executeCommand("notifications.hideToasts"); // the question that is answered now
  }

  /** What would be changed; undefined when nothing would: the reason is told then. */
  private async ask(target: Target): Promise<readonly PreviewedText[] | undefined> {
    const connection = await this.distributing.connected();
    if (connection === undefined) {
      return undefined;
    }
    try {
      const previews = await connection.execute<Preview[]>(ServerCommand.preview, [connection.text(target.uri)]);
      const texts = previews.filter((preview): preview is PreviewedText => "newText" in preview);
      if (texts.length > 0) {
        const main = target.uri.toString(); // first, and after it what it imports
        return [...texts.filter((text) => text.uri === main), ...texts.filter((text) => text.uri !== main)];
      }
      for (const preview of previews.slice(0, 1)) {
        void this.distributing.tellOutcome(preview);
      }
    } catch (error) {
      void window.showWarningMessage(l10n.t("Distribute with Horovod: {0}", messageOf(error)));
    }
    return undefined;
  }

  private async open(target: Target, texts: readonly PreviewedText[]): Promise<void> {
    const number = ++this.count;
    const { pages } = this.distributing;
    const sides = await Promise.all(
      texts.map(async (text, index) => {
        const left = Uri.parse(text.uri);
        const right = left.with({ scheme: PREVIEW_SCHEME, authority: "", query: `${String(number)}.${String(index)}`, fragment: "" });
        pages.put(right, text.newText);
        await languages.setTextDocumentLanguage(await workspace.openTextDocument(right), "python");
        return { left, right };
      }),
    );
    const title = l10n.t("Distribute {0} with Horovod", nameOf(target.uri.toString()));
    const reasons = Uri.from({
      scheme: SCHEME,
      path: `/reasons/${String(number)}/${l10n.t("Reasons for {0}", nameOf(target.uri.toString()))}.md`,
    });
    pages.put(reasons, reasonsPage(nameOf(target.uri.toString()), texts, nameOf, words()));
    this.shown = { number, target, texts, documents: [...sides.map((side) => side.right), reasons] };
    await commands.executeCommand("setContext", "horovodize.previewing", true);
    this.choice.show(nameOf(target.uri.toString()));
    await showDiff(title, sides);
    await showMarkdown(reasons, { beside: true });
    await tabOf((tab) => isReasonsOf(tab, this.shown)); // it takes the focus when it comes
    await commands.executeCommand("workbench.action.focusFirstEditorGroup");
    done("previewed");
    void this.offer(number, target, title);
  }

  /** In a notification, which may be put aside and outlive the preview; the status bar keeps the same two for as long as that is there. */
  private async offer(number: number, target: Target, title: string): Promise<void> {
    const [apply, discard] = [l10n.t("Apply"), l10n.t("Discard")];
    const chosen = await window.showInformationMessage(title, apply, discard);
    if (this.shown?.number !== number) {
      if (chosen === apply && !this.decided.has(number)) {
        await this.preview({ uri: target.uri.toString() }); // its tab was closed: nothing is changed that is not on the screen
      }
      return;
    }
    if (chosen === apply) {
      await this.apply();
    } else if (chosen === discard) {
      await this.discard();
    }
  }

  private hasDiff(): boolean {
    return allTabs().some((tab) => isDiffOf(tab, this.shown));
  }

  private forget(): void {
    this.shown?.documents.forEach((uri) => {
      this.distributing.pages.remove(uri);
    });
    this.shown = undefined;
    this.choice.hide();
    void commands.executeCommand("setContext", "horovodize.previewing", false);
  }
}

async function showDiff(title: string, sides: readonly { readonly left: Uri; readonly right: Uri }[]): Promise<void> {
  const [only] = sides;
  if (sides.length === 1 && only !== undefined) {
    await commands.executeCommand("vscode.diff", only.left, only.right, title, { viewColumn: ViewColumn.One, preview: false });
  } else {
    const resources = sides.map(({ left, right }) => [left, left, right]);
    await commands.executeCommand("vscode.changes", title, resources, { viewColumn: ViewColumn.One, preview: false });
  }
}

const PATIENCE = 10_000; // milliseconds for a tab to come

/** Resolves when there is such a tab (or none came). */
async function tabOf(matches: (tab: Tab) => boolean): Promise<void> {
  if (allTabs().some(matches)) {
    return;
  }
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      listener.dispose();
      resolve();
    };
    const timer = setTimeout(done, PATIENCE);
    const listener = window.tabGroups.onDidChangeTabs(() => {
      if (allTabs().some(matches)) {
        done();
      }
    });
  });
}

function words(): Words {
  return {
    title: (name) => l10n.t("What distributing changes in {0}", name),
    howTo: l10n.t("Read the changes, then choose Apply or Discard, above the diff or in the notification. Undo takes them back."),
    toConfirm: l10n.t("To confirm"),
    changes: l10n.t("Changes"),
    line: (line) => l10n.t("line {0}", line),
    why: l10n.t("Why:"),
    doubt: l10n.t("To confirm:"),
    link: ({ uri, range }) => linkTo(Uri.parse(uri), range.start.line + 1),
  };
}

/** VS Code shows no links to files in Markdown of another scheme, but for paths from the first folder of the workspace. */
function linkTo(uri: Uri, line: number): string | undefined {
  const folder = workspace.workspaceFolders?.[0];
  return folder !== undefined && uri.scheme === "file" && workspace.getWorkspaceFolder(uri) === folder
    ? `/${workspace.asRelativePath(uri, false).split("/").map(encodeURIComponent).join("/")}#L${String(line)}`
    : undefined;
}

/** What has to be the same for a change to be the same. */
function essence({ uri, oldText, newText }: PreviewedText): unknown {
  return [uri, oldText, newText];
}

function nameOf(uri: string): string {
  const parsed = Uri.parse(uri);
  const name = parsed.path.split("/").at(-1) ?? parsed.path;
  if (parsed.scheme !== "vscode-notebook-cell") {
    return name;
  }
  for (const notebook of workspace.notebookDocuments) {
    const index = notebook.getCells().findIndex((cell) => cell.document.uri.toString() === parsed.toString());
    if (index !== -1) {
      return l10n.t("{0}, cell {1}", name, index + 1);
    }
  }
  return name;
}

function allTabs(): readonly Tab[] {
  return window.tabGroups.all.flatMap((group) => group.tabs);
}

function isDiffOf(tab: Tab, shown: Shown | undefined): boolean {
  if (shown === undefined) {
    return false;
  }
  const { input } = tab;
  if (input instanceof TabInputTextDiff) {
    return shown.documents.some((uri) => uri.toString() === input.modified.toString());
  }
  // Several files in one editor: its kind of tab is not in the API of the oldest VS Code that we run on.
  const diffs = typeof input === "object" && input !== null && "textDiffs" in input ? (input.textDiffs as { modified: Uri }[]) : [];
  return diffs.some((diff) => shown.documents.some((uri) => uri.toString() === diff.modified.toString()));
}

function isReasonsOf(tab: Tab, shown: Shown | undefined): boolean {
  const name = shown?.documents.at(-1)?.path.split("/").at(-1) ?? "";
  return (tab.input instanceof TabInputText && tab.input.uri.path.endsWith(name)) || (name !== "" && tab.label.endsWith(name));
}
