// A task that can't train, and says in its terminal what it lacks and how to get it.

import { CustomExecution, EventEmitter, l10n, type Pseudoterminal } from "vscode";

const INSTALLING = "https://horovod.readthedocs.io/en/stable/install_include.html";

/** Few lines: the first is to be seen in a panel of the usual height. `python`: that which was found, if any; `lacking`: what it lacks. */
export function missingRequirements(python: string | undefined, lacking: readonly string[]): CustomExecution {
  return told(lines(python, lacking));
}

/** Ends with status 1. */
export function told(text: readonly string[]): CustomExecution {
  return new CustomExecution(() => Promise.resolve(terminal(text)));
}

function lines(python: string | undefined, lacking: readonly string[]): string[] {
  if (python === undefined) {
    return [
      l10n.t("There is no Python to train with."),
      l10n.t("Choose an interpreter (Python: Select Interpreter), or name one in the setting horovodize.train.python."),
    ];
  }
  return [
    l10n.t("Training on several ranks needs {0}, which {1} does not have.", lacking.join(l10n.t(" and ")), python),
    l10n.t("Choose another interpreter (Python: Select Interpreter, or the setting horovodize.train.python), or install there:"),
    ...(lacking.includes("TensorFlow") ? [`    ${python} -m pip install "tensorflow==2.15.*" "setuptools<70" wheel`] : []),
    ...(lacking.includes("Horovod") ? [`    HOROVOD_WITH_TENSORFLOW=1 ${python} -m pip install --no-build-isolation horovod`] : []),
    l10n.t("Horovod is built when it is installed: cmake and a C++ compiler are needed. {0} says more.", INSTALLING),
  ];
}

function terminal(text: readonly string[]): Pseudoterminal {
  const write = new EventEmitter<string>();
  const close = new EventEmitter<number>();
  return {
    onDidWrite: write.event,
    onDidClose: close.event,
    open: () => {
      write.fire(`${text.join("\r\n")}\r\n`);
      close.fire(1);
    },
    close: () => undefined,
  };
}
