import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Python } from "../src/server/python";
import { horovodrun, hostsProblem, missing, ranksOf } from "../src/training/horovodrun";

const PYTHON: Python = {
  executable: "/env/bin/python",
  version: [3, 11],
  makesEnvironments: true,
  tensorflow: true,
  horovod: true,
  scripts: "/env/bin",
};

test("the command line", () => {
  assert.deepEqual(horovodrun(PYTHON, { ranks: 2, hosts: "", script: "/w/train.py", arguments: [] }), {
    program: "/env/bin/horovodrun",
    arguments: ["-np", "2", "/env/bin/python", "/w/train.py"],
  });
  assert.deepEqual(horovodrun(PYTHON, { ranks: 8, hosts: "a:4,b:4", script: "t.py", arguments: ["--epochs", "3"] }).arguments, [
    "-np", "8", "-H", "a:4,b:4", "/env/bin/python", "t.py", "--epochs", "3",
  ]);
});

test("what an environment lacks", () => {
  assert.deepEqual(missing(PYTHON), []);
  assert.deepEqual(missing({ ...PYTHON, tensorflow: false, horovod: false }), ["TensorFlow", "Horovod"]);
});

test("ranks and hosts", () => {
  assert.equal(ranksOf("4"), 4);
  for (const text of ["", "0", "-1", "2.5", "two", "1e3"]) {
    assert.equal(ranksOf(text), undefined, text);
  }
  assert.equal(hostsProblem("", 8), undefined);
  assert.equal(hostsProblem("a:4, b.c-d:4", 8), undefined);
  assert.deepEqual(hostsProblem("a:4,b:2", 8), { kind: "slots", slots: 6 });
  assert.deepEqual(hostsProblem("a:x", 1), { kind: "form" });
  assert.deepEqual(hostsProblem("a b", 1), { kind: "form" });
  assert.deepEqual(hostsProblem("-oProxyCommand=x y", 1), { kind: "form" });
});

interface Pattern {
  readonly regexp: string;
  readonly file?: number;
  readonly line?: number;
  readonly message?: number;
}

interface Contributed {
  readonly contributes: { readonly problemPatterns: readonly { readonly name: string; readonly patterns: readonly Pattern[] }[] };
}

const { contributes } = JSON.parse(readFileSync("package.json", "utf8")) as Contributed;

/** What the patterns of package.json find in lines that follow each other, as VS Code applies them. */
function matches(lines: readonly string[]): string[] {
  const found: string[] = [];
  for (const { patterns } of contributes.problemPatterns) {
    for (let at = 0; at + patterns.length <= lines.length; at++) {
      const parts: Record<string, string> = {};
      const whole = patterns.every((pattern, i) => {
        const match = new RegExp(pattern.regexp).exec(lines[at + i] ?? "");
        for (const key of ["file", "line", "message"] as const) {
          const group = pattern[key];
          if (match !== null && group !== undefined) {
            parts[key] = match[group] ?? "";
          }
        }
        return match !== null;
      });
      if (whole) {
        found.push(`${parts.file ?? ""}:${parts.line ?? ""}: ${parts.message ?? ""}`);
      }
    }
  }
  return found;
}

const TRACEBACK = [
  "[1]<stderr>:Traceback (most recent call last):",
  '[1]<stderr>:  File "/w/train.py", line 6, in <module>',
  "[1]<stderr>:    step(hvd.rank())",
  '[1]<stderr>:  File "/w/train.py", line 5, in step',
  '[1]<stderr>:    raise ValueError("no data")',
  "[1]<stderr>:ValueError: no data",
];

test("an error of a rank, as Horovod over Gloo prints it", () => {
  assert.deepEqual(matches(TRACEBACK), ["/w/train.py:5: ValueError: no data"]);
});

test("as over MPI, and with the time in front", () => {
  for (const prefix of ["[1,0]<stderr>:", "Sat Nov 21 20:33:01 2026[1]<stderr>:"]) {
    const lines = TRACEBACK.map((line) => line.replace("[1]<stderr>:", prefix));
    assert.deepEqual(matches(lines), ["/w/train.py:5: ValueError: no data"], prefix);
  }
});

test("with the marks of Python 3.11 and newer", () => {
  const marked = [...TRACEBACK.slice(0, 5), "[1]<stderr>:    ^^^^^^^~~~~", "[1]<stderr>:KeyboardInterrupt"];
  assert.deepEqual(matches(marked), ["/w/train.py:5: KeyboardInterrupt"]);
});

test("what horovodrun says of itself is no error of the script", () => {
  const lines = ['  File "/env/bin/horovodrun", line 8, in <module>', "    sys.exit(run_commandline())", "RuntimeError: Horovod detected that …"];
  assert.deepEqual(matches(lines), []);
});
