// Asks on how many ranks, and on which hosts, to train.

import { l10n, window } from "vscode";
import { hostsProblem, ranksOf } from "./horovodrun";

/** Undefined: the user thought better of it. */
export async function askRanks(usual: number): Promise<number | undefined> {
  const text = await window.showInputBox({
    title: l10n.t("Train on several ranks (1 of 2)"),
    prompt: l10n.t("How many processes, one for each GPU"),
    value: String(usual),
    validateInput: (given) => (ranksOf(given) === undefined ? l10n.t("A number from 1 on") : undefined),
  });
  return text === undefined ? undefined : ranksOf(text);
}

/** "" is this machine; undefined: the user thought better of it. */
export async function askHosts(ranks: number): Promise<string | undefined> {
  const text = await window.showInputBox({
    title: l10n.t("Train on several ranks (2 of 2)"),
    prompt: l10n.t("Hosts and how many processes on each; empty for this machine"),
    placeHolder: "server1:4,server2:4",
    validateInput: (given) => {
      const problem = hostsProblem(given, ranks);
      if (problem === undefined) {
        return undefined;
      }
      return problem.kind === "form"
        ? l10n.t("Like this: server1:4,server2:4")
        : l10n.t("These have room for {0} processes, not {1}", problem.slots, ranks);
    },
  });
  return text?.trim();
}
