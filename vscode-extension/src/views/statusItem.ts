// The language status item: what the script in the editor trains with, or why the server does not run.

import { l10n, languages, LanguageStatusSeverity, type LanguageStatusItem } from "vscode";
import { Owner } from "../owner";
import type { FileSummary } from "../protocol";
import { SERVED } from "../served";
import { brief, sentence } from "../server/notifications";
import type { Server } from "../server/server";
import type { Documents } from "./documents";

const LONGEST = 60; // characters of a reason

export class StatusItem extends Owner {
  private readonly item: LanguageStatusItem;

  constructor(
    private readonly server: Server,
    private readonly documents: Documents,
  ) {
    super();
    this.item = this.own(languages.createLanguageStatusItem("horovodize", SERVED));
    this.item.name = "Horovodize";
    const show = (): void => {
      this.show();
    };
    this.own(server.onDidChangeState(show));
    this.own(documents.onDidChangeActive(show));
    show();
  }

  private show(): void {
    const { item } = this;
    const { state } = this.server;
    item.busy = state.name === "starting";
    item.severity = LanguageStatusSeverity.Information;
    if (state.name === "running") {
      this.showSummary(this.documents.active?.summary);
    } else if (state.name === "failed") {
      item.severity = LanguageStatusSeverity.Error;
      item.text = l10n.t("Horovodize does not run");
      item.detail = brief(state.trouble);
      item.command = { command: "horovodize.restartServer", title: l10n.t("Try Again") };
    } else {
      item.text = "Horovodize";
      item.detail = state.name === "starting" ? l10n.t("starting") : l10n.t("stopped");
      item.command = { command: "horovodize.showLog", title: l10n.t("Show Log") };
    }
    const detail = state.name === "failed" ? sentence(state.trouble) : item.detail;
    item.accessibilityInformation = { label: [item.text, detail].filter(Boolean).join(": ") };
  }

  private showSummary(summary: FileSummary | undefined): void {
    const { item } = this;
    const kinds = [...new Set(summary?.loops.map((loop) => loop.kind))].join(", ");
    item.text = kinds === "" ? l10n.t("No training loop") : l10n.t("{0} training loop", kinds);
    item.detail = "Horovodize";
    item.command = { command: "horovodize.showLog", title: l10n.t("Show Log") };
    switch (summary?.state) {
      case "distributed":
        item.detail = l10n.t("distributed with Horovod");
        item.command = { command: "horovodize.train", title: l10n.t("Train …") };
        break;
      case "distributable":
        item.detail = l10n.t("runs in one process; can be distributed");
        item.command = { command: "horovodize.previewDocument", title: l10n.t("Preview Distribution") };
        break;
      case "blocked":
        item.severity = LanguageStatusSeverity.Warning;
        item.detail = withReason(l10n.t("can't be distributed"), summary.problem ?? summary.restrictions[0]?.message);
        item.command = { command: "workbench.actions.view.problems", title: l10n.t("Show Problems") };
        break;
      case "unreadable":
        item.severity = LanguageStatusSeverity.Warning;
        item.text = l10n.t("Not readable");
        item.detail = summary.problem ?? l10n.t("the file does not parse");
        item.command = { command: "workbench.actions.view.problems", title: l10n.t("Show Problems") };
        break;
      case "none":
      case undefined:
        break;
    }
  }
}

function withReason(text: string, reason: string | null | undefined): string {
  if (reason === undefined || reason === null || reason === "") {
    return text;
  }
  // A longer one would push the command out of sight; Problems has all of it.
  return `${text}: ${reason.length <= LONGEST ? reason : `${reason.slice(0, LONGEST - 1).trimEnd()}…`}`;
}
