/** The files that come with an invoice as JSON: a plain name, and a content that is what its type says. */
import { LIMITS } from "../base/limits.js";
import { firstChars } from "../base/text.js";
import type { Attachment } from "./draft.js";
import type { Members } from "./members.js";
import { ATTACHMENT_TYPES } from "./terms.js";

const MEMBERS: ReadonlySet<string> = new Set(["fileName", "mimeType", "content", "description"]);
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/u;
/** No path, and nothing by which a name shows as another one. */
const PLAIN_NAME = /^(?!\.{1,2}$)[^/\\\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+$/u;

export function readAttachments(invoice: Members): readonly Attachment[] {
  let total = 0;
  return invoice.entries("attachments", LIMITS.invoice_attachments_max).map((entry) => {
    entry.knowsOnly(MEMBERS);
    const mimeType = entry.required("mimeType");
    if (mimeType !== "" && !Object.hasOwn(ATTACHMENT_TYPES, mimeType)) entry.fails("mimeType", "JSON-CODE");
    const fileName = entry.required("fileName");
    if (fileName !== "" && !PLAIN_NAME.test(fileName)) entry.fails("fileName", "JSON-FILE-NAME");
    const content = entry.value("content");
    const bytes = typeof content === "string" ? Buffer.byteLength(content, "base64") : 0;
    total += bytes;
    const fits = bytes <= LIMITS.invoice_attachment_bytes_max && total <= LIMITS.invoice_attachments_bytes_max;
    const isBase64 = typeof content === "string" && content.length % 4 === 0 && BASE64.test(content);
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

/** Whether a file begins as its type does; of a type that is none of ours nothing is known. */
function isOfType(mimeType: string, base64: string): boolean {
  const begins = Object.hasOwn(ATTACHMENT_TYPES, mimeType) ? ATTACHMENT_TYPES[mimeType] : undefined;
  if (begins === undefined) return true;
  const head = Buffer.from(firstChars(base64, LIMITS.invoice_attachment_head_chars), "base64").toString("latin1");
  return begins.test(head);
}
