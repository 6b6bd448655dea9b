// Where the server comes from: the setting, the workspace's Python, or an environment of the extension's own.

import * as path from "node:path";
import { cleanEnvironment, findPrivate, makePrivate, type PrivateEnvironments } from "./privateEnvironment";
import { askPython, commonPythons, isAtLeast, isNewEnough, isPythonName, type Python, type Version } from "./python";
import { run } from "./run";
import { Stopped } from "./troubles";

/** The oldest server that this extension can talk to. */
export const OLDEST_SERVER = "0.1.0";

export type Source = "path" | "environment" | "private";

export interface Found {
  readonly source: Source;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

export interface Surroundings {
  /** `horovodize.path`, its variables replaced; "" when it is not set or the workspace is not trusted. */
  readonly path: string;
  /** The Pythons that are chosen for the folders of the workspace, each once; none when it is not trusted. */
  readonly workspacePythons: () => Promise<readonly string[]>;
  readonly private: PrivateEnvironments;
  /** Runs work that takes a while: shown to the user, who may cancel it. */
  readonly withProgress: <T>(
    work: (progress: (step: "environment" | "packages") => void, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ) => Promise<T>;
  /** A folder in which nothing lies that Python could import by mistake. */
  readonly neutral: string;
  readonly log: (line: string) => void;
}

/** The server to start. `without` leaves sources out that were tried. Throws Stopped. */
export async function findServer(around: Surroundings, signal: AbortSignal, without: readonly Source[] = []): Promise<Found> {
  if (around.path !== "") {
    return fromPath(around, signal);
  }
  const pythons = await around.workspacePythons();
  if (!without.includes("environment")) {
    const found = await serverOfEnvironments(around, pythons, signal);
    if (found !== undefined) {
      return found;
    }
  }
  checkWanted(signal);
  return fromPrivate(around, pythons, signal);
}

async function fromPath(around: Surroundings, signal: AbortSignal): Promise<Found> {
  const { path: file, neutral: cwd } = around;
  if (isPythonName(file)) {
    const python = await askPython(file, { cwd, signal });
    checkWanted(signal);
    if (python?.horovodize === undefined) {
      throw new Stopped({ kind: "path", path: file, why: python === undefined ? "missing" : "without" });
    }
    if (!isAtLeast(python.horovodize, OLDEST_SERVER)) {
      throw new Stopped({ kind: "path", path: file, why: "old" });
    }
    around.log(`Horovodize ${python.horovodize} of ${file} (horovodize.path)`);
    return { source: "path", command: file, args: ["-m", "horovodize", "server"], env: process.env };
  }
  const answer = await run(file, ["--version"], { cwd, timeout: 15_000, signal });
  checkWanted(signal);
  if (answer.status !== 0) {
    around.log(answer.stderr.trim());
    throw new Stopped({ kind: "path", path: file, why: answer.failed === "missing" ? "missing" : "broken" });
  }
  const version = /^horovodize (\d\S*)/.exec(answer.stdout)?.[1];
  if (version === undefined || !isAtLeast(version, OLDEST_SERVER)) {
    throw new Stopped({ kind: "path", path: file, why: version === undefined ? "broken" : "old" });
  }
  around.log(`${answer.stdout.trim()} of ${file} (horovodize.path)`);
  return { source: "path", command: file, args: ["server"], env: process.env };
}

/** The server of the first Python that has a usable one. */
export async function serverOfEnvironments(
  around: Surroundings,
  pythons: readonly string[],
  signal: AbortSignal,
): Promise<Found | undefined> {
  for (const file of pythons) {
    const python = await askPython(file, { cwd: around.neutral, signal });
    checkWanted(signal);
    if (python === undefined) {
      around.log(`${file} does not answer`);
    } else if (python.horovodize === undefined) {
      around.log(`${file} has no Horovodize`);
    } else if (!isAtLeast(python.horovodize, OLDEST_SERVER) || !isNewEnough(python.version)) {
      around.log(`${file} has Horovodize ${python.horovodize}, which is too old`);
    } else {
      around.log(`Horovodize ${python.horovodize} of ${file} (the workspace's Python)`);
      return { source: "environment", command: file, args: ["-m", "horovodize", "server"], env: process.env };
    }
  }
  return undefined;
}

async function fromPrivate(around: Surroundings, pythons: readonly string[], signal: AbortSignal): Promise<Found> {
  const command =
    (await findPrivate(around.private)) ??
    (await around.withProgress(async (progress, both) => {
      const base = await choosePython([...pythons, ...commonPythons()], around, both);
      return makePrivate(around.private, base, progress, both);
    }, signal));
  checkWanted(signal);
  around.log(`The server shipped with the extension, run by ${command}`);
  return { source: "private", command, args: ["-m", "horovodize", "server"], env: cleanEnvironment(process.env) };
}

/** The first that is new enough and can make environments. Throws Stopped with the best reason why there is none. */
export async function choosePython(
  candidates: readonly string[],
  around: Pick<Surroundings, "neutral" | "log">,
  signal: AbortSignal,
  ask: typeof askPython = askPython,
): Promise<Python> {
  let old: { executable: string; version: Version } | undefined;
  let bare: { executable: string; version: Version } | undefined;
  for (const executable of new Set(candidates)) {
    const python = await ask(executable, { cwd: around.neutral, signal });
    checkWanted(signal);
    if (python === undefined) {
      continue;
    }
    around.log(`${executable} is Python ${python.version.join(".")}${python.makesEnvironments ? "" : ", without venv"}`);
    if (!isNewEnough(python.version)) {
      old ??= { executable, version: python.version };
    } else if (!python.makesEnvironments) {
      bare ??= { executable, version: python.version };
    } else {
      return python;
    }
  }
  throw new Stopped(
    bare !== undefined ? { kind: "no-venv", ...bare } : old !== undefined ? { kind: "python-too-old", ...old } : { kind: "no-python" },
  );
}

/** A path as users write it in settings. */
export function expandPath(text: string, home: string, folder: string | undefined): string {
  const expanded = text
    .trim()
    .replace(/^~(?=$|[\\/])/, () => home)
    .replace(/\$\{(?:userHome|env:HOME)\}/g, () => home)
    .replace(/\$\{workspaceFolder\}/g, () => folder ?? "");
  const isName = !/[\\/]/.test(expanded); // looked up in PATH
  return isName || path.isAbsolute(expanded) || folder === undefined ? expanded : path.join(folder, expanded);
}

function checkWanted(signal: AbortSignal): void {
  if (signal.aborted) {
    throw new Stopped({ kind: "cancelled" });
  }
}
