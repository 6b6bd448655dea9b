// Translations say all that there is to say, with the same gaps, links and code.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

type Texts = Readonly<Record<string, string>>;

function read(file: string): Texts {
  return JSON.parse(readFileSync(file, "utf8")) as Texts;
}

/** What a translation has to keep: gaps, commands of links, code. */
function kept(text: string): string[] {
  return [...text.matchAll(/\{\d+\}|\(command:[\w.]+\)|`[^`]+`|horovodize\.[\w.]+/g)].map(([part]) => part).sort();
}

const PAIRS = [
  { original: "l10n/bundle.l10n.json", translations: readdirSync("l10n").flatMap((name) => (/^bundle\.l10n\.\w+\.json$/.test(name) ? [`l10n/${name}`] : [])) },
  { original: "package.nls.json", translations: readdirSync(".").filter((name) => /^package\.nls\.\w+\.json$/.test(name)) },
];

for (const { original, translations } of PAIRS) {
  test(`translations of ${original}`, () => {
    const texts = read(original);
    assert.ok(translations.length > 0);
    for (const file of translations) {
      const translated = read(file);
      assert.deepEqual(Object.keys(translated).sort(), Object.keys(texts).sort(), file);
      for (const [key, text] of Object.entries(texts)) {
        assert.deepEqual(kept(translated[key] ?? ""), kept(text), `${file}: ${key}`);
        assert.notEqual((translated[key] ?? "").trim(), "", `${file}: ${key}`);
      }
    }
  });
}
