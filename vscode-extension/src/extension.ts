// Starts the language server and shows what it says. Everything about TensorFlow and Horovod is in the server.

import { workspace, type ExtensionContext } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";

export async function activate(context: ExtensionContext): Promise<void> {
  const [command, ...args] = workspace.getConfiguration("horovodize").get<string[]>("command", []);
  if (command === undefined) {
    return; // an empty command switches the server off
  }
  const client = new LanguageClient(
    "horovodize",
    "Horovodize",
    { command, args },
    { documentSelector: [{ language: "python" }] },
  );
  context.subscriptions.push(client);
  await client.start();
}
