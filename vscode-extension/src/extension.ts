// Puts the parts together. Nothing here waits: the server is looked for, and started, while the editor goes on.

import { commands, window, type ExtensionContext } from "vscode";
import { registerCommands } from "./commands/register";
import { Distributing } from "./commands/distribute";
import { registerDistributeWorkspace } from "./commands/distributeWorkspace";
import { Previews } from "./commands/preview";
import { middleware } from "./middleware";
import { Documents } from "./views/documents";
import { LoopsView } from "./views/loopsView";
import { Pages } from "./views/pages";
import { StatusItem } from "./views/statusItem";
import { TrustItem } from "./views/trustItem";
import { Server } from "./server/server";
import { WorkspacePythons } from "./server/workspacePython";
import { Training } from "./training/training";
import { VerdictDecorations } from "./verifying/decorations";
import { TrainingLenses } from "./verifying/lenses";
import { Verdicts } from "./verifying/verdicts";
import { Verifying } from "./verifying/verifying";

let server: Server | undefined;

/** What other extensions, and tests, may use. */
export interface Api {
  /** The state of the server, and its process while it runs. */
  readonly server: () => { readonly state: string; readonly source?: string; readonly command?: string; readonly processId?: number };
}

export function activate(context: ExtensionContext): Api {
  const log = window.createOutputChannel("Horovodize", { log: true });
  const pythons = new WorkspacePythons();
  const running = (server = new Server(context, log, pythons, middleware));
  const documents = new Documents(running);
  const pages = new Pages(running);
  const distributing = new Distributing(running, pages);
  const previews = new Previews(distributing);
  const training = new Training(context, running, pythons);
  const verdicts = new Verdicts();
  context.subscriptions.push(
    log,
    pythons,
    running,
    documents,
    pages,
    previews,
    new StatusItem(running, documents),
    new TrustItem(),
    new LoopsView(running, verdicts),
    training,
    verdicts,
    new Verifying(running, training, verdicts),
    new VerdictDecorations(running, verdicts),
    new TrainingLenses(running, verdicts),
    registerDistributeWorkspace(running, pages),
    registerCommands(context, running, log, distributing, previews, pages),
  );
  running.restart("the extension is activated");
  void commands.executeCommand("setContext", "horovodize.active", true);
  return {
    server: () => {
      const connection = running.connection;
      return {
        state: running.state.name,
        ...(connection === undefined ? {} : { source: connection.found.source, command: connection.found.command }),
        ...(connection?.processId === undefined ? {} : { processId: connection.processId }),
      };
    },
  };
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
