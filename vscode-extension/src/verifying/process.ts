// A program in a task's terminal whose words are heard, too: for the progress, and for what went wrong.

import { spawn, type ChildProcess } from "node:child_process";
import { CustomExecution, EventEmitter, type Pseudoterminal } from "vscode";
import { killTree } from "../server/run";
import type { Command } from "../training/horovodrun";

/** For ranks that were told to end. Milliseconds. */
const FAREWELL = 20_000;

export interface Heard {
  readonly line: (text: string) => void;
  /** Null: it could not be started, or was ended. */
  readonly ended: (status: number | null, output: string) => void;
}

export function heard(command: Command, cwd: string, env: NodeJS.ProcessEnv, listener: Heard): CustomExecution {
  return new CustomExecution(() => Promise.resolve(terminal(command, cwd, env, listener)));
}

function terminal(command: Command, cwd: string, env: NodeJS.ProcessEnv, listener: Heard): Pseudoterminal {
  const write = new EventEmitter<string>();
  const close = new EventEmitter<number>();
  let child: ChildProcess | undefined;
  let output = "";
  let over = false;
  const take = (text: string): void => {
    output += text;
    write.fire(text.replace(/\r?\n/g, "\r\n"));
    text.split(/\r?\n/).filter((line) => line.trim() !== "").forEach(listener.line);
  };
  const end = (status: number | null): void => {
    if (!over) {
      over = true;
      listener.ended(status, output);
      close.fire(status ?? 130);
    }
  };
  const stop = (): void => {
    if (over || child?.pid === undefined) {
      return;
    }
    const { pid } = child;
    // As by Ctrl-C: it ends its ranks, which have sessions of their own.
    child.kill("SIGINT");
    setTimeout(() => {
      if (!over) {
        killTree(pid);
      }
    }, FAREWELL).unref();
  };
  return {
    onDidWrite: write.event,
    onDidClose: close.event,
    open: () => {
      child = spawn(command.program, [...command.arguments], {
        cwd,
        env,
        stdio: ["ignore", "pipe", "pipe"],
        windowsHide: true,
        detached: process.platform !== "win32",
      });
      child.stdout?.setEncoding("utf8").on("data", take);
      child.stderr?.setEncoding("utf8").on("data", take);
      child.on("error", (error) => {
        take(`${error.message}\n`);
        end(null);
      });
      child.on("close", end);
    },
    close: stop,
    handleInput: (data) => {
      if (data === "\x03") {
        stop();
      }
    },
  };
}
