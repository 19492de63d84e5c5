/** Creates a document from the words of an integrator's program, on the path on which every document is accepted. */
import { createHash } from "node:crypto";

import { Refusal } from "../../base/errors.js";
import { bodyField, invoiceOfBody } from "../../invoices/connector/to-invoice.js";
import { refuseConflict } from "../accept/doors.js";
import type { SendReply } from "../accept/request.js";
import type { Handed } from "../send/handed.js";
import type { SendFacts } from "../send/send.js";
import { NAME_THE_RECIPIENT, recipientOf } from "./recipient.js";
import type { DirectoryPort, NamedRecipient } from "./recipient.js";

/** A create body, as its schema has read it. */
export interface CreateBody extends Readonly<Record<string, unknown>> {
  readonly customerRef: string;
  readonly externalId: string;
  readonly delivery?: "send" | "stage" | undefined;
  readonly issueDate?: string | undefined;
  readonly dueDate?: string | undefined;
  readonly recipient: NamedRecipient;
}

interface CreatePorts extends DirectoryPort {
  /** @throws Refusal of the door connector */
  send(handed: Handed, facts: SendFacts): Promise<SendReply>;
}

/**
 * The key of a request that names none: clients that name one derive it alike, so both are one repeat.
 * @source spec/rulings.md, section 11; u32be(length) ‖ customerRef ‖ u32be(length) ‖ externalId, UTF-8, trimmed
 */
export function derivedKey(customerRef: string, externalId: string): string {
  const hash = createHash("sha256");
  for (const text of [customerRef, externalId]) {
    const octets = Buffer.from(text.trim(), "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32BE(octets.length);
    hash.update(length).update(octets);
  }
  return `connector:v1:${hash.digest("hex")}`;
}

/** Peppol asks for a day or for words; a day that nobody has agreed on would be our invention. */
const TERMS_UNSAID = "As agreed / Podľa dohody";

/** What to do about findings, in a sentence. */
const REPAIR = "Correct the members that details names, and send the request again under the same key.";

/**
 * Accepts a document for sending, at once or when its program says so. Safe to repeat: with the same key, or with the
 * same content under its externalId.
 * @param today  the day of issue of a document that names none, `YYYY-MM-DD`
 * @throws Refusal of the door connector, with findings in the members of the create body and what to do about them
 * @source spec/rulings.md, section 11
 */
export async function createDocument(
  ports: CreatePorts,
  body: CreateBody,
  { today, ...facts }: Omit<SendFacts, "door" | "externalId"> & { readonly today: string },
): Promise<SendReply> {
  const { externalId, customerRef, delivery } = body;
  const { participant, resolution, recipient, memberOf, faults } = await recipientOf(ports, body.recipient);
  const whole = { ...body, recipient, issueDate: body.issueDate ?? today };
  const invoice = {
    ...invoiceOfBody(whole, participant),
    // Where there are faults nobody receives it, not even whom the body names.
    receiverPeppolId: participant,
    ...(body.dueDate === undefined ? { paymentTerms: TERMS_UNSAID } : {}),
  };
  try {
    return await ports.send(
      { form: "json", invoice, body, memberOf: (field) => memberOf(bodyField(field)) },
      {
        ...facts,
        door: "connector",
        externalId: externalId.trim(),
        staged: delivery === "stage",
        resolution,
        idempotencyKey: facts.idempotencyKey ?? derivedKey(customerRef, externalId),
      },
    );
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // The key of a request that names none is its externalId: no other key would help.
    if (error.reason === "SAPI-PROC-003" && facts.idempotencyKey === undefined)
      throw refuseConflict("connector", "duplicate_document");
    if (error.reason !== "DOCUMENT_INVALID") throw error;
    const { reason, details, extras } = error;
    // Who is not known has no id in the network, and no name where the body leaves it to the directory.
    const unknown = ["recipient.networkId", ...(body.recipient.name === undefined ? ["recipient.name"] : [])];
    const said =
      participant === undefined
        ? [...faults, ...details.filter(({ field = "" }) => !unknown.includes(field))]
        : details;
    throw new Refusal(reason, said, { nextAction: participant === undefined ? NAME_THE_RECIPIENT : REPAIR, ...extras });
  }
}
