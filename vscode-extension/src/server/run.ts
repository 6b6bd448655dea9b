// Runs a program to its end, with a time limit, and takes it back when it is no longer wanted. Never throws.

import { spawn } from "node:child_process";

/** What came of a program. `failed` says why it did not run to its end; then `status` is null. */
export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly failed?: "missing" | "timeout" | "aborted" | "error";
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** In milliseconds. */
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  /** Gets each line as it is written, of either stream. */
  readonly onLine?: (line: string) => void;
}

export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  if (options.signal?.aborted === true) {
    return { status: null, stdout: "", stderr: "", failed: "aborted" };
  }
  return new Promise((resolve) => {
    let stdout = "";
    let stderr = "";
    let failed: Outcome["failed"];
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      detached: process.platform !== "win32", // a group of its own, to end what it started too
    });
    const end = (why: "timeout" | "aborted") => () => {
      failed ??= why;
      killTree(child.pid);
    };
    const timer = options.timeout === undefined ? undefined : setTimeout(end("timeout"), options.timeout);
    const onAbort = end("aborted");
    options.signal?.addEventListener("abort", onAbort);
    const lines = options.onLine === undefined ? undefined : [new Lines(options.onLine), new Lines(options.onLine)];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      lines?.[0]?.add(text);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
      lines?.[1]?.add(text);
    });
    const finish = (status: number | null): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", onAbort);
      lines?.forEach((part) => {
        part.end();
      });
      resolve(failed === undefined ? { status, stdout, stderr } : { status: null, stdout, stderr, failed });
    };
    child.on("error", (error: NodeJS.ErrnoException) => {
      failed ??= error.code === "ENOENT" ? "missing" : "error";
      stderr += `${error.message}\n`;
      finish(null);
    });
    child.on("close", finish);
  });
}

/** Ends a process and what it started. */
export function killTree(pid: number | undefined): void {
  if (pid === undefined) {
    return;
  }
  if (process.platform === "win32") {
    spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true }).on("error", () => undefined);
    return;
  }
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It is gone, or leads no group.
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // gone
    }
  }
}

class Lines {
  private rest = "";

  constructor(private readonly take: (line: string) => void) {}

  add(text: string): void {
    const parts = (this.rest + text).split(/\r?\n/);
    this.rest = parts.pop() ?? "";
    parts.forEach(this.take);
  }

  end(): void {
    if (this.rest !== "") {
      this.take(this.rest);
      this.rest = "";
    }
  }
}
