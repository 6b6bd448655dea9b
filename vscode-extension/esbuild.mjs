// Bundles the extension into dist/, and with --tests the tests into build/test/. --minify: for a package.

import { readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const tests = process.argv.includes("--tests");
const common = { bundle: true, format: "cjs", platform: "node", target: "node20", logLevel: "warning", charset: "utf8" };

if (tests) {
  rmSync("build/test", { recursive: true, force: true });
  const entryPoints = readdirSync("test").filter((name) => name.endsWith(".test.ts")).map((name) => `test/${name}`);
  await build({ ...common, entryPoints, outdir: "build/test", sourcemap: "inline" });
} else {
  const minify = process.argv.includes("--minify");
  await build({
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "dist/extension.js",
    external: ["vscode"],
    minify,
    sourcemap: minify ? false : "linked",
  });
}
