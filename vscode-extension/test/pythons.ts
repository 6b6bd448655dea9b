// Programs that pretend to be Pythons, for the ways in which a real one can fail. Needs a POSIX shell.

import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestContext } from "node:test";

export function folder(context: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), "horovodize-extension-"));
  context.after(async () => rm(made, { recursive: true, force: true, maxRetries: 5 }));
  return made;
}

export function program(file: string, lines: string): string {
  writeFileSync(file, `#!/bin/sh\n${lines}\n`);
  chmodSync(file, 0o755);
  return file;
}

export interface Pretence {
  readonly version?: readonly [number, number];
  readonly horovodize?: string;
  readonly makesEnvironments?: boolean;
  /** What `-m venv FOLDER` and `-m pip install …` do besides the usual, in shell. */
  readonly venv?: string;
  readonly pip?: string;
}

/** A Python that answers our question, makes an environment whose Python is itself, and installs nothing. */
export function python(file: string, pretence: Pretence = {}): string {
  const answer = JSON.stringify({
    version: pretence.version ?? [3, 11],
    horovodize: pretence.horovodize ?? null,
    makesEnvironments: pretence.makesEnvironments ?? true,
    tensorflow: false,
    horovod: false,
    scripts: path.dirname(file),
  });
  return program(
    file,
    `case "$1 $2" in
"-c "*) echo 'noise of a sitecustomize'; echo '${answer}';;
"-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" || exit 1; ${pretence.venv ?? ":"};;
"-m pip") echo "pip $*"; ${pretence.pip ?? ":"};;
*) exit 64;;
esac`,
  );
}
