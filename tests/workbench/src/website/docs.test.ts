// The documentation as a site.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";

import { SITE, Site, fileOf } from "./site";

const PAGES = readdirSync(SITE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html") && !name.endsWith("404.html"));

describe("the documentation", () => {
  let site: Site;
  before(async () => {
    site = await Site.start();
  });
  after(async () => {
    await site.stop();
  });

  it("has only links that lead somewhere, and loads nothing from elsewhere", () => {
    assert.ok(PAGES.length > 80, `${String(PAGES.length)} pages`);
    const broken: string[] = [];
    const targets = new Map<string, Set<string>>();
    const ids = (file: string): Set<string> => {
      const known = targets.get(file) ?? new Set([...readFileSync(file, "utf8").matchAll(/ (?:id|name)="?([^"\s>]+)/g)].map((found) => found[1] ?? ""));
      targets.set(file, known);
      return known;
    };
    for (const name of PAGES) {
      const address = new URL(name, site.address);
      for (const [, kind = "", value = ""] of readFileSync(join(SITE, name), "utf8").matchAll(/<(\w+)\b[^>]*?\s(?:href|src)="?([^"\s>]+)/g)) {
        const target = new URL(value.replaceAll("&amp;", "&"), address);
        if (target.origin !== address.origin) {
          if (kind !== "a") {
            broken.push(`${name}: loads ${value}`);
          }
          continue;
        }
        const file = fileOf(decodeURIComponent(target.pathname));
        if (file === undefined) {
          broken.push(`${name}: ${value}`);
        } else if (target.hash.length > 1 && !target.hash.startsWith("#__") && !ids(file).has(decodeURIComponent(target.hash.slice(1)))) {
          broken.push(`${name}: ${value} (no such place in ${relative(SITE, file)})`);
        }
      }
    }
    assert.deepEqual(broken, []);
  });

  for (const [path, width, scheme] of [["", 1280, "light"], ["rules/C5/", 900, "dark"], ["docs/editors/", 390, "light"]] as const) {
    it(`has nothing that axe finds wrong: ${path === "" ? "the first page" : path}, ${String(width)} pixels, ${scheme}`, async () => {
      const visit = await site.visit(path, { viewport: { width, height: 900 }, colorScheme: scheme, reducedMotion: "reduce" });
      await visit.page.locator("h1").first().waitFor();
      await visit.picture(`docs-${path.replaceAll("/", "-")}${String(width)}-${scheme}`);
      // The theme puts the button of each code block, and each list of pages, into a landmark of one name.
      assert.deepEqual(await visit.accessibility(["landmark-unique"]), []);
      assert.deepEqual(visit.requests.filter((address) => !address.startsWith(site.address)), []);
      assert.deepEqual(visit.errors, []);
      await visit.end();
    });
  }

  it("finds words", async () => {
    const visit = await site.visit("");
    await visit.page.locator("input[name=query]").fill("aliased-optimizer");
    await visit.page.locator(".md-search-result__link[href*='HVD105']").first().waitFor();
    assert.deepEqual(visit.requests.filter((address) => !address.startsWith(site.address) && !address.startsWith("blob:")), []);
    await visit.end();
  });

  it("leads from the first page to the one that runs the engine", async () => {
    const visit = await site.visit("");
    await visit.page.getByRole("link", { name: "Try it" }).first().click();
    await visit.page.getByRole("heading", { name: "Try Horovodize" }).waitFor();
    await visit.end();
  });
});
