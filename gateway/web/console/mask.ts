/**
 * Masks a drawn invoice: everything that the document says is hidden, the words around it stay. What is hidden is told
 * by where it stands, so that what is drawn anew one day is hidden until somebody lets it be seen.
 */

/** Elements in which our own words stand, and nothing of the document. */
const LABELS: ReadonlySet<string> = new Set(["dt", "th", "h2", "style"]);
const HIDDEN = "•••";

/** Our templates escape every < and > of a value: what begins with < is markup. */
const PARTS = /<[^>]*>|[^<]+/g;
const TAG = /^<(\/?)([a-zA-Z0-9]+)/;
/** `<h1><span>Invoice</span>number</h1>`: the kind of a document is ours, its number is not. */
const KIND_OF_DOCUMENT = /^h1\/span$/;

/** @param page  as validators/view/html.ts draws it */
export function maskInvoice(page: string): string {
  const open: string[] = [];
  return page.replace(PARTS, (part) => {
    const [, closes, name = ""] = TAG.exec(part) ?? [];
    if (part.startsWith("<")) {
      if (closes === "/") open.splice(open.lastIndexOf(name), 1);
      else if (name !== "" && !VOID.has(name)) open.push(name);
      return part;
    }
    const isOurs = open.some((one) => LABELS.has(one)) || KIND_OF_DOCUMENT.test([open.at(-2), open.at(-1)].join("/"));
    return isOurs || part.trim() === "" ? part : HIDDEN;
  });
}

/** Elements without an end. */
const VOID: ReadonlySet<string> = new Set(["meta", "br", "img", "input", "link", "hr"]);
