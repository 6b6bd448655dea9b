// The script, in CodeMirror: Python's colours, findings underlined, hovers. Tab leaves it, as everything on the page.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorSelection, EditorState, type Text } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers, type Tooltip } from "@codemirror/view";
import { tags } from "@lezer/highlight";

import { element, markdown, pageAddress, prose } from "./prose";
import type { Finding, Hover, Range } from "./protocol";

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword], color: "var(--keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: [tags.comment], color: "var(--comment)", fontStyle: "italic" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.definition(tags.variableName)], color: "var(--name)" },
  { tag: [tags.meta], color: "var(--number)" },
]);

const SEVERITIES = { error: "error", warning: "warning", information: "info", hint: "hint" } as const;

export interface Events {
  /** The text has changed. */
  readonly changed: () => void;
  /** The cursor has moved, or the text has changed. */
  readonly moved: () => void;
  readonly hover: (line: number, character: number) => Promise<Hover | null>;
}

export class Editor {
  private readonly view: EditorView;

  constructor(parent: HTMLElement, labelledBy: string, events: Events) {
    const hovers = hoverTooltip(async (view, at) => this.tooltip(view, at, events), { hoverTime: 350 });
    const extensions = [
      lineNumbers(),
      lintGutter(),
      history(),
      drawSelection(),
      indentOnInput(),
      bracketMatching(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      highlightSelectionMatches(),
      indentUnit.of("    "),
      EditorState.tabSize.of(4),
      syntaxHighlighting(colours),
      python(),
      keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap]),
      hovers,
      EditorView.contentAttributes.of({ tabindex: "0", "aria-labelledby": labelledBy, "aria-describedby": "editor-help", spellcheck: "false", autocorrect: "off" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) {
          events.changed();
        }
        if (update.docChanged || update.selectionSet) {
          events.moved();
        }
      }),
    ];
    this.view = new EditorView({ parent, state: EditorState.create({ extensions }) });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  get cursor(): { readonly line: number; readonly character: number } {
    const { head } = this.view.state.selection.main;
    const line = this.view.state.doc.lineAt(head);
    return { line: line.number - 1, character: head - line.from };
  }

  /** Puts another script in; one can undo that. */
  put(text: string): void {
    const { state } = this.view;
    this.view.dispatch({ changes: { from: 0, to: state.doc.length, insert: text }, selection: EditorSelection.cursor(0), scrollIntoView: true });
    this.view.dispatch(setDiagnostics(this.view.state, []));
  }

  underline(findings: readonly Finding[]): void {
    const diagnostics = findings.map((finding): Diagnostic => {
      const { from, to } = offsets(this.view.state.doc, finding.range);
      return {
        from,
        to: Math.max(to, Math.min(from + 1, this.view.state.doc.length)),
        severity: SEVERITIES[finding.severity],
        message: `${finding.code}: ${finding.message}`,
        renderMessage: () => element("span", {}, `${finding.code}: `, prose(finding.message), ...why(finding.page)),
      };
    });
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  /** Puts the cursor there, and shows it. */
  go(range: Range): void {
    const { from } = offsets(this.view.state.doc, range);
    const effects = EditorView.scrollIntoView(from, { y: "center" });
    this.view.dispatch({ selection: EditorSelection.cursor(from), effects });
    this.view.focus();
  }

  private async tooltip(view: EditorView, at: number, events: Events): Promise<Tooltip | null> {
    const { doc } = view.state;
    const line = doc.lineAt(at);
    const found = await events.hover(line.number - 1, at - line.from);
    if (found === null || view.state.doc !== doc) {
      return null;
    }
    const { from, to } = offsets(doc, found.range);
    return {
      pos: Math.max(from, line.from),
      end: Math.min(Math.max(to, at), line.to),
      above: true,
      create: () => ({ dom: element("div", { class: "hover" }, markdown(found.hover)) }),
    };
  }
}

function why(page: string | null): Node[] {
  return page === null ? [] : [document.createTextNode(" "), element("a", { href: pageAddress(page) }, "Why")];
}

/** Of a range of the engine's, the offsets; what is no longer there is brought into the text. */
function offsets(doc: Text, range: Range): { readonly from: number; readonly to: number } {
  const offset = (line: number, character: number): number => {
    const found = doc.line(Math.min(line + 1, doc.lines));
    return Math.min(found.from + character, found.to);
  };
  return { from: offset(range[0], range[1]), to: offset(range[2], range[3]) };
}
