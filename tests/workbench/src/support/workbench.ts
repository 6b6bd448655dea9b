// The workbench as a person uses it: by keys, and by what is on the screen. Lines and columns count from 1, as on the screen.

import type { Browser, Locator, Page } from "playwright-core";

import type { CodeServer } from "./code-server";
import { plain } from "./text";

const PATIENCE = 120_000; // ms for one thing to appear: so long only where something hangs, on a busy machine too
const SIZE = { width: 1280, height: 800 }; // pixels

/** Waits until a workbench can be used. */
async function loaded(page: Page): Promise<void> {
  await page.locator(".monaco-workbench .part.statusbar").waitFor();
  // Key bindings work from when the explorer has the folder.
  await page.locator(".explorer-folders-view .monaco-list").waitFor();
}

export class Workbench {
  private constructor(readonly page: Page) {}

  /** Opens a folder, or a `.code-workspace` file. */
  static async open(browser: Browser, server: CodeServer, workspace: string): Promise<Workbench> {
    const page = await browser.newPage({ viewport: SIZE });
    page.setDefaultTimeout(PATIENCE);
    await page.goto(server.address(workspace));
    try {
      await loaded(page);
    } catch {
      await page.reload(); // as a person does when a page stays empty
      await loaded(page);
    }
    return new Workbench(page);
  }

  async close(): Promise<void> {
    await this.page.close({ runBeforeUnload: false });
  }

  // Doing

  /** Opens a file by its name, and waits until its text is there in Python. */
  async openFile(name: string): Promise<void> {
    await this.quickly(name, name);
    await this.tab(name).waitFor();
    if (name.endsWith(".ipynb")) {
      await this.page.locator(".notebookOverlay .view-line span span").first().waitFor();
      return;
    }
    await this.editor.locator(".view-line span span").first().waitFor();
    if (name.endsWith(".py")) {
      await this.page.locator("#status\\.editor\\.mode", { hasText: "Python" }).waitFor();
    }
  }

  /** Runs a command from the palette by its title. */
  async run(title: string): Promise<void> {
    await this.quickly(`>${title}`, title);
  }

  /** Runs a command that asks in the same box, at once or soon, under that heading. */
  async runAndBeAsked(title: string, heading: string): Promise<void> {
    await this.enter(`>${title}`, title);
    await this.page.locator(".quick-input-widget .quick-input-title", { hasText: heading }).waitFor();
  }

  /** A row of the box that asks, by its label. */
  row(label: string): Locator {
    return this.page.locator(".quick-input-widget .monaco-list-row", { has: this.page.getByText(label, { exact: true }) });
  }

  /** Whether the box of a row is ticked. */
  async isTicked(label: string): Promise<boolean> {
    const row = this.row(label).first();
    const box = row.locator("input[type=checkbox]");
    return (await box.count()) > 0 ? box.isChecked() : (await row.locator(".monaco-checkbox").getAttribute("aria-checked")) === "true";
  }

  async goTo(line: number, column: number): Promise<void> {
    await this.quickly(`:${String(line)}:${String(column)}`);
    await this.page.locator("#status\\.editor\\.selection", { hasText: `Ln ${String(line)}, Col ${String(column)}` }).waitFor();
  }

  /** Types into the box that asks for commands, files and places, and accepts, or chooses the row with exactly that label. */
  async quickly(text: string, row?: string): Promise<void> {
    await this.enter(text, row);
    await this.page.locator(".quick-input-widget").waitFor({ state: "hidden" });
  }

  private async enter(text: string, row?: string): Promise<void> {
    const box = this.page.locator(".quick-input-widget");
    await this.page.keyboard.press("F1");
    await box.locator("input").first().fill(text);
    if (row === undefined) {
      await this.page.keyboard.press("Enter");
    } else {
      await box.locator(".monaco-list-row").getByText(row, { exact: true }).first().click();
    }
  }

  /** Types at the caret; nothing is completed or closed on the way. */
  async type(text: string): Promise<void> {
    await this.page.keyboard.insertText(text);
  }

  async save(): Promise<void> {
    await this.page.keyboard.press("Control+S");
    await this.dirtyTab.waitFor({ state: "detached" });
  }

  async undo(): Promise<void> {
    await this.page.keyboard.press("Control+Z");
  }

  /** Opens the menu of actions at the caret, and returns its entries' titles. */
  async actions(): Promise<string[]> {
    const rows = this.page.locator(".action-widget .monaco-list-row.action");
    const none = this.page.locator(".monaco-editor-overlaymessage", { hasText: "No code actions available" });
    for (let attempt = 1; ; attempt++) {
      await this.page.keyboard.press("Control+.");
      await rows.or(none).first().waitFor();
      if (await rows.first().isVisible()) {
        return (await rows.allInnerTexts()).map(plain);
      }
      // The editor drops an answer while diagnostics of a change before are on their way: one presses again.
      if (attempt === 3) {
        throw new Error("no actions are offered here");
      }
      await this.page.keyboard.press("Escape");
      await none.waitFor({ state: "detached" });
    }
  }

  /** Chooses from the menu of actions, which is open; Control+Enter shows the edit before it is made. */
  async choose(title: string, key: "Enter" | "Control+Enter" = "Enter"): Promise<void> {
    const titles = (await this.page.locator(".action-widget .monaco-list-row.action").allInnerTexts()).map(plain);
    const steps = titles.indexOf(title);
    if (steps < 0) {
      throw new Error(`no action ${title} among ${titles.join("; ")}`);
    }
    // By keys: a click is swallowed until the mouse has moved.
    for (let step = 0; step < steps; step++) {
      await this.page.keyboard.press("ArrowDown");
    }
    await this.page.locator(".action-widget .monaco-list-row.action.focused", { hasText: title }).waitFor();
    await this.page.keyboard.press(key);
    await this.page.locator(".action-widget").waitFor({ state: "hidden" });
  }

