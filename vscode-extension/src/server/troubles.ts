// What can be in the way of starting the server: data, of which `tell.ts` makes sentences.

import type { Version } from "./python";

export type Trouble =
  /** `horovodize.path` names what is not there, does not answer, or is a Python without Horovodize. */
  | { readonly kind: "path"; readonly path: string; readonly why: "missing" | "broken" | "without" | "old" }
  | { readonly kind: "no-python" }
  | { readonly kind: "python-too-old"; readonly executable: string; readonly version: Version }
  /** Debian keeps `ensurepip` in a package of its own. */
  | { readonly kind: "no-venv"; readonly executable: string; readonly version: Version }
  | { readonly kind: "offline" }
  | { readonly kind: "install"; readonly step: "environment" | "packages" }
  /** This build of the extension was made without the server in it. */
  | { readonly kind: "no-wheel" }
  | { readonly kind: "cancelled" }
  /** The server was found and did not start. */
  | { readonly kind: "start"; readonly message: string }
  /** The server ended by itself, again and again. */
  | { readonly kind: "crashes"; readonly times: number };

/** Thrown with what is in the way. */
export class Stopped extends Error {
  constructor(readonly trouble: Trouble) {
    super(trouble.kind);
  }
}
