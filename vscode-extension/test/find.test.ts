import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { choosePython, expandPath, findServer, type Found, type Surroundings } from "../src/server/find";
import { looksOffline } from "../src/server/privateEnvironment";
import { askPython, isAtLeast, isNewEnough, isPythonName, parseAnswer } from "../src/server/python";
import { Stopped, type Trouble } from "../src/server/troubles";
import { folder, program, python } from "./pythons";

const WANTED = new AbortController().signal;

interface Place {
  readonly root: string;
  readonly around: Surroundings;
  readonly log: string[];
  readonly steps: string[];
}

function place(context: TestContext, changes: Partial<Surroundings> = {}): Place {
  const root = folder(context);
  const wheels = path.join(root, "wheels");
  mkdirSync(wheels);
  writeFileSync(path.join(wheels, "horovodize-0.1.0-py3-none-any.whl"), "a wheel");
  const log: string[] = [];
  const steps: string[] = [];
  const note = (line: string): void => void log.push(line);
  const around: Surroundings = {
    path: "",
    workspacePythons: () => Promise.resolve([]),
    private: { folder: path.join(root, "environments"), wheels, log: note },
    withProgress: async (work, signal) => work((step) => void steps.push(step), signal),
    neutral: root,
    log: note,
    ...changes,
  };
  return { root, around, log, steps };
}

