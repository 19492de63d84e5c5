/** A document goes through its envelope without the change of a byte. */
import { describe, expect, test } from "vitest";

import type { ParticipantId } from "../../../engine/base/ids.js";
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import { BILLING_CAPABILITIES, BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import { unwrapDocument, wrapDocument } from "../../../engine/peppol/envelope/byte-exact.js";
import { readSbd } from "../../../engine/peppol/envelope/read.js";

const sender = "0245:2020202020" as ParticipantId;
const receiver = "0245:1234567890" as ParticipantId;
const invoice = sampleInvoice({
  sender,
  receiver,
  senderName: "Čierny s. r. o.",
  receiverName: "B",
  number: "1",
  issueDate: "2026-11-20",
  lines: 2,
});
const bare = invoice.replace(/^<\?xml[^>]*\?>\s*/, "").trimEnd();

const wrap = (payload: Buffer): Buffer => {
  const built = wrapDocument({
    sender,
    receiver,
    documentType: BILLING_CAPABILITIES[0]?.documentTypeId ?? "",
    process: BILLING_PROCESS,
    instanceId: "0b8a1e9c-0000-4000-8000-000000000001",
    createdAt: Date.parse("2026-11-20T10:00:00Z"),
    countryC1: "SK",
    payload,
  });
  if (built.kind === "refused") throw new Error(built.fault);
  return built.bytes;
};

const through = (payload: Buffer): Buffer => {
  const bytes = wrap(payload);
  const read = readSbd(bytes, { mode: "inbound" });
  if (read.kind === "refused") throw new Error(read.fault);
  return unwrapDocument(bytes, read.payload);
};

describe("a document comes out of its envelope byte for byte", () => {
  test.each([
    ["as ERP systems write it", invoice],
    ["without a declaration", bare],
    ["with single quotes and standalone", `<?xml version='1.0' encoding='utf-8' standalone='yes'?>\r\n${bare}\r\n`],
    ["without an encoding", `<?xml version="1.0"?>${bare}`],
    ["with a byte-order mark", `\ufeff${invoice}`],
    ["with a byte-order mark and no declaration", `\ufeff${bare}`],
    [
      "with comments around the root",
      `<?xml version="1.0" encoding="UTF-8"?>\n<!-- before -->\n${bare}\n<!-- after -->\n\n`,
    ],
    ["with much white space", `<?xml version="1.0" encoding="UTF-8"?>\n\n\t  ${bare}   \n\n`],
  ])("a document comes out of its envelope byte for byte: %s", (_, text) => {
    const payload = Buffer.from(text);
    expect(through(payload).equals(payload)).toBe(true);
  });

  test("an envelope of another writer gives its payload as a document that can be read alone", () => {
    const foreign = Buffer.from(
      wrap(Buffer.from(bare))
        .toString()
        .replace("</sh:StandardBusinessDocumentHeader>", "</sh:StandardBusinessDocumentHeader>\n  "),
    );
    const read = readSbd(foreign, { mode: "inbound" });
    if (read.kind === "refused") throw new Error(read.fault);
    expect(unwrapDocument(foreign, read.payload).toString()).toBe(`\n  ${bare}`);
  });
});
