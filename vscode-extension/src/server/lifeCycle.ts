// Starting, stopping and restarting, one after another: a storm of requests ends in one server, and a server that keeps ending
// is not started forever.

import { Stopped, type Trouble } from "./troubles";

/** A server that runs. */
export interface Running {
  /** Ends it; afterwards no process of it is left. */
  stop(): Promise<void>;
  /** Resolves when it has ended, by itself or not. */
  readonly ended: Promise<void>;
}

export type State =
  | { readonly name: "stopped" }
  | { readonly name: "starting" }
  | { readonly name: "running" }
  | { readonly name: "failed"; readonly trouble: Trouble };

export interface LifeCycleOptions<R extends Running> {
  /** Finds and starts a server; gives up, throwing, when `signal` aborts. Throws Stopped with what is in the way. */
  readonly start: (signal: AbortSignal) => Promise<R>;
  readonly onState: (state: State) => void;
  /** So many ends by itself within the period are fixed by starting again. */
  readonly tolerated?: number;
  /** In milliseconds. */
  readonly period?: number;
  readonly now?: () => number;
}

export class LifeCycle<R extends Running> {
  private asked = 0; // how many times something else was asked for
  private done = 0; // which of these is in force
  private wanted = false;
  private running: R | undefined;
  private current = new AbortController();
  private work: Promise<void> | undefined;
  private ends: number[] = [];
  private latest: State = { name: "stopped" };

  constructor(private readonly options: LifeCycleOptions<R>) {}

  get state(): State {
    return this.latest;
  }

  get server(): R | undefined {
    return this.running;
  }

  /** Starts, or starts again with what is found now. Resolves when that, or what was asked for since, is in force. */
  async restart(): Promise<void> {
    this.ends = [];
    return this.ask(true);
  }

  /** Resolves when nothing runs any more. */
  async stop(): Promise<void> {
    return this.ask(false);
  }

  private async ask(wanted: boolean): Promise<void> {
    this.wanted = wanted;
    this.asked++;
    this.current.abort(); // a start that is under way is no longer wanted
    this.work ??= this.settle();
    return this.work;
  }

  private async settle(): Promise<void> {
    while (this.done !== this.asked) {
      const goal = this.asked;
      const controller = (this.current = new AbortController());
      const before = this.running;
      this.running = undefined;
      if (before !== undefined) {
        await before.stop().catch(() => undefined);
      }
      if (goal === this.asked) {
        await this.begin(controller.signal);
      }
      this.done = goal;
    }
    this.work = undefined; // in the same turn: who asks from now on is not to wait for work that is over
  }

  private async begin(signal: AbortSignal): Promise<void> {
    if (!this.wanted) {
      this.enter({ name: "stopped" });
      return;
    }
    this.enter({ name: "starting" });
    try {
      const server = await this.options.start(signal);
      this.running = server;
      if (!signal.aborted) {
        this.enter({ name: "running" });
      }
      void server.ended.then(() => {
        this.hasEnded(server);
      });
    } catch (error) {
      if (!signal.aborted) {
        this.enter({ name: "failed", trouble: troubleOf(error) });
      }
    }
  }

  private hasEnded(server: R): void {
    if (this.running !== server) {
      return; // it was stopped
    }
    this.running = undefined;
    const now = (this.options.now ?? Date.now)();
    this.ends = [...this.ends.filter((time) => now - time < (this.options.period ?? 180_000)), now];
    if (this.ends.length > (this.options.tolerated ?? 3)) {
      this.enter({ name: "failed", trouble: { kind: "crashes", times: this.ends.length } });
      this.ends = [];
    } else if (this.wanted) {
      void this.ask(true);
    }
  }

  private enter(state: State): void {
    this.latest = state;
    this.options.onState(state);
  }
}

function troubleOf(error: unknown): Trouble {
  return error instanceof Stopped ? error.trouble : { kind: "start", message: error instanceof Error ? error.message : String(error) };
}