async function trouble(work: Promise<unknown>): Promise<Trouble> {
  const error: unknown = await work.then(
    () => assert.fail("it did not fail"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof Stopped, String(error));
  return error.trouble;
}

function start({ source, command, args }: Found): unknown {
  return { source, command, args };
}

test("the setting comes first: a program", async (context) => {
  const { root, around } = place(context);
  const file = program(path.join(root, "horovodize"), 'test "$1" = --version && echo "horovodize 0.3.0"');
  const found = await findServer({ ...around, path: file, workspacePythons: () => assert.fail("not asked") }, WANTED);
  assert.deepEqual(start(found), { source: "path", command: file, args: ["server"] });
});

test("the setting comes first: a Python", async (context) => {
  const { root, around } = place(context);
  const file = python(path.join(root, "python3.11"), { horovodize: "0.1.0" });
  assert.deepEqual(start(await findServer({ ...around, path: file }, WANTED)), {
    source: "path",
    command: file,
    args: ["-m", "horovodize", "server"],
  });
});

test("a setting that is wrong is told, and nothing else is taken instead", async (context) => {
  const { root, around } = place(context, { workspacePythons: () => assert.fail("not asked") });
  const at = (name: string): string => path.join(root, name);
  const cases: [string, Trouble][] = [
    [at("nothing"), { kind: "path", path: at("nothing"), why: "missing" }],
    [program(at("other"), "echo other 1.0"), { kind: "path", path: at("other"), why: "broken" }],
    [program(at("fails"), "exit 3"), { kind: "path", path: at("fails"), why: "broken" }],
    [program(at("old"), "echo horovodize 0.0.9"), { kind: "path", path: at("old"), why: "old" }],
    [python(at("python3"), {}), { kind: "path", path: at("python3"), why: "without" }],
    [program(at("python2"), "exit 9"), { kind: "path", path: at("python2"), why: "missing" }],
    [python(at("python"), { horovodize: "0.0.1" }), { kind: "path", path: at("python"), why: "old" }],
  ];
  for (const [file, expected] of cases) {
    assert.deepEqual(await trouble(findServer({ ...around, path: file }, WANTED)), expected);
  }
});

test("the workspace's Python, where it has Horovodize", async (context) => {
  const { root, around } = place(context);
  const pythons = [
    path.join(root, "gone"),
    python(path.join(root, "without"), {}),
    python(path.join(root, "old"), { horovodize: "0.0.1" }),
    python(path.join(root, "has"), { horovodize: "0.1.0" }),
  ];
  const found = await findServer({ ...around, workspacePythons: () => Promise.resolve(pythons) }, WANTED);
  assert.deepEqual(start(found), { source: "environment", command: pythons[3], args: ["-m", "horovodize", "server"] });
});

test("else an environment is made, once, and found again", async (context) => {
  const { root, around, steps } = place(context);
  const pythons = (): Promise<string[]> => Promise.resolve([python(path.join(root, "base"), { venv: `echo made >> '${root}/made'` })]);
  const first = await findServer({ ...around, workspacePythons: pythons }, WANTED);
  assert.equal(first.source, "private");
  assert.ok(existsSync(first.command));
  assert.equal(first.env.PYTHONPATH, undefined);
  assert.deepEqual(steps, ["environment", "packages"]);
  const second = await findServer({ ...around, withProgress: () => assert.fail("made again"), workspacePythons: pythons }, WANTED);
  assert.equal(second.command, first.command);
  assert.equal(readdirSync(around.private.folder).length, 1);
});

test("an environment of another wheel is another environment", async (context) => {
  const { root, around } = place(context);
  const pythons = (): Promise<string[]> => Promise.resolve([python(path.join(root, "base"))]);
  const first = await findServer({ ...around, workspacePythons: pythons }, WANTED);
  writeFileSync(path.join(around.private.wheels, "horovodize-0.1.0-py3-none-any.whl"), "the same version, built again");
  const second = await findServer({ ...around, workspacePythons: pythons }, WANTED);
  assert.notEqual(second.command, first.command);
});

test("two windows that make it at once both have it", async (context) => {
  const { root, around } = place(context);
  const pythons = (): Promise<string[]> => Promise.resolve([python(path.join(root, "base"), { pip: "sleep 0.2" })]);
  const found = await Promise.all([1, 2, 3].map(async () => findServer({ ...around, workspacePythons: pythons }, WANTED)));
  assert.equal(new Set(found.map(({ command }) => command)).size, 1);
  assert.ok(existsSync(found[0]?.command ?? ""));
  assert.equal(readdirSync(around.private.folder).length, 1);
});

test("what was left there broken is made again", async (context) => {
  const { root, around } = place(context);
  const pythons = (): Promise<string[]> => Promise.resolve([python(path.join(root, "base"))]);
  const { command } = await findServer({ ...around, workspacePythons: pythons }, WANTED);
  const environment = path.dirname(path.dirname(command));
  const { rm } = await import("node:fs/promises");
  await rm(command); // the Python that it was made with is gone
  const again = await findServer({ ...around, workspacePythons: pythons }, WANTED);
  assert.equal(again.command, command);
  assert.ok(existsSync(command));
  assert.ok(existsSync(environment));
});

for (const [name, pretence, expected] of [
  ["offline", { pip: "echo 'NewConnectionError: Failed to establish a new connection' >&2; exit 1" }, { kind: "offline" }],
  ["packages that do not install", { pip: "echo 'No space left on device' >&2; exit 1" }, { kind: "install", step: "packages" }],
  ["an environment that can't be made", { venv: "exit 1" }, { kind: "install", step: "environment" }],
] as const) {
  test(`${name}: told, and nothing half-made stays`, async (context) => {
    const { root, around } = place(context);
    const file = python(path.join(root, "base"), pretence);
    assert.deepEqual(await trouble(findServer({ ...around, workspacePythons: () => Promise.resolve([file]) }, WANTED)), expected);
    assert.deepEqual(readdirSync(around.private.folder), []);
  });
}

test("cancelled while packages are installed: ends what runs, and nothing half-made stays", async (context) => {
  const { root, around } = place(context);
  const file = python(path.join(root, "base"), { pip: `touch '${root}/began'; sleep 60` });
  const controller = new AbortController();
  const work = trouble(findServer({ ...around, workspacePythons: () => Promise.resolve([file]) }, controller.signal));
  while (!existsSync(path.join(root, "began"))) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const since = Date.now();
  controller.abort();
  assert.deepEqual(await work, { kind: "cancelled" });
  assert.ok(Date.now() - since < 30_000, "it waited for the program");
  assert.deepEqual(readdirSync(around.private.folder), []);
});

test("a build without the wheel says so", async (context) => {
  const { root, around } = place(context);
  const empty = { ...around.private, wheels: path.join(root, "none") };
  assert.deepEqual(await trouble(findServer({ ...around, private: empty }, WANTED)), { kind: "no-wheel" });
});

test("of the Pythons that can't make environments, the best reason is told", async (context) => {
  const { root, around } = place(context);
  const old = python(path.join(root, "old"), { version: [3, 8] });
  const bare = python(path.join(root, "bare"), { version: [3, 11], makesEnvironments: false });
  const shim = program(path.join(root, "shim"), "echo 'Python was not found; run without arguments to install' >&2; exit 9009");
  assert.deepEqual(await trouble(choosePython([path.join(root, "none"), shim], around, WANTED)), { kind: "no-python" });
  assert.deepEqual(await trouble(choosePython([shim, old], around, WANTED)), { kind: "python-too-old", executable: old, version: [3, 8] });
  assert.deepEqual(await trouble(choosePython([old, bare], around, WANTED)), { kind: "no-venv", executable: bare, version: [3, 11] });
  const good = python(path.join(root, "good"));
  assert.equal((await choosePython([old, bare, good], around, WANTED)).executable, good);
});

test("a Python that hangs is not waited for", async (context) => {
  const root = folder(context);
  const file = program(path.join(root, "hangs"), "sleep 60");
  assert.equal(await askPython(file, { cwd: root, timeout: 200 }), undefined);
});

test("a real Python answers", async (context) => {
  const real = await askPython("python3", { cwd: folder(context) });
  assert.ok(real?.version[0] === 3);
  assert.ok(path.isAbsolute(real.scripts));
});

test("answers that are none", () => {
  for (const text of ["", "Python 3.11", "{}", '{"version": "3.11"}', "[1]", "null"]) {
    assert.equal(parseAnswer("python", text), undefined, text);
  }
});

test("versions", () => {
  assert.ok(isAtLeast("0.1.0", "0.1.0") && isAtLeast("0.10.0", "0.9.1") && isAtLeast("1.0", "0.9.9") && isAtLeast("0.2.0.dev1", "0.2.0"));
  assert.ok(!isAtLeast("0.0.9", "0.1.0") && !isAtLeast("0.1", "0.1.1") && !isAtLeast("unknown", "0.1.0"));
  assert.ok(isNewEnough([3, 10]) && isNewEnough([3, 14]) && isNewEnough([4, 0]) && !isNewEnough([3, 9]) && !isNewEnough([2, 7]));
});

test("which programs are Pythons", () => {
  for (const name of ["python", "/usr/bin/python3.11", "python.exe", "py", "pypy3"]) {
    assert.ok(isPythonName(name), name);
  }
  for (const name of ["horovodize", "/opt/python/bin/horovodize", "pythonize"]) {
    assert.ok(!isPythonName(name), name);
  }
});

test("paths as users write them", () => {
  assert.equal(expandPath("~/bin/horovodize", "/home/me", undefined), "/home/me/bin/horovodize");
  assert.equal(expandPath("${workspaceFolder}/.venv/bin/python", "/home/me", "/w"), "/w/.venv/bin/python");
  assert.equal(expandPath(".venv/bin/python", "/home/me", "/w"), "/w/.venv/bin/python");
  assert.equal(expandPath(" horovodize ", "/home/me", "/w"), "horovodize"); // looked up in PATH
});

test("how pip says that there is no connection", () => {
  assert.ok(looksOffline("Retrying … NewConnectionError('<pip._vendor.urllib3…>: Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')"));
  assert.ok(!looksOffline("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"));
});
