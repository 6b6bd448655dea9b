import assert from "node:assert/strict";
import { extensions } from "vscode";

describe("Activation", () => {
  it("happens with the first Python file", () => {
    assert.ok(extensions.getExtension("ms-python.python"));
    assert.ok(extensions.getExtension("horovodize.horovodize"));
  });
});
