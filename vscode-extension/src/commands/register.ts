// The commands of package.json that are not another part's own.

import { commands, Disposable, env, l10n, window, type ExtensionContext, type LogOutputChannel } from "vscode";
import type { Distributing } from "./distribute";
import { openPlace } from "./target";
import type { Previews } from "./preview";
import { ServerCommand } from "../protocol";
import type { Place } from "../views/loopsTree";
import type { Pages } from "../views/pages";
import type { Server } from "../server/server";

export function registerCommands(
  context: ExtensionContext,
  server: Server,
  log: LogOutputChannel,
  distributing: Distributing,
  previews: Previews,
  pages: Pages,
): Disposable {
  const handlers: Record<string, (argument?: unknown) => unknown> = {
    "horovodize.distributeDocument": async (argument) => distributing.distribute(argument),
    "horovodize.previewDocument": async (argument) => previews.preview(argument),
    "horovodize.applyPreview": async () => previews.apply(),
    "horovodize.discardPreview": async () => previews.discard(),
    "horovodize.fixAllFindings": () =>
      commands.executeCommand("editor.action.codeAction", { kind: "source.fixAll.horovodize", apply: "first" }),
    "horovodize.explainFinding": async (argument) => pages.explain(nameOf(argument)),
    "horovodize.openPlace": async (argument) => openPlace(argument as Place),
    "horovodize.refreshLoops": async () => refresh(server),
    "horovodize.restartServer": () => {
      server.restart("asked for");
    },
    "horovodize.remakeEnvironment": async () => server.remake(),
    "horovodize.showLog": () => {
      log.show();
    },
    "horovodize.copyDebugInformation": async () => copyDebugInformation(server),
    "horovodize.openWalkthrough": () =>
      commands.executeCommand("workbench.action.openWalkthrough", `${context.extension.id}#horovodize.start`, false),
    "horovodize.showLoops": () => commands.executeCommand("horovodize.loops.focus"),
  };
  return Disposable.from(...Object.entries(handlers).map(([name, handler]) => commands.registerCommand(name, handler)));
}

/** A code, as an argument: itself, or a finding of the view. */
function nameOf(argument: unknown): string | undefined {
  if (typeof argument === "object" && argument !== null && "restriction" in argument) {
    return (argument.restriction as { code: string }).code;
  }
  return typeof argument === "string" ? argument : undefined;
}

async function refresh(server: Server): Promise<void> {
  const connection = await server.connected();
  await connection?.execute(ServerCommand.reindex, [], l10n.t("Reading the workspace")).catch((error: unknown) => {
    void window.showWarningMessage(String(error));
  });
}

async function copyDebugInformation(server: Server): Promise<void> {
  const connection = await server.connected();
  const text =
    connection === undefined
      ? JSON.stringify(server.state, undefined, 2)
      : await connection.execute<unknown>(ServerCommand.debugInformation, []).then((information) => {
          const { source, command, args } = connection.found;
          return JSON.stringify({ server: { source, command: [command, ...args] }, information }, undefined, 2);
        });
  await env.clipboard.writeText(text);
  void window.showInformationMessage(l10n.t("Copied to the clipboard. It holds no text of yours."));
}
