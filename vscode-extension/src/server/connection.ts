// One run of the server, and the talk with it. A client is used once: who wants another server makes another client.

import { spawn, type ChildProcess } from "node:child_process";
import { l10n, ProgressLocation, window, type CancellationToken, type CodeAction, type LogOutputChannel, type Uri } from "vscode";
import {
  CloseAction,
  CodeActionResolveRequest,
  ErrorAction,
  ExecuteCommandRequest,
  LanguageClient,
  RevealOutputChannelOn,
  WorkDoneProgress,
  type LanguageClientOptions,
  type Middleware,
  type WorkspaceEdit,
} from "vscode-languageclient/node";
import { SERVED } from "../served";
import { SECTION, withoutOwn } from "../settings";
import type { Found } from "./find";
import type { Running } from "./lifeCycle";
import { killTree } from "./run";
import { Stopped } from "./troubles";

/** A server that has not answered by then does not talk the protocol. Milliseconds. */
const PATIENCE = 60_000;
/** For a server that was told to end. Milliseconds. */
const FAREWELL = 3_000;

export class Connection implements Running {
  readonly ended: Promise<void>;
  private readonly process: { child?: ChildProcess } = {};
  private readonly client: QuietClient;
  private over!: () => void;

  constructor(
    readonly found: Found,
    neutral: string,
    log: LogOutputChannel,
    middleware: Middleware,
  ) {
    this.ended = new Promise((resolve) => (this.over = resolve));
    const options: LanguageClientOptions = {
      documentSelector: SERVED,
      outputChannel: log,
      revealOutputChannelOn: RevealOutputChannelOn.Never, // the log is shown when the user asks
      initializationOptions: { workspaceSummary: true }, // settings are asked for by the server
      initializationFailedHandler: () => false, // `start` tells
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => ({ action: CloseAction.DoNotRestart, handled: true }), // the life cycle decides
      },
      middleware: {
        ...middleware,
        resolveCodeAction: async (item, token, next) => (await this.resolve(item, token)) ?? next(item, token),
        workspace: {
          ...middleware.workspace,
          configuration: async (params, token, next) => {
            const answer = await next(params, token);
            return Array.isArray(answer)
              ? answer.map((section: unknown) => (isObject(section) ? withoutOwn(section) : section))
              : answer;
          },
        },
      },
    };
    this.client = new QuietClient(SECTION, "Horovodize", async () => this.spawn(neutral, log), options);
  }

  /** Resolves when the server has answered `initialize`. Throws Stopped. */
  async start(signal: AbortSignal): Promise<void> {
    let giveUp: NodeJS.Timeout | undefined;
    const end = (): void => {
      killTree(this.process.child?.pid);
    };
    signal.addEventListener("abort", end);
    try {
      const late = new Promise<never>((_, reject) => {
        giveUp = setTimeout(() => {
          reject(new Error(l10n.t("it did not answer within {0} seconds", PATIENCE / 1000)));
        }, PATIENCE);
      });
      const died = this.ended.then(() => {
        throw new Error(l10n.t("it ended at once"));
      });
      died.catch(() => undefined);
      await Promise.race([this.client.start(), late, died]);
    } catch (error) {
      end();
      throw new Stopped(signal.aborted ? { kind: "cancelled" } : { kind: "start", message: error instanceof Error ? error.message : String(error) });
    } finally {
      clearTimeout(giveUp);
      signal.removeEventListener("abort", end);
    }
  }

  async stop(): Promise<void> {
    const child = this.process.child;
    await this.client.dispose(FAREWELL).catch(() => undefined);
    if (child?.exitCode === null && child.signalCode === null) {
      const timer = setTimeout(() => {
        killTree(child.pid);
      }, FAREWELL / 3);
      await this.ended;
      clearTimeout(timer);
    }
  }

  /** Asks for something beyond the protocol; undefined where the server knows it not, or is going. */
  async ask<T>(method: string, params: object, token?: CancellationToken): Promise<T | undefined> {
    try {
      return await (token === undefined ? this.client.sendRequest<T>(method, params) : this.client.sendRequest<T>(method, params, token));
    } catch (error) {
      this.client.debug(`${method}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  /** Has the server run one of its commands. Throws what it answers. With a title, shows how far it is, and can be cancelled. */
  async execute<T>(command: string, args: unknown[], title?: string): Promise<T> {
    const params = { command, arguments: args };
    if (title === undefined) {
      return (await this.client.sendRequest(ExecuteCommandRequest.type, params)) as T;
    }
    return window.withProgress({ location: ProgressLocation.Notification, title, cancellable: true }, async (progress, token) => {
      const workDoneToken = `${command} ${String(++Connection.works)}`;
      let at = 0;
      const listener = this.client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
        if (value.kind !== "end") {
          const percentage = value.percentage ?? at;
          progress.report({ ...(value.message === undefined ? {} : { message: value.message }), increment: percentage - at });
          at = percentage;
        }
      });
      try {
        return (await this.client.sendRequest(ExecuteCommandRequest.type, { ...params, workDoneToken }, token)) as T;
      } finally {
        listener.dispose();
      }
    });
  }

  private static works = 0;

  onNotification(method: string, handle: () => void): void {
    this.client.onNotification(method, handle);
  }

  /** A URI as VS Code has it. */
  uri(text: string): Uri {
    return this.client.protocol2CodeConverter.asUri(text);
  }

  /** A URI as the server has it. */
  text(uri: Uri): string {
    return this.client.code2ProtocolConverter.asUri(uri);
  }

  get processId(): number | undefined {
    return this.process.child?.pid;
  }

  /** An action with its edit; where that has changes which are to be confirmed, with the command that shows all of it, to be made as a
   * whole or not at all: VS Code, asking by itself, leaves such changes out unless ticked. Undefined when there is no answer. */
  private async resolve(item: CodeAction, token: CancellationToken): Promise<CodeAction | undefined> {
    const { code2ProtocolConverter: out, protocol2CodeConverter: back } = this.client;
    const answer = await this.client.sendRequest(CodeActionResolveRequest.type, out.asCodeActionSync(item), token).catch(() => undefined);
    if (answer !== undefined && isDoubtful(answer.edit)) {
      const { uri } = answer.data as { readonly uri: string };
      answer.command = { command: "horovodize.previewDocument", title: answer.title, arguments: [uri] };
      delete answer.edit;
    }
    return back.asCodeAction(answer, token);
  }

  private async spawn(cwd: string, log: LogOutputChannel): Promise<ChildProcess> {
    const { command, args, env } = this.found;
    log.info(`Starting ${[command, ...args].join(" ")}`);
    const child = spawn(command, args, { cwd, env, windowsHide: true });
    this.process.child = child;
    child.on("exit", (code, signal) => {
      log.info(`The server has ended (${signal ?? `status ${String(code)}`})`);
      this.over();
    });
    child.stdin.on("error", () => undefined); // a server that is gone is told by its end
    return new Promise((resolve, reject) => {
      child.once("spawn", () => {
        resolve(child);
      });
      child.once("error", (error) => {
        this.over();
        reject(error);
      });
    });
  }
}

/** Writes to the log what the library would show: there is one notification, and it says what to do. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  override warn(message: string, data?: unknown): void {
    super.warn(message, data, false);
  }

  override info(message: string, data?: unknown): void {
    super.info(message, data, false);
  }
}

function isDoubtful(edit: WorkspaceEdit | undefined): boolean {
  return Object.values(edit?.changeAnnotations ?? {}).some(({ needsConfirmation }) => needsConfirmation === true);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
