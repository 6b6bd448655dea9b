// One notification for what is in the way of the server: what it is, and what to do about it.

import { commands, env, extensions, l10n, Uri, window } from "vscode";
import { OLDEST_PYTHON } from "./python";
import type { Trouble } from "./troubles";

interface Remedy {
  readonly title: string;
  readonly run: () => unknown;
}

const PYTHON_DOWNLOADS = "https://www.python.org/downloads/";

/** What is in the way, in a sentence or two. */
export function sentence(trouble: Trouble): string {
  const oldest = OLDEST_PYTHON.join(".");
  switch (trouble.kind) {
    case "path":
      return pathSentence(trouble.path, trouble.why);
    case "no-python":
      return l10n.t("Horovodize needs Python {0} or newer to run, and found no Python.", oldest);
    case "python-too-old":
      return l10n.t(
        "Horovodize needs Python {0} or newer to run; {1} is Python {2}.",
        oldest,
        trouble.executable,
        trouble.version.join("."),
      );
    case "no-venv":
      return l10n.t(
        "{0} can't make virtual environments. On Debian and Ubuntu, install the package python{1}-venv, then try again.",
        trouble.executable,
        trouble.version.join("."),
      );
    case "offline":
      return l10n.t("Horovodize could not download the packages that its server needs (pygls and what that needs): no connection.");
    case "install":
      return trouble.step === "environment"
        ? l10n.t("Horovodize could not make a Python environment for its server.")
        : l10n.t("Horovodize could not install its server.");
    case "no-wheel":
      return l10n.t("This build of the extension has no server in it. Name one in the setting horovodize.path.");
    case "cancelled":
      return l10n.t("Preparing it was cancelled.");
    case "start":
      return l10n.t("The Horovodize server did not start: {0}.", trouble.message.replace(/\.$/, ""));
    case "crashes":
      return l10n.t("The Horovodize server ended {0} times within three minutes and is not started again.", trouble.times);
  }
}

/** The same in a few words, for where there is little room. */
export function brief(trouble: Trouble): string {
  switch (trouble.kind) {
    case "path":
      return l10n.t("horovodize.path is wrong");
    case "no-python":
      return l10n.t("no Python found");
    case "python-too-old":
      return l10n.t("Python is too old");
    case "no-venv":
      return l10n.t("venv is missing");
    case "offline":
      return l10n.t("no connection");
    case "install":
      return l10n.t("it could not be installed");
    case "no-wheel":
      return l10n.t("no server in this build");
    case "cancelled":
      return l10n.t("cancelled");
    case "start":
      return l10n.t("the server did not start");
    case "crashes":
      return l10n.t("the server keeps ending");
  }
}

function pathSentence(path: string, why: "missing" | "broken" | "without" | "old"): string {
  switch (why) {
    case "missing":
      return l10n.t("The setting horovodize.path names {0}, which is not there or does not run.", path);
    case "broken":
      return l10n.t("The setting horovodize.path names {0}, which is not Horovodize.", path);
    case "without":
      return l10n.t("The setting horovodize.path names {0}, a Python that does not have Horovodize.", path);
    case "old":
      return l10n.t("The setting horovodize.path names {0}, a Horovodize that is too old for this extension.", path);
  }
}

/** Shows the notification; `retry` starts again. */
export async function tell(trouble: Trouble, showLog: () => void, retry: () => void): Promise<void> {
  if (trouble.kind === "cancelled") {
    return; // who cancels knows; the status item says how to go on
  }
  const remedies = [...remediesFor(trouble, retry), { title: l10n.t("Show Log"), run: showLog }];
  const chosen = await window.showErrorMessage(sentence(trouble), ...remedies.map((remedy) => remedy.title));
  await remedies.find((remedy) => remedy.title === chosen)?.run();
}

function remediesFor(trouble: Trouble, retry: () => void): Remedy[] {
  const again: Remedy = { title: l10n.t("Try Again"), run: retry };
  const settings: Remedy = {
    title: l10n.t("Open Settings"),
    run: () => commands.executeCommand("workbench.action.openSettings", "horovodize.path"),
  };
  const choose: Remedy[] =
    extensions.getExtension("ms-python.python") === undefined
      ? []
      : [{ title: l10n.t("Select Interpreter"), run: () => commands.executeCommand("python.setInterpreter") }];
  switch (trouble.kind) {
    case "path":
    case "no-wheel":
      return [settings];
    case "no-python":
    case "python-too-old":
      return [...choose, { title: l10n.t("Get Python"), run: () => env.openExternal(Uri.parse(PYTHON_DOWNLOADS)) }, again];
    case "crashes":
    case "start":
    case "no-venv":
    case "offline":
    case "install":
    case "cancelled":
      return [again];
  }
}
