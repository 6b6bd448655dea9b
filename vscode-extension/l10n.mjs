// Writes l10n/bundle.l10n.json: every text of the sources that is shown, for translators. With --check: is it as it should be?

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { getL10nJson } from "@vscode/l10n-dev";

function* sources(folder) {
  for (const name of readdirSync(folder).sort()) {
    const path = `${folder}/${name}`;
    if (statSync(path).isDirectory()) yield* sources(path);
    else if (name.endsWith(".ts")) yield { extension: ".ts", contents: readFileSync(path, "utf8") };
  }
}

const BUNDLE = "l10n/bundle.l10n.json";
const found = await getL10nJson([...sources("src")]);
const sorted = Object.fromEntries(Object.entries(found).sort(([a], [b]) => (a < b ? -1 : 1)));
const text = `${JSON.stringify(sorted, undefined, 2)}\n`;
if (!process.argv.includes("--check")) {
  writeFileSync(BUNDLE, text);
} else if (readFileSync(BUNDLE, "utf8") !== text) {
  console.error(`${BUNDLE} is not what the sources say: npm run l10n`);
  process.exitCode = 1;
}
