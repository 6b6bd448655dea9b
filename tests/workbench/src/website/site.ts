// The site as it is put on a server for files, under a path.

import { createReadStream, existsSync, mkdirSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";

import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";

import { startBrowser } from "../support/browser";
import { ROOT, needed } from "../support/places";

export const SITE = join(ROOT, "build", "site");
export const EVIDENCE = join(ROOT, "build", "website-evidence");
const LONG = 250_000; // ms; a busy machine takes that long to compile Python
const UNDER = "/some/place";
// A plain server: what is not in here is only bytes to it, WebAssembly, too.
const TYPES: Readonly<Record<string, string>> = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript", ".svg": "image/svg+xml", ".json": "application/json" };

export class Site {
  readonly address: string;
  /** What was asked for that is not there. */
  readonly missing: string[] = [];

  private constructor(
    private readonly server: Server,
    readonly browser: Browser,
  ) {
    this.address = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}${UNDER}/`;
  }

  static async start(): Promise<Site> {
    needed(join(SITE, "index.html"), "run make site");
    mkdirSync(EVIDENCE, { recursive: true });
    const server = createServer((request, response) => {
      const path = decodeURIComponent(new URL(request.url ?? "/", "http://localhost").pathname);
      const file = fileOf(path);
      if (file === undefined) {
        site.missing.push(path);
        response.writeHead(404).end();
        return;
      }
      response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
      createReadStream(file).pipe(response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const site = new Site(server, await startBrowser());
    return site;
  }

  async stop(): Promise<void> {
    await this.browser.close();
    this.server.closeAllConnections();
    this.server.close();
  }

  async visit(path: string, options: Parameters<Browser["newContext"]>[0] = {}): Promise<Visit> {
    return Visit.begin(await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options }), `${this.address}${path}`);
  }
}

/** The file that a path of a request means; undefined: there is none. */
export function fileOf(path: string): string | undefined {
  if (!path.startsWith(`${UNDER}/`)) {
    return undefined;
  }
  const file = join(SITE, normalize(path.slice(UNDER.length)));
  const found = existsSync(file) && statSync(file).isDirectory() ? join(file, "index.html") : file;
  return existsSync(found) ? found : undefined;
}

/** A page, with what went wrong in it and what it asked for. */
export class Visit {
  readonly errors: string[] = [];
  readonly requests: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
  ) {
    page.on("pageerror", (error) => this.errors.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") {
        this.errors.push(message.text());
      }
    });
    context.on("request", (request) => this.requests.push(request.url()));
  }

  static async begin(context: BrowserContext, address: string): Promise<Visit> {
    const visit = new Visit(context, await context.newPage());
    await visit.page.goto(address);
    return visit;
  }

  async end(): Promise<void> {
    await this.context.close();
  }

  /** Waits until the engine has read what is in the editor. */
  async read(): Promise<void> {
    await this.page.locator("html[data-ready=true]").waitFor({ state: "attached", timeout: LONG });
    await this.page.locator("#results:not([aria-busy])").waitFor({ timeout: LONG });
  }

  /** Puts a text into the editor, as pasting does. */
  async paste(text: string): Promise<void> {
    await this.page.locator(".cm-content").focus();
    await this.page.keyboard.press("ControlOrMeta+a");
    await this.page.evaluate((pasted) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text/plain", pasted);
      document.activeElement?.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }, text);
    await this.read();
  }

  async text(selector: string): Promise<string> {
    return this.page.locator(selector).innerText();
  }

  /** What axe finds wrong: the rule, and where. */
  async accessibility(but: readonly string[] = []): Promise<string[]> {
    await this.page.evaluate(axe.source);
    const found = await this.page.evaluate(async () => {
      const result = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, { resultTypes: ["violations"] });
      return result.violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map((node) => `${node.target.join(" ")} ${node.failureSummary ?? ""}`) }));
    });
    return found.filter(({ id }) => !but.includes(id)).map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.join("; ")}`);
  }

  async picture(name: string): Promise<void> {
    await this.page.screenshot({ path: join(EVIDENCE, `${name}.png`), fullPage: true });
  }
}
