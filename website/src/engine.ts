// The page's side of the worker: asks, drops what nobody waits for any more, and starts another worker when one hangs.

import type { Hover, Look, Message, Opened, Question, Text } from "./protocol";

type Ask = Question extends infer Q ? (Q extends unknown ? Omit<Q, "id"> : never) : never;

export type State =
  | { readonly kind: "loading"; readonly done: number; readonly of: number }
  | { readonly kind: "starting" | "reading" }
  | { readonly kind: "ready"; readonly python: string; readonly version: string }
  | { readonly kind: "failed"; readonly message: string };

const LONGEST = 60_000; // ms; a script of 10,000 lines takes less

const MOST_HANGS = 3;

/** A question was overtaken by a newer one, or its worker ended. */
export class Overtaken extends Error {}

interface Waiting {
  readonly resolve: (json: string) => void;
  readonly reject: (error: Error) => void;
}

export class Engine {
  private worker: Worker;
  private count = 0;
  private ready = false;
  private hangs = 0;
  private current: (Waiting & { readonly id: number; readonly timer: number }) | undefined;
  /** At most one of each kind waits: the newest. */
  private readonly next = new Map<Ask["ask"], Waiting & { readonly ask: Ask }>();

  constructor(private readonly told: (state: State) => void) {
    this.worker = this.start();
  }

  async look(text: Text): Promise<Look> {
    return JSON.parse(await this.ask({ ask: "look", text })) as Look;
  }

  async hover(text: Text, line: number, character: number): Promise<Hover | null> {
    return JSON.parse(await this.ask({ ask: "hover", text, line, character })) as Hover | null;
  }

  async open(name: string, data: ArrayBuffer): Promise<Opened> {
    return JSON.parse(await this.ask({ ask: "open", name, data })) as Opened;
  }

  private start(): Worker {
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.onmessage = (event: MessageEvent<Message>) => {
      this.heard(event.data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.heard({ kind: "failed", message: event.message || "the worker could not be started" });
    };
    return worker;
  }

  private ask(ask: Ask): Promise<string> {
    return new Promise((resolve, reject) => {
      this.next.get(ask.ask)?.reject(new Overtaken());
      this.next.set(ask.ask, { ask, resolve, reject });
      this.send();
    });
  }

  private send(): void {
    const [first] = this.next.values();
    if (!this.ready || this.current !== undefined || first === undefined) {
      return;
    }
    this.next.delete(first.ask.ask);
    const id = ++this.count;
    const timer = window.setTimeout(() => {
      this.restart();
    }, LONGEST);
    this.current = { id, timer, resolve: first.resolve, reject: first.reject };
    this.worker.postMessage({ id, ...first.ask });
  }

  private heard(message: Message): void {
    switch (message.kind) {
      case "progress":
        this.told({ kind: "loading", done: message.done, of: message.of });
        break;
      case "ready":
        this.ready = true;
        this.told(message);
        this.send();
        break;
      case "answer":
      case "trouble":
        this.answered(message);
        break;
      default:
        this.told(message);
    }
  }

  private answered(message: Message & { readonly id: number }): void {
    const waiting = this.current;
    if (waiting?.id !== message.id) {
      return;
    }
    clearTimeout(waiting.timer);
    this.current = undefined;
    if (message.kind === "answer") {
      waiting.resolve(message.json);
    } else if (message.kind === "trouble") {
      waiting.reject(new Error(message.message));
    }
    this.send();
  }

  private restart(): void {
    const waiting = this.current;
    this.current = undefined;
    this.ready = false;
    this.worker.terminate();
    waiting?.reject(new Error("This script takes longer than a minute to read here. The installed tool may be faster."));
    if (++this.hangs < MOST_HANGS) {
      this.worker = this.start();
    } else {
      this.told({ kind: "failed", message: "reading a script took longer than a minute, several times" });
    }
  }
}
