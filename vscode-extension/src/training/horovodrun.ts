// The command that trains a script on several ranks. Knows nothing of the editor.

import * as path from "node:path";
import type { Python } from "../server/python";

export interface Training {
  readonly ranks: number;
  /** As `horovodrun -H` takes it: "this:4,that:4". "" is this machine. */
  readonly hosts: string;
  readonly script: string;
  readonly arguments: readonly string[];
}

export interface Command {
  readonly program: string;
  readonly arguments: readonly string[];
}

export function horovodrun(python: Python, training: Training): Command {
  const hosts = training.hosts === "" ? [] : ["-H", training.hosts];
  return {
    program: path.join(python.scripts, "horovodrun"),
    arguments: ["-np", String(training.ranks), ...hosts, python.executable, training.script, ...training.arguments],
  };
}

/** What an environment lacks for training. */
export function missing(python: Python): ("TensorFlow" | "Horovod")[] {
  return [...(python.tensorflow ? [] : (["TensorFlow"] as const)), ...(python.horovod ? [] : (["Horovod"] as const))];
}

/** Why a text is no number of ranks, or no list of hosts for so many; undefined: it is one. */
export function hostsProblem(hosts: string, ranks: number): { readonly kind: "form" } | { readonly kind: "slots"; readonly slots: number } | undefined {
  if (hosts.trim() === "") {
    return undefined;
  }
  let slots = 0;
  for (const host of hosts.split(",")) {
    const given = /^[\w.-]+(?::(\d+))?$/.exec(host.trim());
    if (given === null) {
      return { kind: "form" };
    }
    slots += Number(given[1] ?? 1);
  }
  return slots < ranks ? { kind: "slots", slots } : undefined;
}

export function ranksOf(text: string): number | undefined {
  const number = Number(text);
  return /^\d+$/.test(text.trim()) && number >= 1 && number <= 100_000 ? number : undefined;
}
