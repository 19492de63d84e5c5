/** What a client of the JSON interfaces hands over, made into the bytes that are sent. */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";

import { Refusal } from "../../base/errors.js";
import type { ErrorDetail } from "../../base/errors.js";
import { parseParticipantId } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { buildInvoice } from "../../invoices/build.js";
import type { SendRequest } from "../accept/request.js";
import { memberNames } from "./members.js";
import type { Renamed } from "./members.js";

/** UBL as text with what is said beside it, or an invoice by its members. @source spec/shapes.md, section 6 */
export type Handed =
  | {
      readonly form: "xml";
      readonly xml: string;
      readonly receiver: ParticipantId;
      /** As the client says; undefined leaves it to the document. */
      readonly processId: string | undefined;
    }
  | {
      readonly form: "json";
      readonly invoice: Readonly<Record<string, unknown>>;
      /** What the client wrote, where that is something else than the invoice. @default the invoice */
      readonly body?: Readonly<Record<string, unknown>>;
      /** Leads a member of the invoice to what the client wrote. @default itself */
      readonly memberOf?: (member: string) => string;
    };

/** The firm that sends, as a party of its own invoices. */
export type OwnParty = Parameters<typeof buildInvoice>[1];

/** Bytes ready to be judged, or why there are none. */
export interface Made {
  /** The members by which two requests are the same. */
  readonly meaning: SendRequest["meaning"];
  /** Undefined when nothing can be made of what was handed over. */
  readonly document:
    | { readonly payload: Buffer; readonly receiver: ParticipantId; readonly processId: string | undefined }
    | undefined;
  /** What is wrong or doubtful before any rule of UBL is asked; of JSON only. */
  readonly problems: readonly ErrorDetail[];
  /** A finding about the document, in the members that the client wrote. */
  readonly renamed: Renamed;
}

/** @throws Refusal BODY_TOO_LARGE, REQUEST_INVALID for text that no UTF-8 can hold */
export const madeOf = (handed: Handed, own: OwnParty): Made =>
  handed.form === "xml" ? madeOfXml(handed) : madeOfJson(handed, own);

function madeOfXml({ xml, receiver, processId }: Extract<Handed, { readonly form: "xml" }>): Made {
  if (!xml.isWellFormed())
    throw new Refusal("REQUEST_INVALID", [
      { field: "xml", message: "Contains half of a surrogate pair, which no UTF-8 text can hold." },
    ]);
  const payload = Buffer.from(xml, "utf8");
  if (payload.length > LIMITS.payload_bytes_max)
    throw new Refusal("BODY_TOO_LARGE", [{ field: "xml", message: "The document is larger than 20 MB." }]);
  return {
    meaning: (payloadSha256) => ["xml", receiver, processId, payloadSha256],
    document: { payload, receiver, processId },
    problems: [],
    renamed: memberNames.xml(),
  };
}

function madeOfJson(
  { invoice, body = invoice, memberOf = (member) => member }: Extract<Handed, { readonly form: "json" }>,
  own: OwnParty,
): Made {
  const { ubl, problems, fieldOf } = buildInvoice(invoice, own);
  const digest = digestOf(body);
  const receiver = parseParticipantId(String(invoice["receiverPeppolId"]).trim());
  return {
    // The client wrote the invoice, not the UBL, which changes with the data of the firm.
    meaning: () => ["json", digest],
    document:
      ubl === undefined || receiver === undefined ? undefined : { payload: ubl, receiver, processId: undefined },
    problems: problems.map(({ field, ruleId, severity, message }) => ({
      field: memberOf(field),
      ruleId,
      severity,
      message: message.en,
    })),
    renamed: (detail) => {
      const { field, ...found } = memberNames.json(fieldOf)(detail);
      return { ...found, ...(field === undefined ? {} : { field: memberOf(field) }) };
    },
  };
}

/** The digest of a JSON value, the same for every order of members and every way to write them. */
function digestOf(value: unknown): string {
  const hash = createHash("sha256");
  write(hash, value);
  return hash.digest("hex");
}

/** Goes no deeper than LIMITS.json_depth_max, which a body cannot exceed. */
function write(hash: Hash, value: unknown): void {
  if (typeof value !== "object" || value === null) {
    // A text stands as it is behind its length: base64 of megabytes needs no escapes.
    hash.update(typeof value === "string" ? `"${value.length}:${value}` : `${JSON.stringify(value)},`);
    return;
  }
  hash.update(Array.isArray(value) ? "[" : "{");
  if (Array.isArray(value)) for (const item of value) write(hash, item);
  else
    for (const [name, member] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
      // What a schema has read as left out.
      if (member === undefined) continue;
      write(hash, name);
      write(hash, member);
    }
  hash.update("]");
}
