// The documents that the server is told of.

import type { Uri } from "vscode";

export const SERVED = ["file", "untitled", "vscode-notebook-cell"].map((scheme) => ({ scheme, language: "python" }));

export function isServed(document: { readonly languageId: string; readonly uri: Uri }): boolean {
  return SERVED.some(({ scheme, language }) => scheme === document.uri.scheme && language === document.languageId);
}
