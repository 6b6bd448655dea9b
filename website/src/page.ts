// The page: a script in an editor, and beside it what the engine says of it.

import { Editor } from "./editor";
import { Engine, Overtaken, type State } from "./engine";
import { EXAMPLES } from "./examples";
import { element, markdown } from "./prose";
import type { Look, Text } from "./protocol";
import * as show from "./show";

const QUIET = 250; // ms without a change before a script is read
const LARGEST = 2_000_000; // bytes of a file

function part<K extends keyof HTMLElementTagNameMap>(name: K, id: string): HTMLElementTagNameMap[K] {
  const found = document.getElementById(id);
  if (found?.localName !== name) {
    throw new Error(`the page has no ${name} #${id}`);
  }
  return found as HTMLElementTagNameMap[K];
}

const parts = {
  example: part("select", "example"),
  file: part("input", "file"),
  tensorflow: part("select", "tensorflow"),
  state: part("p", "state"),
  progress: part("progress", "progress"),
  verdict: part("p", "verdict"),
  world: part("p", "world"),
  notice: part("p", "notice"),
  questions: part("section", "questions"),
  loops: part("div", "loops"),
  findings: part("div", "findings"),
  plan: part("div", "plan"),
  difference: part("div", "difference"),
  reasons: part("div", "reasons"),
  beside: part("div", "beside"),
  here: part("div", "here"),
  results: part("div", "results"),
  copy: part("button", "copy"),
  download: part("button", "download"),
};

let name = "train.py";
let newline = "\n";
let result: string | undefined;
let soon: number | undefined;
let hereSoon: number | undefined;

const engine = new Engine(told);
const editor = new Editor(part("div", "editor"), "script-heading", {
  changed() {
    parts.results.setAttribute("aria-busy", "true");
    clearTimeout(soon);
    soon = window.setTimeout(() => void read(), QUIET);
  },
  moved() {
    clearTimeout(hereSoon);
    hereSoon = window.setTimeout(() => void tellHere(), QUIET);
  },
  hover: async (line, character) => unlessOvertaken(engine.hover(current(), line, character), null),
});

function current(): Text {
  return { name, text: editor.text.toWellFormed(), tensorflow: parts.tensorflow.value };
}

async function unlessOvertaken<T>(promise: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await promise;
  } catch {
    return otherwise;
  }
}

/** How far loading is, and what the engine does. */
function told(state: State): void {
  const { progress } = parts;
  progress.hidden = state.kind === "ready" || state.kind === "failed";
  switch (state.kind) {
    case "loading": {
      const share = state.of === 0 ? 0 : state.done / state.of;
      progress.value = share;
      say(`Loading Python and the engine: ${megabytes(state.done)} of ${megabytes(state.of)} MB`);
      break;
    }
    case "starting":
      progress.removeAttribute("value");
      say("Starting the engine …");
      break;
    case "ready":
      say(`Horovodize ${state.version} on Python ${state.python}, in this tab. Nothing you enter leaves it.`);
      document.documentElement.dataset.ready = "true";
      break;
    case "failed":
      say(`The engine did not start: ${state.message}`);
      break;
    default:
  }
}

