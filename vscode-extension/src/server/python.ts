// What a Python is: asked of itself, without importing anything but the standard library.

import * as path from "node:path";
import { run } from "./run";

/** The oldest Python that the server runs on (`requires-python` of pyproject.toml; a test compares). */
export const OLDEST_PYTHON: Version = [3, 10];

export type Version = readonly [major: number, minor: number];

export interface Python {
  /** The program that was asked. */
  readonly executable: string;
  readonly version: Version;
  /** The version of Horovodize that it has; undefined: none. */
  readonly horovodize?: string;
  /** Whether it can make virtual environments with pip in them. */
  readonly makesEnvironments: boolean;
  readonly tensorflow: boolean;
  readonly horovod: boolean;
  /** The folder of the programs that its packages bring. */
  readonly scripts: string;
}

// Python 2.7 must be able to read it, to say that it is too old.
const QUESTION = `
import json, sys
def has(name):
    try:
        import importlib.util
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False
def version(name):
    try:
        from importlib.metadata import version
        return version(name)
    except Exception:
        return None
def scripts():
    try:
        import sysconfig
        return sysconfig.get_path("scripts")
    except Exception:
        return ""
print("\\n" + json.dumps({
    "version": list(sys.version_info[:2]),
    "horovodize": version("horovodize") if has("horovodize") else None,
    "makesEnvironments": has("venv") and has("ensurepip"),
    "tensorflow": has("tensorflow"),
    "horovod": has("horovod"),
    "scripts": scripts(),
}))
`;

export interface AskOptions {
  /** Where to run it: not in a workspace, whose files Python would import in place of its own. */
  readonly cwd: string;
  readonly signal?: AbortSignal;
  /** In milliseconds. */
  readonly timeout?: number;
}

/** Undefined where there is no Python that answers (a missing file, a shim that opens a shop, one that hangs). */
export async function askPython(executable: string, options: AskOptions): Promise<Python | undefined> {
  const { signal } = options;
  const outcome = await run(executable, ["-c", QUESTION], {
    cwd: options.cwd,
    timeout: options.timeout ?? 15_000,
    ...(signal === undefined ? {} : { signal }),
  });
  return outcome.status === 0 ? parseAnswer(executable, outcome.stdout) : undefined;
}

/** Exported for tests. */
export function parseAnswer(executable: string, stdout: string): Python | undefined {
  const line = stdout.trimEnd().split(/\r?\n/).at(-1) ?? "";
  try {
    const answer = JSON.parse(line) as Record<string, unknown>;
    const [major, minor] = answer.version as unknown[];
    if (typeof major !== "number" || typeof minor !== "number") {
      return undefined;
    }
    return {
      executable,
      version: [major, minor],
      ...(typeof answer.horovodize === "string" ? { horovodize: answer.horovodize } : {}),
      makesEnvironments: answer.makesEnvironments === true,
      tensorflow: answer.tensorflow === true,
      horovod: answer.horovod === true,
      scripts: typeof answer.scripts === "string" ? answer.scripts : "",
    };
  } catch {
    return undefined;
  }
}

export function isNewEnough(version: Version, oldest: Version = OLDEST_PYTHON): boolean {
  return version[0] > oldest[0] || (version[0] === oldest[0] && version[1] >= oldest[1]);
}

/** Whether one version of Horovodize ("0.2.1", "0.3.0.dev1") is at least another. */
export function isAtLeast(version: string, least: string): boolean {
  const [given, wanted] = [version, least].map((text) => text.split(".").map((part) => Number.parseInt(part, 10) || 0));
  for (let i = 0; i < (wanted?.length ?? 0); i++) {
    const difference = (given?.[i] ?? 0) - (wanted?.[i] ?? 0);
    if (difference !== 0) {
      return difference > 0;
    }
  }
  return true;
}

/** The Pythons that a machine may have, best first: names looked up in PATH. */
export function commonPythons(platform: NodeJS.Platform = process.platform): string[] {
  if (platform === "win32") {
    return ["python", "python3", "py"];
  }
  return ["python3", "python", "python3.13", "python3.12", "python3.11", "python3.10"];
}

/** The Python of a virtual environment. */
export function pythonOf(environment: string, platform: NodeJS.Platform = process.platform): string {
  return platform === "win32" ? path.join(environment, "Scripts", "python.exe") : path.join(environment, "bin", "python");
}

export function isPythonName(file: string): boolean {
  return /^(pypy|python)[\d.]*(\.exe)?$/i.test(path.basename(file)) || /^py(\.exe)?$/i.test(path.basename(file));
}
