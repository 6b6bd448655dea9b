// What is changed on the way between the server and the editor.

import { CancellationTokenSource, CodeAction, commands, l10n, MarkdownString, Uri, type Command, type Diagnostic } from "vscode";
import type { Middleware, vsdiag } from "vscode-languageclient/node";
import { answered } from "./commands/confirmation";
import { ServerCommand } from "./protocol";
import { pageUri } from "./views/pages";

/** The commands by which lenses and the like ask for what this extension does with more care than the plain command of the server. */
const OURS = new Map<string, string>([
  [ServerCommand.distribute, "horovodize.distributeDocument"],
  [ServerCommand.preview, "horovodize.previewDocument"],
  [ServerCommand.distributeWorkspace, "horovodize.distributeFolders"],
]);

/** The kind of the refactoring that distributes. */
const REWRITE = "refactor.rewrite.horovodize.distribute";

/** A link to a page of the server's, as a file: here it opens as a page. What comes from the user's file is escaped, and has no links. */
const PAGE_LINK = /\]\(<file:[^>]*\/pages\/([A-Z]+\d+)\.md>\)/g;

const NOT_CANCELLED = new CancellationTokenSource();

export const middleware: Middleware = {
  workspace: { handleApplyEdit: async (params, next) => next(answered(params), NOT_CANCELLED.token) },
  executeCommand: (command, args, next) => {
    const ours = OURS.get(command);
    return ours === undefined ? (next(command, args) as unknown) : commands.executeCommand(ours, ...(args as unknown[]));
  },
  provideCodeActions: async (document, range, context, token, next) => {
    const actions = await next(document, range, context, token);
    return actions === null || actions === undefined ? actions : withPreview(actions, document.uri);
  },
  provideHover: async (document, position, token, next) => {
    const hover = await next(document, position, token);
    hover?.contents.forEach((content) => {
      if (content instanceof MarkdownString) {
        content.value = content.value.replace(PAGE_LINK, (_, name: string) => `](command:horovodize.explainFinding?${encodeURIComponent(JSON.stringify([name]))})`);
        content.isTrusted = { enabledCommands: ["horovodize.explainFinding"] };
      }
    });
    return hover;
  },
  handleDiagnostics: (uri, diagnostics, next) => {
    diagnostics.forEach(linkToPage);
    next(uri, diagnostics);
  },
  provideDiagnostics: async (document, previous, token, next) => {
    const report = await next(document, previous, token);
    if (report !== null && report !== undefined && isFull(report)) {
      report.items.forEach(linkToPage);
    }
    return report;
  },
  provideWorkspaceDiagnostics: async (ids, token, reporter, next) => {
    return next(ids, token, (chunk) => {
      chunk?.items.forEach((report) => {
        if (isFull(report)) {
          report.items.forEach(linkToPage);
        }
      });
      reporter(chunk);
    });
  },
};

/** The server offers to distribute as a quick fix of the hint and as a refactoring: in one menu they are one, with the preview beside it. */
function withPreview(actions: readonly (Command | CodeAction)[], uri: Uri): (Command | CodeAction)[] {
  const rewrite = actions.find((action) => isAction(action) && action.kind?.value === REWRITE && action.disabled === undefined);
  if (rewrite === undefined) {
    return [...actions];
  }
  const fix = actions.find((action): action is CodeAction => isAction(action) && action !== rewrite && action.title === rewrite.title);
  const shown = fix ?? (rewrite as CodeAction);
  const preview = new CodeAction(l10n.t("Preview Distribution with Horovod"), shown.kind);
  preview.command = { title: preview.title, command: "horovodize.previewDocument", arguments: [{ uri: uri.toString() }] };
  preview.diagnostics = shown.diagnostics ?? [];
  return actions.flatMap((action) => (action === shown ? [shown, preview] : action === rewrite ? [] : [action]));
}

function isAction(action: Command | CodeAction): action is CodeAction {
  return typeof action.command !== "string";
}

/** By its text: the enumeration would load the whole library. */
function isFull<F extends { readonly kind: vsdiag.DocumentDiagnosticReportKind.full }>(
  report: F | { readonly kind: vsdiag.DocumentDiagnosticReportKind.unChanged },
): report is F {
  const kind: string = report.kind;
  return kind === "full";
}

/** The code of a finding is a link to its page: here it opens as a page, not as the text of one. */
function linkToPage(diagnostic: Diagnostic): void {
  const { code } = diagnostic;
  if (typeof code === "object" && code.target instanceof Uri && code.target.scheme === "file") {
    diagnostic.code = { value: code.value, target: pageUri(String(code.value)) };
  }
}
