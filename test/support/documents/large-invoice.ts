/** Valid invoices of any size, sent without a copy of each in the memory of who sends them. */
import { randomBytes, randomUUID } from "node:crypto";
import { request } from "node:http";

import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { invoiceXml, sendParts } from "../engines/engine.js";
import type { Mailbox } from "../engines/engine.js";

/** Stands for a file in a text; JSON and XML leave it as it is. */
const MARK = "FILE-GOES-HERE";

/** Files as base64, which no compression makes smaller than octets at random are; one for each size. */
const files = new Map<number, Buffer>();
function fileOf(bytes: number): Buffer {
  const known = files.get(bytes) ?? Buffer.from(randomBytes(Math.floor(bytes / 4) * 3).toString("base64"));
  files.set(bytes, known);
  return known;
}

/** An invoice with an attachment in the place of MARK. */
const withAttachment = (xml: string): string =>
  xml.replace(
    "<cac:AccountingSupplierParty>",
    "<cac:AdditionalDocumentReference><cbc:ID>1</cbc:ID><cac:Attachment>" +
      `<cbc:EmbeddedDocumentBinaryObject mimeCode="application/pdf" filename="a.pdf">${MARK}` +
      "</cbc:EmbeddedDocumentBinaryObject></cac:Attachment></cac:AdditionalDocumentReference>" +
      "<cac:AccountingSupplierParty>",
  );

/**
 * Sends an invoice of which the attachment alone has so many octets.
 * @returns the status of the answer, and its body
 */
export function sendLarge(
  sandbox: Pick<Sandbox, "sapiBaseUrl">,
  sender: Mailbox,
  receiver: string,
  bytes: number,
): Promise<{ readonly status: number; readonly text: string }> {
  const parts = sendParts(sender.participantId, receiver, withAttachment(invoiceXml(sender.participantId, receiver)));
  const [before = "", after = ""] = JSON.stringify(parts).split(MARK);
  const pieces = [Buffer.from(before), fileOf(bytes), Buffer.from(after)];
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${sandbox.sapiBaseUrl}/document/send`,
      {
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": String(pieces.reduce((sum, piece) => sum + piece.length, 0)),
          authorization: `Bearer ${sender.token}`,
          "x-peppol-participant-id": sender.participantId,
          "idempotency-key": randomUUID(),
        },
      },
      (response) => {
        let text = "";
        response
          .setEncoding("utf8")
          .on("data", (chunk: string) => {
            text += chunk;
          })
          .on("end", () => {
            resolve({ status: response.statusCode ?? 0, text });
          })
          .on("error", reject);
      },
    );
    outgoing.on("error", reject);
    for (const piece of pieces) outgoing.write(piece);
    outgoing.end();
  });
}
