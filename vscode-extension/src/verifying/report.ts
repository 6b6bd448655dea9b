// The page of `horovodize verify` beside the script: a webview in which nothing is loaded and no script runs.

import { l10n, ViewColumn, window, type Uri, type WebviewPanel } from "vscode";
import { Owner } from "../owner";
import { guarded } from "./verdict";

export class Reports extends Owner {
  private readonly panels = new Map<string, WebviewPanel>();

  override dispose(): void {
    this.panels.forEach((panel) => {
      panel.dispose();
    });
    super.dispose();
  }

  /** One for each script: another report takes the place of the last. */
  show(script: Uri, name: string, page: string): void {
    const key = script.toString();
    let panel = this.panels.get(key);
    if (panel === undefined) {
      const where = { viewColumn: ViewColumn.Beside, preserveFocus: true };
      const made = window.createWebviewPanel("horovodize.report", "", where, { enableScripts: false, localResourceRoots: [], enableFindWidget: true });
      made.onDidDispose(() => this.panels.delete(key));
      this.panels.set(key, made);
      panel = made;
    } else {
      panel.reveal(undefined, true);
    }
    panel.title = l10n.t("Verified: {0}", name);
    panel.webview.html = guarded(page);
  }
}
