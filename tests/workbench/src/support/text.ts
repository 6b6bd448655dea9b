// Places in texts, and texts of the editor.

/** Line and column of the last occurrence, from 1. */
export function placeOf(text: string, part: string): [line: number, column: number] {
  const offset = text.lastIndexOf(part);
  if (offset < 0) {
    throw new Error(`no ${part} in the text`);
  }
  const before = text.slice(0, offset).split("\n");
  return [before.length, (before.at(-1) ?? "").length + 1];
}

/** As read: the editor draws spaces that do not break. */
export function plain(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
