// The engine's texts as nodes. What comes from the user's script is only ever text: no markup is parsed as HTML.

/** An element with attributes and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

/** Prose in which only what stands between backquotes is code. */
export function prose(text: string): DocumentFragment {
  const made = document.createDocumentFragment();
  text.split(/`([^`\n]+)`/).forEach((part, index) => {
    made.append(index % 2 === 1 ? element("code", {}, part) : part);
  });
  return made;
}

export function sentence(text: string): string {
  const begun = text.slice(0, 1).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) || begun === "" ? begun : `${begun}.`;
}

/** The address of a page about a code or a rule. */
export function pageAddress(name: string): string {
  return `../rules/${name}/`;
}

export function pageLink(name: string | null, label: string): Node {
  return name === null ? document.createTextNode(label) : element("a", { href: pageAddress(name) }, label);
}

// What horovodize.explaining.markup writes: paragraphs, lists, bold ones, code, links, and escapes.
const INLINE = /`([^`]+)`|\[([^\]]*)\]\(<page:(\w+)>\)|\\([\s\S])/g;

/** The Markdown of a hover. */
export function markdown(text: string): DocumentFragment {
  const made = document.createDocumentFragment();
  for (const block of text.split("\n\n")) {
    if (block.startsWith("- ")) {
      made.append(element("ul", {}, ...block.split("\n").map((item) => element("li", {}, inline(item.slice(2))))));
    } else {
      const strong = /^\*\*([\s\S]*)\*\*$/.exec(block)?.[1];
      made.append(element("p", {}, strong === undefined ? inline(block) : element("strong", {}, inline(strong))));
    }
  }
  return made;
}

function inline(text: string): DocumentFragment {
  const made = document.createDocumentFragment();
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, code, words, page, escaped] = found;
    made.append(text.slice(at, found.index));
    at = found.index + whole.length;
    if (code !== undefined) {
      made.append(element("code", {}, code));
    } else if (page !== undefined) {
      made.append(element("a", { href: pageAddress(page), "aria-label": `${words ?? ""}: ${page}` }, words ?? page));
    } else {
      made.append(escaped ?? "");
    }
  }
  made.append(text.slice(at));
  return made;
}
