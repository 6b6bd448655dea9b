// Trains a script on two ranks, as tests/training does: under its probe, which writes down what each rank did.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

import { ROOT, TENSORFLOW_PYTHON, needed } from "./places";

const LIMIT = 400; // s

export interface Rank {
  readonly rank: number;
  readonly size: number;
  readonly error: string;
  readonly stdout: string;
  readonly collectives: readonly unknown[];
  readonly optimizers: readonly { readonly at_end: { readonly trained: unknown } }[];
}

/** What each rank reports, by rank. Throws when training fails. */
export async function train(script: string, ranks = 2): Promise<Rank[]> {
  const python = needed(TENSORFLOW_PYTHON, "run scripts/horovod.sh");
  const folder = dirname(script);
  const reports = mkdtempSync(join(dirname(folder), "reports-"));
  const probe = join(ROOT, "tests", "training", "probe.py");
  await promisify(execFile)(
    join(dirname(python), "horovodrun"),
    ["--gloo", "-np", String(ranks), python, probe, "--report", reports, "--limit", String(LIMIT), "--", script],
    {
      cwd: folder,
      timeout: (LIMIT + 30) * 1000,
      maxBuffer: 1 << 26,
      env: {
        ...process.env,
        PATH: `${dirname(python)}:${process.env.PATH ?? ""}`,
        PYTHONDONTWRITEBYTECODE: "1",
        TF_CPP_MIN_LOG_LEVEL: "2",
        TF_ENABLE_ONEDNN_OPTS: "0",
        TF_NUM_INTRAOP_THREADS: "1",
      },
    },
  );
  return readdirSync(reports).sort().map((name) => JSON.parse(readFileSync(join(reports, name), "utf8")) as Rank);
}

/** Trains on two ranks; throws unless both ran the same collectives, at least one, and hold the same variables at the end. */
export async function trainsAlike(script: string): Promise<void> {
  const [first, second, ...others] = await train(script);
  assert.ok(first && second && others.length === 0, "not two reports");
  assert.deepEqual([first.error, second.error], ["", ""]);
  assert.deepEqual([first.size, second.size], [2, 2]);
  assert.ok(first.collectives.length > 0, "no collective ran: the ranks train on their own");
  assert.deepEqual(first.collectives, second.collectives);
  assert.ok(first.optimizers.length > 0, "no optimizer stepped");
  assert.deepEqual(first.optimizers.map((optimizer) => optimizer.at_end.trained), second.optimizers.map((optimizer) => optimizer.at_end.trained));
}
