// Visual Studio Code's server with folders, settings and extensions of its own, so that runs neither see each other nor the
// person's own editor.

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { CODE_SERVER, needed } from "./places";
import { alive, processesMarked } from "./processes";
import { QUIET, type Settings } from "./settings";
import { until } from "./until";

const STARTS_WITHIN = 180_000; // ms
const ENDS_WITHIN = 60_000; // ms

export interface ServerOptions {
  /** Packages to install before it starts. */
  readonly packages?: readonly string[];
  /** Beside those of `QUIET`. */
  readonly settings?: Settings;
  /** Changes to the environment; `undefined` takes a variable out. */
  readonly environment?: Record<string, string | undefined>;
  /** Ask whether a folder is to be trusted, as an editor does that nobody has told otherwise. */
  readonly workspaceTrust?: boolean;
}

export class CodeServer {
  private constructor(
    /** Everything that it and what it starts write, `home` included. */
    readonly folder: string,
    readonly port: number,
    private readonly process: ChildProcess,
    private readonly mark: string,
  ) {}

  static async start(options: ServerOptions = {}): Promise<CodeServer> {
    needed(CODE_SERVER, "run scripts/code-server.sh");
    const folder = mkdtempSync(join(tmpdir(), "horovodize-workbench-"));
    const [data, extensions, home] = ["data", "extensions", "home"].map((name) => {
      mkdirSync(join(folder, name));
      return join(folder, name);
    }) as [string, string, string];
    const settings = JSON.stringify({ ...QUIET, ...options.settings }, null, 2);
    for (const who of ["User", "Machine"]) {
      mkdirSync(join(data, who));
      writeFileSync(join(data, who, "settings.json"), settings);
    }
    const mark = randomUUID();
    const environment = {
      ...inherited(),
      HOME: home,
      EXTENSIONS_GALLERY: JSON.stringify({ serviceUrl: "" }), // nothing is looked up
      HOROVODIZE_TEST_RUN: mark,
      ...options.environment,
    };
    const common = [CODE_SERVER, "--user-data-dir", data, "--extensions-dir", extensions, "--config", join(folder, "config.yaml")];
    for (const file of options.packages ?? []) {
      await promisify(execFile)(process.execPath, [...common, "--install-extension", file], { env: environment });
    }
    const port = await freePort();
    const trust = options.workspaceTrust === true ? [] : ["--disable-workspace-trust"];
    const log = openSync(join(folder, "log.txt"), "w");
    const child = spawn(
      process.execPath,
      [...common, "--bind-addr", `127.0.0.1:${String(port)}`, "--auth", "none", "--disable-telemetry",
        "--disable-update-check", "--disable-getting-started-override", ...trust],
      { env: environment, stdio: ["ignore", log, log], detached: true },
    );
    closeSync(log);
    const server = new CodeServer(folder, port, child, mark);
    try {
      await until("code-server answers", () => server.answers(), STARTS_WITHIN);
    } catch (error) {
      const said = readFileSync(join(folder, "log.txt"), "utf8").slice(-3000);
      await server.stop();
      throw new Error(`${String(error)}\n${said}`);
    }
    return server;
  }

  /** The address of the workbench with a folder, or a `.code-workspace` file, open. */
  address(workspace: string): string {
    const kind = workspace.endsWith(".code-workspace") ? "workspace" : "folder";
    return `http://127.0.0.1:${String(this.port)}/?${kind}=${encodeURIComponent(workspace)}`;
  }

  /** An empty folder to work in. */
  workspace(name = "work"): string {
    return mkdtempSync(join(this.folder, `${name}-`));
  }

  /** The ids of the processes that it started, or that those started, whose command line holds `text`. */
  processes(text: string): number[] {
    return processesMarked(`HOROVODIZE_TEST_RUN=${this.mark}`, text);
  }

  /** Ends it with all that it started, and removes its folder. Returns what had to be killed. */
  async stop(): Promise<number[]> {
    const { pid } = this.process;
    if (pid !== undefined && this.process.exitCode === null) {
      const ended = new Promise((resolve) => this.process.once("exit", resolve));
      process.kill(-pid, "SIGTERM");
      await ended;
    }
    const left = (): number[] => this.processes("").filter(alive);
    let killed: number[] = [];
    try {
      await until("all processes have ended", () => left().length === 0, ENDS_WITHIN);
    } catch {
      killed = left();
      killed.forEach((id) => process.kill(id, "SIGKILL"));
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
    return killed;
  }

  private async answers(): Promise<boolean> {
    if (this.process.exitCode !== null) {
      throw new Error("code-server ended");
    }
    try {
      return (await fetch(`http://127.0.0.1:${String(this.port)}/healthz`)).ok;
    } catch {
      return false; // not listening yet
    }
  }
}

function inherited(): NodeJS.ProcessEnv {
  const foreign = /^(VSCODE_|CODE_SERVER|PASSWORD$|XDG_|VIRTUAL_ENV|PYTHON|npm_)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
