/** The files that come with an invoice as JSON: a plain name, and a content that is what its type says. */
import { whyUnreadable } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import { firstChars } from "../base/text.js";
import type { Attachment } from "./draft.js";
import type { Members } from "./members.js";
import { mayBe } from "./problems.js";
import { ATTACHMENT_EXTENSIONS, ATTACHMENT_TYPES } from "./terms.js";

const MEMBERS: ReadonlySet<string> = new Set(["fileName", "mimeType", "content", "description"]);
/** Characters that stand for three octets. */
const QUANTUM = 4;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/u;
/** No path; what is invisible in it is refused beside. */
const PLAIN_NAME = /^(?!\.{1,2}$)[^/\\]+$/u;
/** What a program goes by when it opens a file: `a.2026` and `s.r.o` have none. */
const EXTENSION = /\.(?=\d*[a-z])([a-z0-9]{2,4})$/iu;

export function readAttachments(invoice: Members): readonly Attachment[] {
  let total = 0;
  return invoice.entries("attachments", LIMITS.invoice_attachments_max).map((entry) => {
    entry.knowsOnly(MEMBERS);
    const mimeType = entry.required("mimeType");
    if (mimeType !== "" && !Object.hasOwn(ATTACHMENT_TYPES, mimeType))
      entry.fails("mimeType", "JSON-CODE", mayBe(Object.keys(ATTACHMENT_TYPES)));
    const fileName = entry.required("fileName");
    if (fileName !== "" && !isNameOf(mimeType, fileName)) entry.fails("fileName", "JSON-FILE-NAME");
    const content = entry.value("content");
    const bytes = typeof content === "string" ? Buffer.byteLength(content, "base64") : 0;
    total += bytes;
    const fits = bytes <= LIMITS.invoice_attachment_bytes_max && total <= LIMITS.invoice_attachments_bytes_max;
    const isBase64 = typeof content === "string" && BASE64.test(content) && isCanonical(content);
    if (content === undefined) entry.fails("content", "JSON-MISSING");
    else if (!fits || !isBase64) entry.fails("content", "JSON-ATTACHMENT");
    else if (!isOfType(mimeType, content)) entry.fails("content", "JSON-FILE-TYPE");
    return {
      fileName,
      mimeType,
      content: isBase64 && fits ? content : "",
      description: entry.text("description"),
    };
  });
}

/** Whether a file may be called so: as a reader sees it, and as its type is called. */
function isNameOf(mimeType: string, fileName: string): boolean {
  if (!PLAIN_NAME.test(fileName) || whyUnreadable(fileName) !== undefined) return false;
  const extension = EXTENSION.exec(fileName)?.[1]?.toLowerCase();
  const known = Object.hasOwn(ATTACHMENT_EXTENSIONS, mimeType) ? ATTACHMENT_EXTENSIONS[mimeType] : undefined;
  return extension === undefined || known === undefined || known.includes(extension);
}

/** Whole, and without bits behind its last octet, which XML Schema refuses. */
function isCanonical(base64: string): boolean {
  const end = base64.slice(-QUANTUM);
  return base64.length % QUANTUM === 0 && Buffer.from(end, "base64").toString("base64") === end;
}

/** Whether a file begins as its type does; of a type that is none of ours nothing is known. */
function isOfType(mimeType: string, base64: string): boolean {
  const begins = Object.hasOwn(ATTACHMENT_TYPES, mimeType) ? ATTACHMENT_TYPES[mimeType] : undefined;
  if (begins === undefined) return true;
  const head = Buffer.from(firstChars(base64, LIMITS.invoice_attachment_head_chars), "base64").toString("latin1");
  return begins.test(head);
}
