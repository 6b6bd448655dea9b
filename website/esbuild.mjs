// Builds the page that runs the engine into build/try: bundles the scripts, puts Pyodide and the engine's wheel beside them, writes what
// is loaded (files.json), and whose work it is (third-party.txt).
//
// esbuild.mjs WHEEL VERSION

import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { build } from "esbuild";

const [wheel, version] = process.argv.slice(2);
const target = path.resolve("..", "build", "try");
const pyodide = path.dirname(createRequire(import.meta.url).resolve("pyodide/package.json"));
const LOADED = ["pyodide.asm.js", "pyodide.asm.wasm", "pyodide-lock.json", "pyodide.mjs", "python_stdlib.zip"];

rmSync(target, { recursive: true, force: true });
mkdirSync(path.join(target, "pyodide"), { recursive: true });

const { metafile } = await build({
  entryPoints: { page: "src/page.ts", worker: "src/worker.ts" },
  outdir: target,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  loader: { ".py": "text" },
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
  metafile: true,
});

for (const name of ["index.html", "page.css"]) copyFileSync(path.join("try", name), path.join(target, name));
copyFileSync(path.join("..", "vscode-extension", "media", "icon.svg"), path.join(target, "icon.svg"));
for (const name of LOADED) copyFileSync(path.join(pyodide, name), path.join(target, "pyodide", name));

// Its name says what is in it: a browser that kept an older one asks for this one.
const engine = `engine-${createHash("sha256").update(readFileSync(wheel)).digest("hex").slice(0, 12)}.whl`;
copyFileSync(wheel, path.join(target, engine));
// What the worker fetches; the two scripts are imported, which can't be watched.
const fetched = [engine, ...LOADED.filter((name) => !/\.m?js$/.test(name)).map((name) => `pyodide/${name}`)];
const sizes = Object.fromEntries(fetched.map((name) => [name, statSync(path.join(target, name)).size]));
writeFileSync(path.join(target, "files.json"), JSON.stringify({ engine, version, sizes }));

const folders = new Set(Object.keys(metafile.inputs).flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
const parts = [...folders].sort().map((folder) => {
  const about = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (file === undefined || !existsSync(path.join(folder, file))) throw new Error(`${about.name} comes without the text of its licence`);
  return `${about.name} ${about.version} (${about.license})\n\n${readFileSync(path.join(folder, file), "utf8").trim()}\n`;
});
const python = JSON.parse(readFileSync(path.join(pyodide, "package.json"), "utf8"));
parts.unshift(
  `pyodide ${python.version} (${python.license}): ${python.homepage ?? ""}\n\n` +
    "Python compiled to WebAssembly, as the package has it, unchanged. Under the Mozilla Public License 2.0, its source is at the address\n" +
    "above. Python itself, which is in it, is under the Python Software Foundation License; its text is in python_stdlib.zip's origin,\n" +
    "the Python distribution.\n",
);
const head = "The page contains these packages, beside Horovodize itself (Apache-2.0).\n";
writeFileSync(path.join(target, "third-party.txt"), [head, ...parts].join(`\n${"-".repeat(78)}\n\n`));
