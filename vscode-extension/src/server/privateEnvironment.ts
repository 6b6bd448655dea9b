// A Python environment of the extension's own, made from the wheel that is shipped with it.
//
// It is made under another name and renamed when it is complete: whatever is in its place works, also when two windows make it
// at once, or one is closed meanwhile. The server is run as a module of it, so nothing in it depends on its name.

import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { pythonOf, type Python } from "./python";
import { run, type RunOptions } from "./run";
import { Stopped } from "./troubles";

const COMPLETE = "complete.json"; // written last
const DAY = 24 * 60 * 60 * 1000; // milliseconds
const UNUSED = 30 * DAY; // after that, another version's environment goes

export interface PrivateEnvironments {
  /** Where they are kept. */
  readonly folder: string;
  /** Where the wheel is: a folder with one `.whl`. */
  readonly wheels: string;
  readonly log: (line: string) => void;
}

/** The Python of the complete environment for the shipped wheel; undefined: it has to be made. Throws Stopped without a wheel. */
export async function findPrivate(places: PrivateEnvironments): Promise<string | undefined> {
  const environment = path.join(places.folder, await nameFor(await wheelIn(places.wheels)));
  const python = pythonOf(environment);
  try {
    const marker = path.join(environment, COMPLETE);
    await Promise.all([fs.access(marker), fs.access(python)]); // access follows links: a Python that is gone is noticed
    await fs.utimes(marker, new Date(), new Date()).catch(() => undefined);
    return python;
  } catch {
    return undefined;
  }
}

/** Makes the environment with `base` and gives its Python. Throws Stopped with what is in the way; nothing half-made stays. */
export async function makePrivate(
  places: PrivateEnvironments,
  base: Python,
  progress: (step: "environment" | "packages") => void,
  signal: AbortSignal,
): Promise<string> {
  const wheel = await wheelIn(places.wheels);
  if (!base.makesEnvironments) {
    throw new Stopped({ kind: "no-venv", executable: base.executable, version: base.version });
  }
  const target = path.join(places.folder, await nameFor(wheel));
  const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  await fs.mkdir(places.folder, { recursive: true });
  await removeOld(places, path.basename(target));
  const options: RunOptions = { cwd: places.folder, env: cleanEnvironment(process.env), signal, onLine: places.log };
  try {
    progress("environment");
    places.log(`Making ${target} with ${base.executable}`);
    const made = await run(base.executable, ["-m", "venv", temporary], { ...options, timeout: 180_000 });
    if (made.status !== 0) {
      throw new Stopped(made.failed === "aborted" ? { kind: "cancelled" } : { kind: "install", step: "environment" });
    }
    progress("packages");
    const installed = await run(pythonOf(temporary), ["-m", "pip", "install", ...PIP_OPTIONS, wheel], {
      ...options,
      timeout: 600_000,
    });
    if (installed.status !== 0) {
      throw new Stopped(
        installed.failed === "aborted"
          ? { kind: "cancelled" }
          : looksOffline(installed.stdout + installed.stderr)
            ? { kind: "offline" }
            : { kind: "install", step: "packages" },
      );
    }
    await fs.writeFile(path.join(temporary, COMPLETE), `${JSON.stringify({ wheel: path.basename(wheel), base: base.executable })}\n`);
    await putInPlace(temporary, target);
    return pythonOf(target);
  } finally {
    await fs.rm(temporary, { recursive: true, force: true, maxRetries: 3 }).catch(() => undefined);
  }
}

/** Takes the environment away, so that it is made again: it is complete, and yet the server does not start in it. */
export async function removePrivate(places: PrivateEnvironments): Promise<void> {
  const target = path.join(places.folder, await nameFor(await wheelIn(places.wheels)));
  await fs.rm(target, { recursive: true, force: true, maxRetries: 3 });
}

const PIP_OPTIONS = [
  "--disable-pip-version-check",
  "--no-input",
  "--progress-bar=off",
  "--no-compile", // the environment is renamed: Python compiles what it loads where it lies then
  "--retries=1",
  "--timeout=15",
];

/** Whether pip failed because it reached no index. Exported for tests. */
export function looksOffline(output: string): boolean {
  return /NewConnectionError|ConnectTimeoutError|ConnectionResetError|NameResolutionError|Name or service not known|Temporary failure in name resolution|getaddrinfo failed|nodename nor servname|Network is unreachable|Connection refused|ReadTimeoutError|ProxyError|Tunnel connection failed/.test(
    output,
  );
}

const MISLEADING = new Set(["PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "VIRTUAL_ENV"]);

/** Without what would let another Python's packages in, or send these elsewhere. */
export function cleanEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !MISLEADING.has(name));
  return { ...Object.fromEntries(kept), PYTHONNOUSERSITE: "1" };
}

async function wheelIn(folder: string): Promise<string> {
  const names = await fs.readdir(folder).catch(() => [] as string[]);
  const wheel = names.filter((name) => name.endsWith(".whl")).sort().at(-1);
  if (wheel === undefined) {
    throw new Stopped({ kind: "no-wheel" });
  }
  return path.join(folder, wheel);
}

/** The version, and what the wheel contains: a version that is built again is installed again. */
async function nameFor(wheel: string): Promise<string> {
  const version = path.basename(wheel).split("-")[1] ?? "0";
  const hash = createHash("sha256").update(await fs.readFile(wheel)).digest("hex");
  return `server-${version}-${hash.slice(0, 12)}`;
}

async function putInPlace(temporary: string, target: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await fs.rename(temporary, target);
      return;
    } catch (error) {
      const complete = await fs.access(path.join(target, COMPLETE)).then(
        () => fs.access(pythonOf(target)).then(() => true, () => false),
        () => false,
      );
      if (complete) {
        return; // another window was faster
      }
      if (attempt === 2) {
        throw error;
      }
      await fs.rm(target, { recursive: true, force: true, maxRetries: 3 }); // left there broken
    }
  }
}

/** What other versions left behind a month ago, and what was being made a day ago and is not any more. */
async function removeOld(places: PrivateEnvironments, current: string): Promise<void> {
  for (const name of await fs.readdir(places.folder)) {
    if (name === current || !name.startsWith("server-")) {
      continue;
    }
    const place = path.join(places.folder, name);
    const unfinished = name.endsWith(".tmp");
    const used = await fs.stat(unfinished ? place : path.join(place, COMPLETE)).then(
      (stats) => stats.mtimeMs,
      () => 0,
    );
    if (Date.now() - used > (unfinished ? DAY : UNUSED)) {
      await fs.rm(place, { recursive: true, force: true }).catch(() => undefined);
    }
  }
}
