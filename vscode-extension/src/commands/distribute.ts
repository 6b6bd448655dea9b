// Distribute with Horovod: has the server apply its edit to a document, and says why where there is none.

import { l10n, window } from "vscode";
import { ServerCommand, type Preview } from "../protocol";
import { confirmNextEdit } from "./confirmation";
import { pageUri, showMarkdown, type Pages } from "../views/pages";
import type { Connection } from "../server/connection";
import type { Server } from "../server/server";
import { chooseTarget, openPlace, show, type Target } from "./target";

export class Distributing {
  /** Shows what would be changed, to be confirmed. */
  onDoubts: (target: Target) => Promise<void> = () => Promise.resolve();

  constructor(
    private readonly server: Server,
    readonly pages: Pages,
  ) {}

  /** `argument`: what the command was started with. Where changes have to be confirmed, all are shown first. */
  async distribute(argument?: unknown): Promise<void> {
    const target = await chooseTarget(argument);
    if (target === undefined) {
      return;
    }
    await show(target.uri);
    const connection = await this.connected();
    if (connection === undefined) {
      return;
    }
    try {
      const previews = await connection.execute<Preview[]>(ServerCommand.preview, [connection.text(target.uri)]);
      const texts = previews.filter((preview) => "newText" in preview);
      const [other] = previews;
      if (texts.length === 0 && other !== undefined) {
        await this.tellOutcome(other);
      } else if (texts.some((text) => text.changes.some((change) => !change.sure))) {
        await this.onDoubts(target);
      } else {
        await this.apply(connection, target);
      }
    } catch (error) {
      void window.showWarningMessage(l10n.t("Distribute with Horovod: {0}", messageOf(error)));
    }
  }

  /** Has the edit applied, to the text of now: a lens of a moment ago means that. Throws the server's answer where it refuses. */
  async apply(connection: Connection, target: Target): Promise<void> {
    await connection.execute(ServerCommand.distribute, [connection.text(target.uri)]);
  }

  /** Has the edit applied as a whole: the user has seen all of it, and what is to be confirmed. */
  async applyConfirmed(target: Target): Promise<void> {
    await show(target.uri);
    const connection = await this.connected();
    if (connection === undefined) {
      return;
    }
    const { came, forget } = confirmNextEdit();
    try {
      await this.apply(connection, target);
      await came;
    } catch (error) {
      forget();
      void window.showWarningMessage(l10n.t("Distribute with Horovod: {0}", messageOf(error)));
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

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
