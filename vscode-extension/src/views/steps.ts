// The steps of the walkthrough: each is ticked when it was done, by whatever way, and not when it was tried.

import { commands } from "vscode";

export type Step = "opened" | "explained" | "previewed" | "distributed" | "trained";

/** Ticks a step: package.json names these context keys in `completionEvents`. */
export function done(step: Step): void {
  void commands.executeCommand("setContext", `horovodize.did.${step}`, true);
}
