// The commands, and training.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { commands, env, languages, TabInputTextDiff, tasks, window, workspace, type CodeAction, type TextDocument } from "vscode";

import { until } from "../support/until";
import { diagnostic, openScript, run, running, set, VENV } from "./support";

const TRAINING_PYTHON = process.env.HOROVODIZE_TEST_TF_PYTHON ?? "";

// Arrays that nothing is known of: that they are divided is to be confirmed.
const DOUBTFUL = `import tensorflow as tf


def train(x, y):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(optimizer=tf.keras.optimizers.Adam(0.001), loss="mse")
    model.fit(x, y, batch_size=8, epochs=2)
`;

describe("The command", () => {
  before(async () => {
    await set("path", `${VENV}/bin/horovodize`);
    await running();
  });

  it("Distribute with Horovod edits the document, and one undo takes it back", async () => {
    const document = await openScript();
    const original = document.getText();
    await diagnostic(document, "HVD001");
    await run("horovodize.distributeDocument");
    await changed(document, /hvd\.init\(\)/);
    await run("undo");
    assert.equal(document.getText(), original);
  });

  it("Distribute with Horovod of the light bulb shows all where something is to be confirmed, and edits where nothing is", async () => {
    const [sure, doubtful] = [await openScript(), await openScript(DOUBTFUL)];
    for (const document of [sure, doubtful]) {
      await diagnostic(document, "HVD001");
    }
    const offered = await distributing(sure);
    assert.ok(offered.edit !== undefined && offered.edit.size > 0);
    const shown = await distributing(doubtful);
    assert.equal(shown.edit, undefined, "half of it could be applied");
    assert.equal(shown.command?.command, "horovodize.previewDocument");
    await run(shown.command.command, ...((shown.command.arguments ?? []) as unknown[]));
    await until("the preview", () => window.tabGroups.all.some((group) => group.tabs.some((tab) => tab.input instanceof TabInputTextDiff)));
    await run("horovodize.applyPreview");
    await changed(doubtful, /hvd\.init\(\)/);
  });

  it("Fix All Findings mends what has one fix, and does not distribute", async () => {
    const document = await openScript(`import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(tf.ones((8, 2)), tf.ones((8, 1)))
print(model.evaluate(tf.ones((8, 2)), tf.ones((8, 1))))
`);
    await diagnostic(document, "HVD104");
    await run("horovodize.fixAllFindings");
    await changed(document, /\nprint\(\w+\)\n/);
    assert.doesNotMatch(document.getText(), /horovod/);
  });

  it("Copy Debug Information copies no text of the user's", async () => {
    await openScript();
    await run("horovodize.copyDebugInformation");
    const text = await env.clipboard.readText();
    assert.match(text, /"source": "path"/);
    assert.doesNotMatch(text, /Dense|tf\.ones/);
  });

  it("Explain opens the page of a code", async () => {
    await run("horovodize.explainFinding", "HVD105");
    await until("a tab with the page", () => window.tabGroups.all.some((group) => group.tabs.some((tab) => tab.label.includes("HVD105"))));
  });
});

describe("A training task", () => {
  it("is provided for the script in the editor", async () => {
    const document = await openScript();
    await window.showTextDocument(document);
    const found = await tasks.fetchTasks({ type: "horovodize" });
    assert.ok(found.some((task) => task.name.includes("train.py on 2 ranks")), found.map((task) => task.name).join());
  });

  it("says what is missing where there is no Horovod", async () => {
    await set("train.python", `${VENV}/bin/python`);
    assert.equal(await train(await openScript()), 1);
  });

  it("runs on the ranks of the settings, and marks where one of them failed", async () => {
    await set("train.python", TRAINING_PYTHON);
    const document = await openScript('import os\n\nif os.environ["HOROVOD_RANK"] == "1":\n    raise ValueError("no data on this rank")\n');
    assert.notEqual(await train(document), 0);
    const found = await until("the problem", () =>
      languages.getDiagnostics(document.uri).find(({ message }) => message.includes("no data on this rank")),
    );
    assert.equal(found.range.start.line, 3);
  });

  it("succeeds", async () => {
    const document = await openScript('import os\n\nprint(os.environ["HOROVOD_RANK"], "of", os.environ["HOROVOD_SIZE"])\n');
    assert.equal(await train(document), 0);
  });

  it("of tasks.json runs with what that says", async () => {
    const ranks = 'os.environ["HOROVOD_SIZE"], *sys.argv[1:]';
    const document = await openScript(`import os\nimport sys\n\nsys.exit([${ranks}] != ["3", "--epochs", "1"])\n`);
    await set("train.ranks", 2); // the file wins
    const script = workspace.asRelativePath(document.uri);
    writeTasks({ type: "horovodize", label: "mine", script, ranks: 3, hosts: "localhost:3", arguments: ["--epochs", "1"] });
    const mine = await until("the task of tasks.json", async () => (await tasks.fetchTasks({ type: "horovodize" })).find(({ name }) => name === "mine"));
    const ended = endOfTraining();
    await tasks.executeTask(mine);
    assert.equal(await ended, 0);
  });

  after(async () => {
    await set("train.python", undefined);
    await set("train.ranks", undefined);
  });
});

/** Trains on two ranks, and returns the exit status of the task. */
async function train(document: TextDocument): Promise<number | undefined> {
  await set("train.ranks", 2);
  const ended = endOfTraining();
  await commands.executeCommand("horovodize.train", document.uri);
  return ended;
}

/** The exit status of the next training task that ends. */
async function endOfTraining(): Promise<number | undefined> {
  return new Promise((resolve) => {
    const listener = tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
      if (execution.task.definition.type === "horovodize") {
        listener.dispose();
        resolve(exitCode);
      }
    });
  });
}

/** Writes the workspace's tasks.json. */
function writeTasks(...written: object[]): void {
  const folder = join(workspace.workspaceFolders?.[0]?.uri.fsPath ?? "", ".vscode");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "tasks.json"), JSON.stringify({ version: "2.0.0", tasks: written }));
}

/** The action that distributes a script with a Keras loop. */
async function distributing(document: TextDocument): Promise<CodeAction> {
  const { range } = await diagnostic(document, "HVD001");
  const kind = "refactor.rewrite.horovodize.distribute";
  const found = await commands.executeCommand<CodeAction[]>("vscode.executeCodeActionProvider", document.uri, range, kind, 10);
  const [action] = found;
  assert.ok(action);
  return action;
}

async function changed(document: TextDocument, text: RegExp): Promise<void> {
  await until(`the text of ${dirname(document.fileName)} changes`, () => text.test(document.getText()));
}
