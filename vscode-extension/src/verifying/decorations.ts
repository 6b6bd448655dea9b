// Behind the first line of a loop: whether it trains the same.

import { MarkdownString, Range, ThemeColor, window, type DecorationOptions, type TextEditor } from "vscode";
import { Owner } from "../owner";
import { DOCUMENT_SUMMARY, type FileSummary } from "../protocol";
import type { Server } from "../server/server";
import { shortened } from "./verdict";
import { said, type Verdicts } from "./verdicts";

export class VerdictDecorations extends Owner {
  private readonly alike = this.own(decoration("testing.iconPassed"));
  private readonly differing = this.own(decoration("editorWarning.foreground"));
  private readonly stale = this.own(decoration("editorCodeLens.foreground"));

  constructor(
    private readonly server: Server,
    private readonly verdicts: Verdicts,
  ) {
    super();
    const show = (): void => {
      window.visibleTextEditors.forEach((editor) => void this.show(editor));
    };
    this.own(verdicts.onDidChange(show));
    this.own(window.onDidChangeVisibleTextEditors(show));
    this.own(server.onDidChangeSummaries(show));
  }

  private async show(editor: TextEditor): Promise<void> {
    const uri = editor.document.uri.toString();
    const verified = this.verdicts.of(uri);
    const options: DecorationOptions[] = [];
    if (verified !== undefined) {
      const summary = await this.server.connection?.ask<FileSummary | null>(DOCUMENT_SUMMARY, { textDocument: { uri } });
      const text = said(verified);
      const mark = verified.stale ? "–" : verified.verdict.alike ? "✓" : "✗";
      const lines = new Set(summary?.loops.filter((loop) => loop.uri === uri).map((loop) => loop.range.start.line));
      for (const line of lines) {
        const end = editor.document.validateRange(new Range(line, Number.MAX_SAFE_INTEGER, line, Number.MAX_SAFE_INTEGER));
        options.push({ range: end, hoverMessage: new MarkdownString().appendText(text), renderOptions: { after: { contentText: `${mark} ${shortened(text)}` } } });
      }
    }
    const now = this.verdicts.of(uri);
    const kind = now?.stale === true ? this.stale : now?.verdict.alike === true ? this.alike : this.differing;
    for (const one of [this.alike, this.differing, this.stale]) {
      editor.setDecorations(one, one === kind ? options : []);
    }
  }
}

function decoration(color: string): ReturnType<typeof window.createTextEditorDecorationType> {
  return window.createTextEditorDecorationType({
    after: { color: new ThemeColor(color), margin: "0 0 0 2em", fontStyle: "italic" },
  });
}
