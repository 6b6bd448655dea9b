// The page that `horovodize verify` makes, which the extension shows beside a script: axe over it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { ROOT, VENV } from "../support/places";
import { EVIDENCE, Site } from "./site";

// Of runs that no one trained: tests/verifying has them.
const MAKE = `
import sys
from pathlib import Path
from horovodize.verifying.page import as_page
from horovodize.verifying.verdict import verify
from tests.verifying.made import alone, two

def train(which, size, seed):
    return alone()[0] if which == "original" else two(rates=[0.4] * 10, losses=[1 / (n + 1) for n in range(10)])

Path(sys.argv[1]).write_text(as_page(verify("train.py", train, [2])), encoding="utf-8")
`;

describe("the report of verify", () => {
  let site: Site;
  const report = join(EVIDENCE, "report.html");
  before(async () => {
    site = await Site.start();
    execFileSync(join(VENV, "bin", "python"), ["-c", MAKE, report], { cwd: ROOT });
  });
  after(async () => {
    await site.stop();
  });

  for (const [look, width, scheme] of [["light", 900, "light"], ["dark, narrow", 390, "dark"]] as const) {
    it(`has nothing that axe finds wrong: ${look}`, async () => {
      const visit = await site.visit("", { viewport: { width, height: 900 }, colorScheme: scheme });
      await visit.page.goto(pathToFileURL(report).href);
      await visit.page.getByRole("heading", { level: 1 }).waitFor();
      await visit.picture(`report-${scheme}`);
      assert.deepEqual(await visit.accessibility(), []);
      await visit.end();
    });
  }
});