  /** Chooses from a menu that is open, by keys. */
  async chooseFromMenu(title: string): Promise<void> {
    const entries = this.page.locator(".monaco-menu .action-item:not(.disabled) .action-menu-item");
    await entries.first().waitFor();
    const chosen = this.page.locator(".monaco-menu .action-item.focused").getByText(title, { exact: true });
    for (let steps = await entries.count(); steps > 0 && !(await chosen.isVisible()); steps--) {
      await this.page.keyboard.press("ArrowDown");
    }
    await chosen.waitFor();
    await this.page.keyboard.press("Enter");
    await entries.first().waitFor({ state: "detached" });
  }

  // Seeing

  get editor(): Locator {
    return this.page.locator(".editor-group-container.active .monaco-editor").last();
  }

  tab(name: string): Locator {
    return this.page.locator(`.tabs-container .tab.active[data-resource-name="${name}"]`);
  }

  get dirtyTab(): Locator {
    return this.page.locator(".tabs-container .tab.active.dirty");
  }

  /** What is drawn under text. */
  squiggle(loudness: "error" | "warning" | "info" | "hint"): Locator {
    return this.editor.locator(`.cdr.squiggly-${loudness}`);
  }

  lens(text: string | RegExp): Locator {
    return this.editor.locator(".codelens-decoration", { hasText: text });
  }

  /** What stands behind lines of the editor without being text of theirs. */
  async behindLines(): Promise<string[]> {
    return this.page.locator(".monaco-editor .view-line span[class*='ced-']").evaluateAll((found) =>
      // The editor draws it with spaces that do not break.
      found.map((one) => getComputedStyle(one, "::after").content.replaceAll("\u00a0", " ")),
    );
  }

  /** The cell of a notebook that holds a text. */
  cell(text: string): Locator {
    return this.page.locator(".notebookOverlay .monaco-list-row.code-cell-row, .notebookOverlay .monaco-list-row").filter({ hasText: text.replaceAll(" ", "\u00a0") });
  }

  /** A line of the editor that is on the screen. */
  line(text: string | RegExp): Locator {
    return this.editor.locator(".view-line", { hasText: text });
  }

  /** Shows the Problems panel; its rows that hold a text. */
  async problems(): Promise<Locator> {
    const panel = this.page.locator(".markers-panel");
    if (!(await panel.isVisible())) {
      await this.page.keyboard.press("Control+Shift+M");
      await panel.waitFor();
    }
    return panel.locator(".monaco-list-row");
  }

  /** Shows what hovering at the caret would show, and waits until that holds a text. Escape closes it. */
  async hover(text: string | RegExp): Promise<void> {
    await this.page.keyboard.press("Control+K");
    await this.page.keyboard.press("Control+I");
    // What is found first is shown first: the rest is added to it.
    await this.page.locator(".monaco-hover:not(.hidden)", { hasText: text }).first().waitFor();
  }

  /** The language status item that says a text, and details after it. */
  status(text: string): Locator {
    return this.page.locator(`#status\\.languageStatus[aria-label*="${text}"]`);
  }

  /** Shows the view Training Loops; its rows that say a text to a screen reader. */
  async loops(text = ""): Promise<Locator> {
    const view = this.page.locator(".pane", { has: this.page.locator('.pane-header[aria-label^="Training Loops"]') });
    if (!(await view.locator(".pane-body").isVisible())) {
      await this.run("Horovodize: Show Training Loops");
    }
    return view.locator(`.monaco-list-row[aria-label*="${text}"]`);
  }

  /** The panel Refactor Preview, in which the editor itself shows an edit before it makes it. */
  get refactorPreview(): Locator {
    return this.page.locator(".bulk-edit-panel");
  }

  /** What asks or tells in the corner. */
  notification(text: string | RegExp): Locator {
    return this.page.locator(".notifications-toasts .notification-list-item", { hasText: text });
  }

  /** Presses a button of a notification. */
  async answer(notification: Locator, button: string): Promise<void> {
    await notification.locator(".monaco-button", { hasText: button }).focus();
    await this.page.keyboard.press("Enter");
    await notification.waitFor({ state: "detached" });
  }

  /** Presses a button of a dialog that waits for an answer. */
  async answerDialog(button: string): Promise<void> {
    const dialog = this.page.locator(".monaco-dialog-box");
    await dialog.locator(".monaco-button", { hasText: button }).first().click();
    await dialog.waitFor({ state: "detached" });
  }

  /** The text of a page that is shown rendered, once it holds a heading. */
  rendered(heading: string | RegExp): Locator {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame").locator("h1, h2, h3", { hasText: heading });
  }

  /** A link on a page that is shown rendered. */
  renderedLink(text: string): Locator {
    return this.page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame").getByRole("link", { name: text, exact: true });
  }

  get diff(): Locator {
    return this.page.locator(".editor-group-container .monaco-diff-editor");
  }

  async focusEditor(): Promise<void> {
    await this.page.keyboard.press("Control+1");
  }

  async picture(file: string): Promise<void> {
    await this.page.screenshot({ path: file, animations: "disabled", caret: "hide" });
  }
}
