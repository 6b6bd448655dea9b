// What runs: read from /proc.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The ids of processes whose environment holds `mark`, and whose command line holds `text`. */
export function processesMarked(mark: string, text: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((id) => parts(id, "environ").includes(mark) && parts(id, "cmdline").join(" ").includes(text))
    .map(Number);
}

/** Not ended: one whose parent has not asked for its exit status yet (a zombie) has. */
export function alive(id: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/s.test(readFileSync(join("/proc", String(id), "stat"), "utf8"));
  } catch {
    return false;
  }
}

function parts(id: string, file: string): string[] {
  try {
    return readFileSync(join("/proc", id, file), "utf8").split("\0");
  } catch {
    return []; // ended meanwhile
  }
}
