// Distribute with Horovod: has the server apply its edit to a document, and says why where there is none.

import { l10n, window } from "vscode";
import { LSPErrorCodes, ResponseError } from "vscode-languageclient/node";
import { ServerCommand, type Preview } from "../protocol";
import { pageUri, showMarkdown, type Pages } from "../seeing/pages";
import type { Connection } from "../server/connection";
import type { Server } from "../server/server";
import { openPlace, show, targetOf, type Target } from "./target";

export class Distributing {
  constructor(
    private readonly server: Server,
    readonly pages: Pages,
  ) {}

  /** `argument`: what the command was started with. */
  async distribute(argument?: unknown): Promise<void> {
    const target = targetOf(argument);
    if (target === undefined) {
      tellNoScript();
      return;
    }
    await show(target.uri);
    const connection = await this.connected();
    if (connection === undefined) {
      return;
    }
    try {
      await this.apply(connection, target);
    } catch (error) {
      await this.tellWhyNot(connection, target, error);
    }
  }

  /** Has the edit applied. Throws the server's answer where it refuses. */
  async apply(connection: Connection, target: Target): Promise<void> {
    const uri = connection.text(target.uri);
    try {
      await connection.execute(ServerCommand.distribute, [target.version === undefined ? uri : { uri, version: target.version }]);
    } catch (error) {
      if (!hasChanged(error)) {
        throw error;
      }
      await connection.execute(ServerCommand.distribute, [uri]); // a lens of a moment ago means the text of now
    }
  }

  /** Undefined when the server does not run; that is told then. */
  async connected(): Promise<Connection | undefined> {
    const connection = await this.server.connected();
    if (connection === undefined) {
      void window.showWarningMessage(l10n.t("The Horovodize server does not run."), l10n.t("Try Again")).then((chosen) => {
        if (chosen !== undefined) {
          this.server.restart("asked for");
        }
      });
    }
    return connection;
  }

  /** Says why a document can't be distributed, with the way to the place and to the page. */
  private async tellWhyNot(connection: Connection, target: Target, error: unknown): Promise<void> {
    const previews = await connection.execute<Preview[]>(ServerCommand.preview, [connection.text(target.uri)]).catch(() => []);
    const found = previews.find((preview) => "refused" in preview || "unchanged" in preview);
    if (found !== undefined) {
      await this.tellOutcome(found);
    } else {
      void window.showWarningMessage(l10n.t("Distribute with Horovod: {0}", messageOf(error)));
    }
  }

  /** Says what stands in the way of distributing, or that there is nothing to do. */
  async tellOutcome(preview: Preview): Promise<void> {
    if ("unchanged" in preview) {
      void window.showInformationMessage(l10n.t("Distribute with Horovod: {0}", preview.unchanged));
      return;
    }
    const reason = "refused" in preview ? preview.refused[0] : undefined;
    if (reason === undefined) {
      return;
    }
    const [go, explain] = [l10n.t("Go to Place"), l10n.t("Explain {0}", reason.code)];
    const chosen = await window.showWarningMessage(l10n.t("It can't be distributed: {0} ({1})", reason.message, reason.code), go, explain);
    if (chosen === go) {
      await openPlace(reason.location);
    } else if (chosen === explain) {
      await showMarkdown(pageUri(reason.code));
    }
  }
}

export function tellNoScript(): void {
  void window.showInformationMessage(l10n.t("Open a Python script or a notebook first."));
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function hasChanged(error: unknown): boolean {
  return error instanceof ResponseError && error.code === LSPErrorCodes.ContentModified;
}
