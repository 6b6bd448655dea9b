// `environments` is what Horovodize uses of the real extension's API; `select` is for tests: it chooses a Python, as a person would.

const vscode = require("vscode");

exports.activate = () => {
  const changed = new vscode.EventEmitter();
  let selected; // a path
  return {
    environments: {
      getActiveEnvironmentPath: () => ({ id: selected ?? "", path: selected ?? "" }),
      resolveEnvironment: async () => (selected === undefined ? undefined : { executable: { uri: vscode.Uri.file(selected) } }),
      onDidChangeActiveEnvironmentPath: changed.event,
    },
    select(path) {
      selected = path;
      changed.fire({ id: path ?? "", path: path ?? "", resource: undefined });
    },
  };
};
