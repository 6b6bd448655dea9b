// Apply and Discard in the status bar: there while a preview is, and gone with it.

import { l10n, StatusBarAlignment, window, type StatusBarItem } from "vscode";
import { Owner } from "../owner";

const FIRST = 10_000; // priority: left of what other extensions show

export class Choice extends Owner {
  private readonly items = [
    { command: "horovodize.applyPreview", text: (): string => `$(check) ${l10n.t("Apply")}`, says: (name: string): string => l10n.t("Make the changes that are shown in {0}", name) },
    { command: "horovodize.discardPreview", text: (): string => `$(discard) ${l10n.t("Discard")}`, says: (name: string): string => l10n.t("Close the preview; {0} stays as it is", name) },
  ].map(({ command, text, says }, index) => {
    const item: StatusBarItem = this.own(window.createStatusBarItem(command, StatusBarAlignment.Left, FIRST - index));
    item.command = command;
    item.text = text();
    return { item, says };
  });

  /** `name`: of what is previewed. */
  show(name: string): void {
    for (const { item, says } of this.items) {
      item.tooltip = says(name);
      item.accessibilityInformation = { label: `${item.text.replace(/^\$\([\w-]+\) /, "")}: ${says(name)}`, role: "button" };
      item.show();
    }
  }

  hide(): void {
    this.items.forEach(({ item }) => {
      item.hide();
    });
  }
}
