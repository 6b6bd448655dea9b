import assert from "node:assert/strict";
import { test } from "node:test";
import type { Python } from "../src/server/python";
import { doctorLine, horovodize, runLine, verifyLine } from "../src/training/commandLine";
import { foremost, guarded, lastError, shortened, verdictOf } from "../src/verifying/verdict";

const PYTHON: Python = { executable: "/env/bin/python", version: [3, 11], makesEnvironments: true, tensorflow: true, horovod: true, scripts: "/env/bin" };
const PROGRAM = { command: "/bin/horovodize", args: ["server"], source: "path" } as const;
const FILES = { verdict: "/tmp/v.json", report: "/tmp/r.html" };

test("the program is that of the server", () => {
  assert.deepEqual(horovodize(PROGRAM, "doctor"), { program: "/bin/horovodize", arguments: ["doctor"] });
  const module = { command: "/env/bin/python", args: ["-m", "horovodize", "server"] };
  assert.deepEqual(horovodize({ ...module, source: "environment" }, "doctor").arguments, ["-m", "horovodize", "doctor"]);
  assert.deepEqual(horovodize({ ...module, source: "private" }, "doctor").arguments, ["-I", "-m", "horovodize", "doctor"]);
});

test("run: options come before the script, what follows it is the script's", () => {
  const training = { ranks: 4, hosts: "a:2,b:2", script: "/w/train.py", arguments: ["--epochs", "3"] };
  assert.deepEqual(runLine(PROGRAM, PYTHON, training).arguments, [
    "run", "-np", "4", "-H", "a:2,b:2", "--python", "/env/bin/python", "/w/train.py", "--epochs", "3",
  ]);
  assert.ok(!runLine(PROGRAM, PYTHON, { ...training, hosts: "" }).arguments.includes("-H"));
});

test("verify: a script that uses Horovod already is compared with itself", () => {
  const alone = verifyLine(PROGRAM, PYTHON, { ranks: 2, script: "/w/train.py", distributed: false, ...FILES }).arguments;
  assert.deepEqual(alone, [
    "verify", "/w/train.py", "-np", "2", "--python", "/env/bin/python", "--format", "json", "--output-file", "/tmp/v.json", "--report", "/tmp/r.html",
  ]);
  const itself = verifyLine(PROGRAM, PYTHON, { ranks: 2, script: "/w/train.py", distributed: true, ...FILES }).arguments;
  assert.equal(itself[itself.indexOf("--distributed") + 1], "/w/train.py");
});

test("doctor", () => {
  assert.deepEqual(doctorLine(PROGRAM, undefined, 2, "").arguments, ["doctor", "-np", "2"]);
  assert.deepEqual(doctorLine(PROGRAM, PYTHON, 4, "a:4").arguments, ["doctor", "--python", "/env/bin/python", "-np", "4", "--hosts", "a:4"]);
});

const SAME = { ranks: 2, alike: true, conclusion: "trains the same" };
const OTHER = { ranks: 4, alike: false, conclusion: "differs, from row 64 on, because of the rate" };

test("a verdict, and what is none", () => {
  const text = JSON.stringify({ script: "train.py", alike: false, runs: [SAME, OTHER] });
  assert.deepEqual(verdictOf(text)?.runs.map((run) => run.ranks), [2, 4]);
  for (const none of ["", "{", "null", "[]", '{"alike": true}', '{"alike": true, "runs": []}', '{"alike": true, "runs": [{"ranks": "2"}]}', '{"alike": true, "runs": [null]}']) {
    assert.equal(verdictOf(none), undefined, none);
  }
});

test("told is the run that differs, else that on most ranks", () => {
  assert.equal(foremost({ alike: false, runs: [SAME, OTHER] }), OTHER);
  const eight = { ...SAME, ranks: 8 };
  assert.equal(foremost({ alike: true, runs: [SAME, eight] }), eight);
});

test("a long reason is cut, a short one is not", () => {
  assert.equal(shortened(OTHER.conclusion), OTHER.conclusion);
  assert.ok(shortened("because ".repeat(40)).length <= 110);
});

test("a report loads nothing and runs nothing, and its policy comes before all that it brings", () => {
  const page = '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<style>p { }</style>\n<p>same</p></html>';
  const shown = guarded(page);
  const policy = /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(shown);
  assert.equal(policy?.[1], "default-src 'none'; style-src 'unsafe-inline'");
  assert.ok(shown.startsWith('<!doctype html>\n<html lang="en">\n<meta http-equiv'));
  assert.ok(shown.endsWith('<p>same</p></html>'));
  assert.ok(guarded("<script>alert(1)</script>").startsWith("<meta http-equiv"));
});

test("the last error that was told", () => {
  const output = "train.py: training alone, seed 20\nhorovodize: train.py doesn't train alone: it fails: SystemExit: 3\n";
  assert.equal(lastError(output), "train.py doesn't train alone: it fails: SystemExit: 3");
  assert.equal(lastError("Traceback (most recent call last):\n"), "");
});
