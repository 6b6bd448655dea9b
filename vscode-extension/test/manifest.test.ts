// package.json against the sources, the server and itself.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { OLDEST_PYTHON } from "../src/server/python";

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly menus: Readonly<Record<string, readonly { readonly command: string }[]>>;
    readonly configuration: { readonly properties: Readonly<Record<string, Setting>> };
    readonly walkthroughs: readonly { readonly steps: readonly { readonly description: string; readonly media: Media }[] }[];
    readonly problemPatterns: readonly { readonly name: string }[];
    readonly problemMatchers: readonly { readonly name: string; readonly pattern: string }[];
  };
}

interface Media {
  readonly altText: string;
  readonly image: string | Readonly<Record<string, string>>;
}

interface Setting {
  readonly default: unknown;
  readonly type: string | readonly string[];
  readonly scope: string;
  readonly markdownDescription: string;
}

const text = readFileSync("package.json", "utf8");
const { contributes } = JSON.parse(text) as Manifest;
const nls = JSON.parse(readFileSync("package.nls.json", "utf8")) as Record<string, string>;
const sources = read("src");

function read(folder: string): string {
  return readdirSync(folder)
    .map((name) => path.join(folder, name))
    .map((file) => (statSync(file).isDirectory() ? read(file) : readFileSync(file, "utf8")))
    .join("\n");
}

test("every text is there, and none without use", () => {
  const used = new Set([...text.matchAll(/"%([\w.-]+)%"/g)].map((match) => match[1] ?? ""));
  assert.deepEqual([...used].filter((key) => !(key in nls)), []);
  assert.deepEqual(Object.keys(nls).filter((key) => !used.has(key)), []);
});

test("every command is registered, and every one that is used is declared", () => {
  const declared = new Set(contributes.commands.map(({ command }) => command));
  for (const command of declared) {
    assert.ok(sources.includes(`"${command}"`), command);
  }
  const inTexts = [...Object.values(nls).join(" ").matchAll(/\(command:(horovodize\.\w+)/g)].map((match) => match[1] ?? "");
  const inMenus = Object.values(contributes.menus).flatMap((items) => items.map(({ command }) => command));
  assert.deepEqual([...inTexts, ...inMenus].filter((command) => !declared.has(command)), []);
});

test("settings say nothing by themselves, so that pyproject.toml counts; what they come to is told", () => {
  for (const [name, setting] of Object.entries(contributes.configuration.properties)) {
    assert.equal(setting.default, null, name);
    assert.ok([setting.type].flat().includes("null"), name);
    const description = nls[setting.markdownDescription.slice(1, -1)] ?? "";
    assert.match(description, /Default: /, name);
  }
});

test("every setting of the server can be set", () => {
  const documented = readFileSync("../docs/language-server.md", "utf8").split("## Settings")[1]?.split("\n## ")[0] ?? "";
  const names = [...documented.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap((row) => [...(row[1] ?? "").matchAll(/`([\w.]+)`/g)].map((match) => match[1] ?? ""));
  assert.ok(names.length > 8, names.join(" "));
  assert.deepEqual(names.filter((name) => !(`horovodize.${name}` in contributes.configuration.properties)), []);
});

test("what would be run by a workspace's settings is restricted", () => {
  const { capabilities } = JSON.parse(text) as { capabilities: { untrustedWorkspaces: { restrictedConfigurations: string[] } } };
  for (const name of ["horovodize.path", "horovodize.train.python"]) {
    assert.ok(capabilities.untrustedWorkspaces.restrictedConfigurations.includes(name), name);
    assert.equal(contributes.configuration.properties[name]?.scope, "machine-overridable", name);
  }
});

test("pictures are there, and said in words", () => {
  for (const { media } of contributes.walkthroughs.flatMap(({ steps }) => steps)) {
    assert.notEqual(media.altText, "");
    const pictures = typeof media.image === "string" ? [media.image] : Object.values(media.image);
    for (const file of pictures) {
      // scripts/vsix.sh brings those of the documentation
      assert.ok(existsSync(file.replace(/^media\/pictures\//, "../docs/pictures/")), file);
    }
  }
  assert.ok(existsSync("media/icon.png"));
});

test("problem matchers use patterns that are there", () => {
  const patterns = contributes.problemPatterns.map(({ name }) => `$${name}`);
  for (const { name, pattern } of contributes.problemMatchers) {
    assert.ok(patterns.includes(pattern), pattern);
    assert.ok(sources.includes(`"$${name}"`), name);
  }
});

test("the oldest Python is the server's", () => {
  const project = readFileSync("../pyproject.toml", "utf8");
  assert.equal(/requires-python = ">=([\d.]+)"/.exec(project)?.[1], OLDEST_PYTHON.join("."));
});
