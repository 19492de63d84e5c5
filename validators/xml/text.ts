/** From markup to text: references, CDATA, comments, line ends. Only for content that the scanner found well-formed. */

const PREDEFINED: ReadonlyMap<string, string> = new Map([
  ["lt", "<"],
  ["gt", ">"],
  ["amp", "&"],
  ["apos", "'"],
  ["quot", '"'],
]);

/** Replaces the references of well-formed text; the scanner has refused all that are not known here. */
function replaceReferences(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#x([0-9a-fA-F]+)|#([0-9]+)|([a-z]+));/g,
    (_, hex?: string, decimal?: string, name?: string) => {
      if (name !== undefined) return PREDEFINED.get(name) ?? "";
      return String.fromCodePoint(hex !== undefined ? Number.parseInt(hex, 16) : Number.parseInt(decimal ?? "0", 10));
    },
  );
}

/** Line ends as XML 1.0 section 2.11 prescribes: CR LF and CR become LF. */
const lineEnds = (text: string): string => (text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text);

/** Value of an attribute of type CDATA: white space becomes spaces, except what was written as a reference. */
export function attributeText(written: string): string {
  return replaceReferences(written.replace(/\r\n|[\t\n\r]/g, " "));
}

/** Offset behind the tag that starts at `at`. A `>` inside a quoted value does not end it. */
function tagEnd(markup: string, at: number): number {
  for (let i = at + 1; i < markup.length; i++) {
    const c = markup.charCodeAt(i);
    if (c === 0x3e) return i + 1;
    if (c === 0x22 || c === 0x27) i = markup.indexOf(markup.charAt(i), i + 1);
  }
  return markup.length;
}

/** Kinds of markup inside content, by how they begin. */
type Markup = "cdata" | "comment" | "instruction" | "end" | "start";
const markupAt = (markup: string, at: number): Markup => {
  if (markup.startsWith("<![CDATA[", at)) return "cdata";
  if (markup.startsWith("<!--", at)) return "comment";
  if (markup.startsWith("<?", at)) return "instruction";
  return markup.startsWith("</", at) ? "end" : "start";
};

/** Calls `text` for each piece of character data and `markup` for each other piece, in order. */
function walk(
  content: string,
  onText: (piece: string) => void,
  onMarkup: (kind: Markup, empty: boolean) => void,
): void {
  let at = 0;
  while (at < content.length) {
    const lt = content.indexOf("<", at);
    const end = lt < 0 ? content.length : lt;
    if (end > at) onText(replaceReferences(lineEnds(content.slice(at, end))));
    if (lt < 0) return;
    const kind = markupAt(content, lt);
    if (kind === "cdata") {
      const close = content.indexOf("]]>", lt);
      onText(lineEnds(content.slice(lt + 9, close)));
      at = close + 3;
    } else if (kind === "comment" || kind === "instruction") {
      const ending = kind === "comment" ? "-->" : "?>";
      at = content.indexOf(ending, lt + (kind === "comment" ? 4 : 2)) + ending.length;
      onMarkup(kind, false);
    } else {
      at = tagEnd(content, lt);
      onMarkup(kind, kind === "start" && content.charCodeAt(at - 2) === 0x2f);
    }
  }
}

/** All text of the content of an element, descendants included: its string value. */
export function contentText(content: string): string {
  const pieces: string[] = [];
  walk(
    content,
    (piece) => pieces.push(piece),
    () => undefined,
  );
  return pieces.join("");
}

/**
 * Text nodes that are children of the element with this content. Comments and instructions end a node; CDATA does not.
 */
export function characterData(content: string): string[] {
  const nodes: string[] = [];
  let depth = 0;
  let open = "";
  const close = (): void => {
    if (open !== "") nodes.push(open);
    open = "";
  };
  walk(
    content,
    (piece) => {
      if (depth === 0) open += piece;
    },
    (kind, empty) => {
      if (depth === 0) close();
      if (kind === "start" && !empty) depth++;
      else if (kind === "end") depth--;
    },
  );
  close();
  return nodes;
}

/** Prefix → namespace of the declarations in a start tag; the default namespace has the prefix "". */
export function namespaceDeclarations(tag: string): Map<string, string> {
  const declared = new Map<string, string>();
  for (const [, name = "", double, single] of tag.matchAll(
    /[ \t\r\n]([^ \t\r\n=]+)[ \t\r\n]*=[ \t\r\n]*(?:"([^"]*)"|'([^']*)')/g,
  )) {
    if (name === "xmlns") declared.set("", attributeText(double ?? single ?? ""));
    else if (name.startsWith("xmlns:")) declared.set(name.slice(6), attributeText(double ?? single ?? ""));
  }
  return declared;
}
