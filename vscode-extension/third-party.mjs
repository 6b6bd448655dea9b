// Writes THIRD-PARTY.txt: the licences of the packages that esbuild put into dist/extension.js, as they ask for.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const { metafile } = await build({
  entryPoints: ["src/extension.ts"],
  bundle: true,
  platform: "node",
  external: ["vscode"],
  write: false,
  metafile: true,
});
const folders = new Set();
for (const file of Object.keys(metafile.inputs)) {
  const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
  if (folder !== undefined) folders.add(folder);
}
const parts = [...folders].sort().map((folder) => {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined || !existsSync(path.join(folder, file))) throw new Error(`${name} comes without the text of its licence`);
  return `${name} ${version} (${license})\n\n${readFileSync(path.join(folder, file), "utf8").trim()}\n`;
});
const head = "The extension contains these packages. The server's own dependencies are not in it; pip installs them.\n";
writeFileSync("THIRD-PARTY.txt", [head, ...parts].join(`\n${"-".repeat(78)}\n\n`));
