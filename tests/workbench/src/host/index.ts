// Runs the tests of this folder inside the extension host, which loads this file. Writes what came out to HOROVODIZE_TEST_RESULTS,
// after each test: who waits for them sees whether they go on.

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
  const mocha = new Mocha({ timeout: 600_000, color: false });
  readdirSync(__dirname)
    .filter((name) => name.endsWith(".test.js"))
    .sort()
    .forEach((name) => mocha.addFile(join(__dirname, name)));
  const only = process.env.HOROVODIZE_TEST_ONLY;
  if (only !== undefined) {
    mocha.grep(only);
  }
  const results: Result[] = [];
  const tell = (test: Mocha.Runnable, error?: string): void => {
    results.push({ title: test.fullTitle(), duration: test.duration ?? 0, ...(error === undefined ? {} : { error }) });
    writeFileSync(process.env.HOROVODIZE_TEST_RESULTS ?? "", JSON.stringify(results));
  };
  const failures = await new Promise<number>((resolve) => {
    const runner = mocha.run(resolve);
    runner.on("pass", (test) => {
      tell(test);
    });
    runner.on("fail", (test, error: unknown) => {
      tell(test, error instanceof Error ? (error.stack ?? error.message) : String(error));
    });
  });
  if (failures > 0) {
    throw new Error(`${String(failures)} tests failed`);
  }
}
