// Runs the tests of this folder inside the extension host, which loads this file. Writes what came out to HOROVODIZE_TEST_RESULTS.

import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import Mocha from "mocha";

export interface Result {
  readonly title: string;
  /** ms */
  readonly duration: number;
  /** What it failed with. */
  readonly error?: string;
}

export async function run(): Promise<void> {
  const mocha = new Mocha({ timeout: 120_000, color: false });
  readdirSync(__dirname)
    .filter((name) => name.endsWith(".test.js"))
    .sort()
    .forEach((name) => mocha.addFile(join(__dirname, name)));
  const only = process.env.HOROVODIZE_TEST_ONLY;
  if (only !== undefined) {
    mocha.grep(only);
  }
  const results: Result[] = [];
  const failures = await new Promise<number>((resolve) => {
    mocha
      .run(resolve)
      .on("pass", (test) => results.push({ title: test.fullTitle(), duration: test.duration ?? 0 }))
      .on("fail", (test, error: unknown) =>
        results.push({ title: test.fullTitle(), duration: test.duration ?? 0, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
      );
  });
  writeFileSync(process.env.HOROVODIZE_TEST_RESULTS ?? "", JSON.stringify(results));
  if (failures > 0) {
    throw new Error(`${String(failures)} tests failed`);
  }
}