function say(text: string): void {
  if (parts.state.textContent !== text) {
    parts.state.textContent = text;
  }
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

async function read(): Promise<void> {
  const asked = current();
  parts.results.setAttribute("aria-busy", "true");
  try {
    const look = await engine.look(asked);
    if (editor.text.toWellFormed() === asked.text) {
      put(look);
      await tellHere();
    }
  } catch (error) {
    if (!(error instanceof Overtaken)) {
      parts.verdict.className = "verdict bad";
      parts.verdict.textContent = `This could not be read: ${error instanceof Error ? error.message : String(error)}`;
      parts.results.removeAttribute("aria-busy");
    }
  }
}

/** What is said of the place where the cursor is, for those who don't hover. */
async function tellHere(): Promise<void> {
  const { line, character } = editor.cursor;
  const found = await unlessOvertaken(engine.hover(current(), line, character), null);
  const nothing = element("p", { class: "quiet" }, `Nothing is known of line ${String(line + 1)}, column ${String(character + 1)}.`);
  parts.here.replaceChildren(found === null ? nothing : markdown(found.hover));
}

function put(look: Look): void {
  const go = editor.go.bind(editor);
  const { text, kind } = show.verdict(look);
  parts.verdict.className = `verdict ${kind}`;
  parts.verdict.textContent = text;
  parts.world.textContent = `For ${look.world}.`;
  parts.loops.replaceChildren(...show.loops(look, go));
  parts.findings.replaceChildren(...show.findings(look, go));
  const plan = look.outcome === "plan" ? look.plan : undefined;
  result = plan?.text;
  parts.plan.hidden = plan === undefined;
  const asked = plan === undefined ? [] : show.questions(plan, go);
  parts.questions.hidden = asked.length === 0;
  part("ul", "question-list").replaceChildren(...asked);
  if (plan !== undefined) {
    parts.difference.replaceChildren(...show.difference(plan));
    parts.reasons.replaceChildren(...show.reasons(plan, go));
    parts.beside.replaceChildren(...Object.entries(plan.beside).map(([file, content]) => besides(file, content)));
  }
  editor.underline(look.findings);
  parts.results.removeAttribute("aria-busy");
}

function besides(file: string, content: string): Node {
  const button = element("button", { type: "button" }, `Download ${file}`);
  button.addEventListener("click", () => {
    save(file, content);
  });
  return element("p", {}, "Put this module into the script's folder: ", button);
}

function save(file: string, content: string): void {
  const url = URL.createObjectURL(new Blob([content.replaceAll("\n", newline)], { type: "text/x-python" }));
  element("a", { href: url, download: file }).click();
  URL.revokeObjectURL(url);
}

function notice(text: string): void {
  parts.notice.textContent = text;
  parts.notice.hidden = text === "";
}

function open(file: string, text: string): void {
  name = file;
  newline = /\r\n|\r|\n/.exec(text)?.[0] ?? "\n";
  part("span", "name").textContent = file;
  editor.put(text);
}

parts.example.addEventListener("change", () => {
  const example = EXAMPLES.find(({ file }) => file === parts.example.value);
  if (example !== undefined) {
    notice("");
    open(example.file, example.text);
  }
});

parts.file.addEventListener("change", () => {
  const [file] = parts.file.files ?? [];
  if (file !== undefined) {
    void pick(file);
  }
});

async function pick(file: File): Promise<void> {
  if (file.size > LARGEST) {
    notice(`${file.name} is larger than ${megabytes(LARGEST)} MB; the installed tool has no such limit.`);
    return;
  }
  notice(`Opening ${file.name} …`);
  try {
    const opened = await engine.open(file.name, await file.arrayBuffer());
    if (opened.text === undefined) {
      notice(opened.problem ?? "");
      return;
    }
    const notebook = opened.name === file.name ? "" : `This is the script that ${file.name} makes. `;
    const left = opened.leftOut ?? [];
    notice(`${notebook}${left.length > 0 ? `Left out of it: ${left.join("; ")}.` : ""}`.trim());
    parts.example.value = "";
    open(opened.name, opened.text);
  } catch (error) {
    notice(`${file.name} could not be opened: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    parts.file.value = ""; // the same file can be picked again
  }
}

parts.tensorflow.addEventListener("change", () => void read());
parts.copy.addEventListener("click", () => {
  if (result !== undefined) {
    navigator.clipboard.writeText(result).then(
      () => {
        notice("The distributed script is in the clipboard.");
      },
      () => {
        notice("This browser doesn't let the page use the clipboard: download the script instead.");
      },
    );
  }
});
parts.download.addEventListener("click", () => {
  if (result !== undefined) {
    save(name, result);
  }
});

for (const { file, title } of EXAMPLES) {
  parts.example.append(element("option", { value: file }, title));
}
const [first] = EXAMPLES;
if (first !== undefined) {
  parts.example.value = first.file;
  open(first.file, first.text);
}
