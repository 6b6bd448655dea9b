// Python and the engine, in a worker: nothing that they do holds up the page.

import type { Message, Question } from "./protocol";

interface Python {
  readonly runPython: (code: string) => unknown;
  readonly unpackArchive: (data: ArrayBuffer, format: string) => void;
  readonly version: string;
}

interface Engine {
  readonly look: (text: string, name: string, tensorflow: string) => string;
  readonly hover: (text: string, name: string, tensorflow: string, line: number, character: number) => string;
  readonly open: (data: Uint8Array, name: string) => string;
}

/** What the build wrote beside this file: the names and sizes of what is loaded. */
interface Files {
  readonly engine: string;
  readonly version: string;
  readonly sizes: Readonly<Record<string, number>>;
}

const say = (message: Message): void => {
  postMessage(message);
};
const beside = (name: string): string => new URL(name, import.meta.url).href;

const ADAPTER = `
from horovodize.browser import Script, opened

class Engine:
    script = None

    def _of(self, text, name, tensorflow):
        known = self.script
        if known is None:
            self.script = Script(text, name, tensorflow)
        elif (known.document.text, known.document.path, known.options.tensorflow) != (text, name, tensorflow):
            self.script = known.changed(text, name, tensorflow)
        return self.script

    def look(self, text, name, tensorflow):
        return self._of(text, name, tensorflow).look()

    def hover(self, text, name, tensorflow, line, character):
        return self._of(text, name, tensorflow).hover(line, character)

    def open(self, data, name):
        return opened(data.to_bytes(), name)

Engine()
`;

/** Fetches as the page's own fetch does, and says how far it is. What is a WebAssembly program is said to be one, whatever the server says. */
function counted(files: Files): typeof fetch {
  const plain = globalThis.fetch.bind(globalThis);
  const of = Object.values(files.sizes).reduce((sum, size) => sum + size, 0);
  let done = 0;
  say({ kind: "progress", done, of });
  return async (input, init) => {
    const response = await plain(input, init);
    if (!response.ok || response.body === null) {
      return response;
    }
    const counting = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        done = Math.min(done + chunk.byteLength, of);
        say({ kind: "progress", done, of });
        controller.enqueue(chunk);
      },
    });
    const headers = new Headers(response.headers);
    if (response.url.endsWith(".wasm")) {
      headers.set("content-type", "application/wasm");
    }
    return new Response(response.body.pipeThrough(counting), { status: response.status, headers });
  };
}

async function start(): Promise<Engine> {
  const files = (await (await fetch(beside("files.json"), { cache: "no-cache" })).json()) as Files;
  globalThis.fetch = counted(files);
  const loader = (await import(beside("pyodide/pyodide.mjs"))) as { loadPyodide: (options: object) => Promise<Python> };
  const [python, wheel] = await Promise.all([loader.loadPyodide({ indexURL: beside("pyodide/") }), load(files.engine)]);
  say({ kind: "starting" });
  python.unpackArchive(wheel, "wheel");
  const engine = python.runPython(ADAPTER) as Engine;
  engine.look("import tensorflow as tf\n", "first.py", ""); // what a first look loads
  say({ kind: "ready", python: String(python.runPython("import platform; platform.python_version()")), version: files.version });
  return engine;
}

async function load(name: string): Promise<ArrayBuffer> {
  const response = await fetch(beside(name));
  if (!response.ok) {
    throw new Error(`${name}: ${String(response.status)} ${response.statusText}`);
  }
  return response.arrayBuffer();
}

function answer(engine: Engine, question: Question): string {
  if (question.ask === "open") {
    return engine.open(new Uint8Array(question.data), question.name);
  }
  const { text, name, tensorflow } = question.text;
  return question.ask === "look" ? engine.look(text, name, tensorflow) : engine.hover(text, name, tensorflow, question.line, question.character);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const engine = start();
engine.catch((error: unknown) => {
  say({ kind: "failed", message: messageOf(error) });
});

onmessage = (event: MessageEvent<Question>) => {
  void engine.then((started) => {
    try {
      say({ kind: "answer", id: event.data.id, json: answer(started, event.data) });
    } catch (error) {
      say({ kind: "trouble", id: event.data.id, message: messageOf(error) });
    }
  });
};
