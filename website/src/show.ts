// What the engine says of a script, as the parts of the page.

import { element, markdown, pageLink, prose, sentence } from "./prose";
import type { Changes, Finding, Look, Loop, Place, Plan, Range } from "./protocol";

type Go = (range: Range) => void;

/** In a sentence, what came of it. */
export function verdict(look: Look): { readonly text: string; readonly kind: "good" | "ask" | "bad" | "neutral" } {
  if (look.outcome === "plan") {
    const asked = look.plan.changes.filter((change) => !change.sure).length;
    if (asked > 0) {
      return { text: `Can be distributed, with ${asked === 1 ? "a question" : `${String(asked)} questions`} to answer first`, kind: "ask" };
    }
    return { text: "Can be distributed; nothing is left open", kind: "good" };
  }
  if (look.outcome === "unchanged") {
    return { text: sentence(`nothing to do: ${look.message}`), kind: "neutral" };
  }
  const none = look.loops.length === 0 && look.reasons.every((reason) => reason.code === "HVD002");
  return none ? { text: "No training loop in this script", kind: "neutral" } : { text: "Refused: it can't be distributed as it stands", kind: "bad" };
}

function lineLink(place: Place, go: Go): HTMLElement {
  const button = element("button", { type: "button", class: "place" }, `line ${String(place.line)}`);
  button.addEventListener("click", () => {
    go(place.range);
  });
  return button;
}

function places(all: readonly Place[], go: Go): Node[] {
  const byLine = new Map(all.map((place) => [place.line, place]));
  return [...byLine.values()].flatMap((place, index) => [document.createTextNode(index === 0 ? "" : ", "), lineLink(place, go)]);
}

export function loops(look: Look, go: Go): Node[] {
  if (look.loops.length === 0) {
    return [element("p", {}, "None was found.")];
  }
  const items = look.loops.map((loop: Loop) => element("li", { class: "card" }, element("p", { class: "where" }, lineLink(loop, go)), markdown(loop.hover)));
  return [element("ul", { class: "cards" }, ...items)];
}

export function findings(look: Look, go: Go): Node[] {
  const reasons = look.outcome === "refused" ? look.reasons.filter((reason) => reason.code !== "HVD002") : [];
  const known = new Set(look.findings.map((finding) => `${finding.code} ${finding.message} ${String(finding.line)}`));
  const others = reasons.filter((reason) => !known.has(`${reason.code} ${reason.message} ${String(reason.line)}`));
  const items = [
    ...look.findings.map((finding) => findingItem(finding, go)),
    ...others.map((reason) => item("Refused", "bad", reason.code, reason.page, reason.message, reason, go)),
  ];
  const made: Node[] = items.length === 0 ? [element("p", {}, "Nothing stands in the way.")] : [element("ul", { class: "cards" }, ...items)];
  if (look.outcome === "refused" && look.needsLibcst) {
    made.push(
      element(
        "p",
        { class: "note" },
        "The installed tool takes some statements apart to get at a step in them (comprehensions, one-line blocks, lines joined by ",
        element("code", {}, ";"),
        "). It needs LibCST for that, which doesn't run in a browser: try this script there.",
      ),
    );
  }
  return made;
}

const KINDS = { error: ["Error", "bad"], warning: ["Warning", "ask"], information: ["Information", "neutral"], hint: ["Hint", "neutral"] } as const;

function findingItem(finding: Finding, go: Go): HTMLElement {
  const [label, kind] = finding.blocks && finding.severity === "warning" ? (["Blocks", "bad"] as const) : KINDS[finding.severity];
  const made = item(label, kind, finding.code, finding.page, finding.message, finding, go);
  for (const related of finding.related) {
    made.append(element("p", { class: "related" }, lineLink(related, go), ": ", prose(related.message)));
  }
  return made;
}

function item(label: string, kind: string, code: string, page: string | null, message: string, place: Place, go: Go): HTMLElement {
  const head = element("p", { class: "where" }, element("span", { class: `badge ${kind}` }, label), " ", pageLink(page, code), " · ", lineLink(place, go));
  return element("li", { class: "card" }, head, element("p", {}, prose(sentence(message))));
}

/** What is asked before training; nothing where nothing is. */
export function questions(plan: Plan, go: Go): Node[] {
  const asked = plan.changes.filter((change) => !change.sure);
  return asked.map((change) =>
    element(
      "li",
      { class: "card question" },
      element("p", { class: "where" }, pageLink(change.page, change.rule), " · ", ...places(change.places, go)),
      element("p", {}, element("strong", {}, prose(sentence(change.what)))),
      element("p", {}, prose(sentence(change.doubt))),
    ),
  );
}

export function reasons(plan: Plan, go: Go): Node[] {
  const made: Node[] = plan.scalings.map(({ text }) => element("p", {}, prose(sentence(text))));
  const byRule = new Map<string, Changes[]>();
  for (const change of plan.changes.filter(({ sure }) => sure)) {
    byRule.set(change.rule, [...(byRule.get(change.rule) ?? []), change]);
  }
  const items = [...byRule.values()].map((changes) => {
    const [first] = changes;
    const lines = changes.map((change) =>
      element("li", {}, ...places(change.places, go), ": ", prose(sentence(change.what)), change.why === "" ? "" : " ", element("span", { class: "why" }, prose(sentence(change.why)))),
    );
    return element("li", { class: "card" }, element("p", { class: "where" }, pageLink(first?.page ?? null, first?.rule ?? ""), ` ${first?.title ?? ""}`), element("ul", {}, ...lines));
  });
  made.push(element("ul", { class: "cards" }, ...items));
  if (plan.notes.length > 0) {
    made.push(element("h3", {}, "Notes"));
    made.push(element("ul", {}, ...plan.notes.map((note) => element("li", {}, pageLink(note.page, note.rule), " ", lineLink(note, go), ": ", prose(sentence(note.message))))));
  }
  return made;
}

const SIGNS = { "+": ["added", "added"], "-": ["removed", "removed"], " ": ["", ""] } as const;

export function difference(plan: Plan): Node[] {
  if (plan.hunks.length === 0) {
    return [element("p", {}, "The script stays as it is.")];
  }
  const bodies = plan.hunks.map((hunk) => {
    const rows = hunk.lines.map(([sign, text, before, after]) => {
      const [kind, spoken] = SIGNS[sign];
      const mark = element("td", { class: "sign" }, sign, ...(spoken === "" ? [] : [element("span", { class: "spoken" }, spoken)]));
      return element("tr", { class: kind }, number(before), number(after), mark, element("td", { class: "code" }, text));
    });
    const head = element("th", { colspan: "4", scope: "rowgroup" }, `From line ${String(hunk.line)}`);
    return element("tbody", {}, element("tr", { class: "hunk" }, head), ...rows);
  });
  const head = element(
    "thead",
    { class: "spoken" },
    element("tr", {}, ...["line before", "line after", "change", "text"].map((words) => element("th", { scope: "col" }, words))),
  );
  const table = element("table", { class: "diff" }, element("caption", { class: "spoken" }, "The lines that change, with three around them"), head, ...bodies);
  return [element("div", { class: "scrolls", tabindex: "0", role: "region", "aria-label": "The difference, line by line" }, table)];
}

function number(line: number | null): HTMLElement {
  return element("td", { class: "number" }, line === null ? "" : String(line));
}
