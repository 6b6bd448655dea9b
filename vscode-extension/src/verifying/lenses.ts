// Above each loop, after what the server says there: to run the script distributed, to verify and to train it. Not where nothing may be run.

import { CodeLens, EventEmitter, l10n, languages, Range, workspace, type CancellationToken, type CodeLensProvider, type TextDocument } from "vscode";
import { Owner } from "../owner";
import { DOCUMENT_SUMMARY, type FileSummary } from "../protocol";
import type { Server } from "../server/server";
import { lensesShown } from "../settings";
import type { Verdicts } from "./verdicts";

export class TrainingLenses extends Owner implements CodeLensProvider {
  private readonly changed = this.own(new EventEmitter<void>());

  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(
    private readonly server: Server,
    private readonly verdicts: Verdicts,
  ) {
    super();
    const change = (): void => {
      this.changed.fire();
    };
    this.own(server.onDidChangeSummaries(change));
    this.own(verdicts.onDidChange(change));
    this.own(workspace.onDidGrantWorkspaceTrust(change));
    this.own(
      workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("horovodize.codeLens")) {
          change();
        }
      }),
    );
    this.own(languages.registerCodeLensProvider({ scheme: "file", language: "python" }, this));
  }

  async provideCodeLenses(document: TextDocument, token: CancellationToken): Promise<CodeLens[]> {
    const uri = document.uri.toString();
    if (!workspace.isTrusted || !lensesShown(document.uri)) {
      return [];
    }
    const summary = await this.server.connection?.ask<FileSummary | null>(DOCUMENT_SUMMARY, { textDocument: { uri } }, token);
    const offered = OFFERED[summary?.state ?? "none"];
    const lines = new Set(summary?.loops.filter((loop) => loop.uri === uri).map((loop) => loop.range.start.line));
    const report = this.verdicts.of(uri) === undefined ? [] : [{ title: l10n.t("Report"), command: "horovodize.showReport" }];
    return [...lines].flatMap((line) =>
      [...(offered?.() ?? []), ...report].map((command) => new CodeLens(new Range(line, 0, line, 0), { ...command, arguments: [{ uri }] })),
    );
  }
}

const verify = (): { title: string; command: string } => ({ title: l10n.t("Verify"), command: "horovodize.verify" });

const OFFERED: Partial<Record<FileSummary["state"], () => readonly { title: string; command: string }[]>> = {
  distributable: () => [{ title: l10n.t("Run Distributed"), command: "horovodize.run" }, verify()],
  distributed: () => [{ title: l10n.t("Train"), command: "horovodize.train" }, verify()],
};
