// The scripts and notebooks that are open in tabs, those first that are on the screen.

import { TabInputNotebook, TabInputText, window, workspace, type Tab, type Uri } from "vscode";
import { isServed } from "../served";

/** Without what is open twice. */
export function openScripts(): readonly Uri[] {
  const tabs = window.tabGroups.all.flatMap((group) => group.tabs);
  const uris = [...tabs.filter((tab) => tab.isActive), ...tabs.filter((tab) => !tab.isActive)].map(scriptOf);
  return [...new Map(uris.filter((uri) => uri !== undefined).map((uri) => [uri.toString(), uri])).values()];
}

function scriptOf({ input }: Tab): Uri | undefined {
  if (input instanceof TabInputNotebook) {
    return input.notebookType === "jupyter-notebook" ? input.uri : undefined;
  }
  if (!(input instanceof TabInputText)) {
    return undefined;
  }
  const { uri } = input;
  const document = workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  // A tab of the last time has no document until it is looked at.
  const isScript = document === undefined ? uri.scheme === "file" && uri.path.endsWith(".py") : isServed(document);
  return isScript ? uri : undefined;
}
