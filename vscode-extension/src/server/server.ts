// The server as the rest of the extension sees it: its state, the connection while there is one, and starting again.

import * as path from "node:path";
import {
  EventEmitter,
  l10n,
  ProgressLocation,
  window,
  workspace,
  type ExtensionContext,
  type LogOutputChannel,
  type Progress,
} from "vscode";
import type { Middleware } from "vscode-languageclient/node";
import { Owner } from "../owner";
import { SECTION, serverPath } from "../settings";
import type { Connection } from "./connection";
import { findServer, serverOfEnvironments, type Source, type Surroundings } from "./find";
import { LifeCycle, type State } from "./lifeCycle";
import { removePrivate } from "./privateEnvironment";
import { tell } from "./notifications";
import { Stopped } from "./troubles";
import type { WorkspacePythons } from "./workspacePython";

export class Server extends Owner {
  private readonly changed = this.own(new EventEmitter<State>());
  private readonly summaries = this.own(new EventEmitter<void>());
  private readonly lifeCycle: LifeCycle<Connection>;
  private remade = false;

  readonly onDidChangeState = this.changed.event;
  /** What scripts train with may have changed. */
  readonly onDidChangeSummaries = this.summaries.event;

  constructor(
    private readonly context: ExtensionContext,
    private readonly log: LogOutputChannel,
    private readonly pythons: WorkspacePythons,
    private readonly middleware: Middleware,
  ) {
    super();
    this.lifeCycle = new LifeCycle<Connection>({
      start: async (signal) => this.start(signal),
      onState: (state) => {
        this.enter(state);
      },
    });
    this.own(
      workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration(`${SECTION}.path`)) {
          this.restart("horovodize.path has changed");
        }
      }),
    );
    this.own(
      workspace.onDidGrantWorkspaceTrust(() => {
        this.restart("the workspace is trusted now");
      }),
    );
    this.own(pythons.onDidChange(() => void this.follow()));
  }

  get state(): State {
    return this.lifeCycle.state;
  }

  get connection(): Connection | undefined {
    return this.state.name === "running" ? this.lifeCycle.server : undefined;
  }

  /** The connection, when it is there; undefined when it will not be. */
  async connected(): Promise<Connection | undefined> {
    while (this.state.name === "starting") {
      await new Promise<void>((resolve) => {
        const listener = this.onDidChangeState(() => {
          listener.dispose();
          resolve();
        });
      });
    }
    return this.connection;
  }

  /** Starts, or starts again. Returns at once. */
  restart(reason: string): void {
    this.log.info(`Restart: ${reason}`);
    void this.lifeCycle.restart();
  }

  async stop(): Promise<void> {
    return this.lifeCycle.stop();
  }

  /** Takes the private environment away and starts again. */
  async remake(): Promise<void> {
    await this.lifeCycle.stop();
    await removePrivate(this.surroundings().private);
    this.restart("the private environment is made again");
  }

  /** Another Python was chosen. */
  private async follow(): Promise<void> {
    const running = this.connection?.found;
    if (running?.source === "path") {
      return;
    }
    if (running !== undefined) {
      const around = this.surroundings();
      const found = await serverOfEnvironments(around, await around.workspacePythons(), new AbortController().signal);
      if ((found?.command ?? "") === (running.source === "environment" ? running.command : "")) {
        return; // the same server would be started
      }
    }
    this.restart("another Python was chosen");
  }

  private enter(state: State): void {
    if (state.name === "failed") {
      this.log.error(`The server does not run: ${JSON.stringify(state.trouble)}`);
      void tell(
        state.trouble,
        () => {
          this.log.show();
        },
        () => {
          this.restart("asked for");
        },
      );
    }
    this.changed.fire(state);
    this.summaries.fire();
  }

  private async start(signal: AbortSignal): Promise<Connection> {
    const loading = import("./connection.js"); // the library is large, and not needed before
    const around = this.surroundings();
    const without: Source[] = [];
    for (;;) {
      const found = await findServer(around, signal, without);
      const { Connection } = await loading;
      const connection = new Connection(found, around.neutral, this.log, this.middleware);
      try {
        await connection.start(signal);
        connection.onNotification("horovodize/workspaceSummaryChanged", () => {
          this.summaries.fire();
        });
        return connection;
      } catch (error) {
        await connection.stop();
        if (signal.aborted || !(error instanceof Stopped)) {
          throw error;
        }
        if (found.source === "environment") {
          this.log.warn(`Horovodize of ${found.command} does not start; the server shipped with the extension is used`);
          without.push("environment");
        } else if (found.source === "private" && !this.remade) {
          this.log.warn("The private environment is broken; it is made again");
          this.remade = true; // once
          await removePrivate(around.private);
        } else {
          throw error;
        }
      }
    }
  }

  private surroundings(): Surroundings {
    return {
      path: serverPath(),
      workspacePythons: async () => this.pythons.all(),
      private: {
        folder: path.join(this.context.globalStorageUri.fsPath, "environments"),
        wheels: this.context.asAbsolutePath("server"),
        log: (line) => {
          this.log.info(line);
        },
      },
      withProgress: async (work, signal) => withProgress(work, signal),
      neutral: this.context.extensionPath,
      log: (line) => {
        this.log.info(line);
      },
    };
  }
}

async function withProgress<T>(
  work: (progress: (step: "environment" | "packages") => void, signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const options = { location: ProgressLocation.Notification, title: l10n.t("Preparing Horovodize (once)"), cancellable: true };
  return window.withProgress(options, async (progress: Progress<{ message: string }>, token) => {
    const both = new AbortController();
    const abort = (): void => {
      both.abort();
    };
    signal.addEventListener("abort", abort);
    const listener = token.onCancellationRequested(abort);
    try {
      return await work((step) => {
        progress.report({
          message: step === "environment" ? l10n.t("making a Python environment") : l10n.t("installing the server"),
        });
      }, both.signal);
    } finally {
      listener.dispose();
      signal.removeEventListener("abort", abort);
    }
  });
}
