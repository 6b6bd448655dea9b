// The command lines of Horovodize itself for what trains: run, verify, doctor. Knows nothing of the editor.

import type { Found } from "../server/find";
import type { Python } from "../server/python";
import type { Command, Training } from "./horovodrun";

/** Where the program is, and with which arguments a subcommand begins: that which runs the server. */
export type Program = Pick<Found, "command" | "args" | "source">;

export function horovodize(program: Program, ...rest: readonly string[]): Command {
  const before = program.args.slice(0, -1); // the last one is "server"
  // The environment of the extension's own is not to import what the user's variables, or the folder, offer.
  return { program: program.command, arguments: [...(program.source === "private" ? ["-I"] : []), ...before, ...rest] };
}

export function runLine(program: Program, python: Python, training: Training): Command {
  const hosts = training.hosts === "" ? [] : ["-H", training.hosts];
  const named = ["--python", python.executable];
  return horovodize(program, "run", "-np", String(training.ranks), ...hosts, ...named, training.script, ...training.arguments);
}

export interface Verification {
  readonly ranks: number;
  readonly script: string;
  /** The script uses Horovod already: it is compared with itself in one process. */
  readonly distributed: boolean;
  /** Where the result goes, as JSON and as a page. */
  readonly verdict: string;
  readonly report: string;
}

export function verifyLine(program: Program, python: Python, { ranks, script, distributed, verdict, report }: Verification): Command {
  const itself = distributed ? ["--distributed", script] : [];
  const written = ["--format", "json", "--output-file", verdict, "--report", report];
  return horovodize(program, "verify", script, "-np", String(ranks), "--python", python.executable, ...itself, ...written);
}

export function doctorLine(program: Program, python: Python | undefined, ranks: number, hosts: string): Command {
  const named = python === undefined ? [] : ["--python", python.executable];
  return horovodize(program, "doctor", ...named, "-np", String(ranks), ...(hosts === "" ? [] : ["--hosts", hosts]));
}
