// Where things are that the tests use. All are absolute paths.

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

/** The repository: this file runs as build/workbench-tests/support/places.js. */
export const ROOT = resolve(__dirname, "..", "..", "..");

/** The package that is tested; HOROVODIZE_VSIX names another. */
export const VSIX = process.env.HOROVODIZE_VSIX ?? join(ROOT, "build", "horovodize.vsix");

/** Visual Studio Code's server with its workbench for browsers: scripts/code-server.sh puts it there. */
export const CODE_SERVER = join(ROOT, "build", "code-server", "out", "node", "entry.js");

export const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";

/** The development environment, which has Horovodize. */
export const VENV = join(ROOT, ".venv");

/** The Python that has TensorFlow and Horovod: scripts/horovod.sh makes it. */
export const TENSORFLOW_PYTHON = process.env.HOROVODIZE_TF_PYTHON ?? join(ROOT, ".venv-horovod", "bin", "python");

/** What failed tests leave behind: pictures and logs. */
export const EVIDENCE = join(ROOT, "build", "workbench-evidence");

/** The scripts and notebooks that tests open copies of. */
export const PROGRAMS = join(ROOT, "tests", "workbench", "programs");

/** Throws with what to do, where something is missing. */
export function needed(path: string, how: string): string {
  if (!existsSync(path)) {
    throw new Error(`${path} is missing: ${how}`);
  }
  return path;
}
