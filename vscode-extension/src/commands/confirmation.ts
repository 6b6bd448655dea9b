// Edits that the user has read as a whole, and said yes to. VS Code would ask again for each change that is to be confirmed, with
// those left out unless ticked; half of a distribution is no distribution.

import type { ApplyWorkspaceEditParams, ChangeAnnotation } from "vscode-languageclient/node";

let waiting: (() => void) | undefined;

/** The next edit that the server sends is confirmed. Resolves when it comes; `forget` when it does not. */
export function confirmNextEdit(): { readonly came: Promise<void>; readonly forget: () => void } {
  let arrive: () => void = () => undefined;
  const came = new Promise<void>((resolve) => (arrive = resolve));
  waiting = arrive;
  return {
    came,
    forget: () => {
      if (waiting === arrive) {
        waiting = undefined;
      }
    },
  };
}

/** An edit as it is to be applied: without questions that were answered. */
export function answered(params: ApplyWorkspaceEditParams): ApplyWorkspaceEditParams {
  if (waiting === undefined) {
    return params;
  }
  waiting();
  waiting = undefined;
  const annotations: Record<string, ChangeAnnotation> = {};
  for (const [id, annotation] of Object.entries(params.edit.changeAnnotations ?? {})) {
    annotations[id] = { ...annotation, needsConfirmation: false };
  }
  return { ...params, edit: { ...params.edit, changeAnnotations: annotations } };
}
