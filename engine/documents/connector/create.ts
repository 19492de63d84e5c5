/** Creates a document from the words of an integrator's program, on the path on which every document is accepted. */
import { createHash } from "node:crypto";

import { Refusal } from "../../base/errors.js";
import { parseParticipantId } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { bodyField, invoiceOfBody } from "../../invoices/connector/to-invoice.js";
import type { CompanyKey } from "../../storage/identity/directory.js";
import type { SendReply } from "../accept/request.js";
import type { Handed } from "../send/handed.js";
import type { SendFacts } from "../send/send.js";

/** A create body, as its schema has read it. */
export interface CreateBody extends Readonly<Record<string, unknown>> {
  readonly customerRef: string;
  readonly externalId: string;
  readonly delivery?: "send" | "stage" | undefined;
  readonly issueDate?: string | undefined;
  readonly recipient: {
    readonly country: string;
    readonly companyId?: string | undefined;
    readonly taxId?: string | undefined;
    readonly vatId?: string | undefined;
    readonly networkId?: string | undefined;
  };
}

interface CreatePorts {
  /** The participant of a company; undefined when the directory has none. @throws Refusal TEMPORARY */
  find(company: CompanyKey): Promise<{ readonly participantId: ParticipantId } | undefined>;
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

/** What names a company, in the order in which it is looked up. */
const COMPANY_KEYS = [
  ["companyId", "ico"],
  ["taxId", "dic"],
  ["vatId", "icDph"],
] as const;

/** The scheme of Slovak tax ids, under which every taxable person of Slovakia is reached. */
const SLOVAK_TAX_ID = "0245";

/**
 * To whom a document goes: the participant that the body names, that of the company in the directory, or the one that
 * its Slovak tax id makes.
 * @throws Refusal DOCUMENT_INVALID when nobody is known by what is named; TEMPORARY
 */
async function recipientOf(
  { find }: Pick<CreatePorts, "find">,
  { recipient }: Pick<CreateBody, "recipient">,
): Promise<ParticipantId> {
  const named = recipient.networkId === undefined ? undefined : parseParticipantId(recipient.networkId);
  if (named !== undefined) return named;
  for (const [member, by] of COMPANY_KEYS) {
    const value = recipient[member]?.trim();
    const entry = value === undefined ? undefined : await find({ by, value });
    if (entry !== undefined) return entry.participantId;
  }
  const taxId = recipient.taxId ?? recipient.vatId?.replace(/^SK/u, "");
  const made =
    recipient.country === "SK" && taxId !== undefined
      ? parseParticipantId(`${SLOVAK_TAX_ID}:${taxId.trim()}`)
      : undefined;
  if (made !== undefined) return made;
  const field = COMPANY_KEYS.map(([member]) => member).find((member) => recipient[member] !== undefined);
  throw new Refusal(
    "DOCUMENT_INVALID",
    [
      {
        field: `recipient.${field ?? "networkId"}`,
        ruleId: "RECIPIENT-UNKNOWN",
        severity: "fatal",
        message: "The directory knows no participant of this company.",
      },
    ],
    { nextAction: "Name the recipient by networkId, its participant id, or by another of its ids." },
  );
}

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
  const participant = await recipientOf(ports, body);
  const invoice = invoiceOfBody({ ...body, issueDate: body.issueDate ?? today }, participant);
  try {
    return await ports.send(
      { form: "json", invoice, body, memberOf: bodyField },
      {
        ...facts,
        door: "connector",
        externalId: externalId.trim(),
        staged: delivery === "stage",
        resolution: body.recipient.networkId === undefined ? "verified" : "declared",
        idempotencyKey: facts.idempotencyKey ?? derivedKey(customerRef, externalId),
      },
    );
  } catch (error) {
    if (error instanceof Refusal && error.reason === "DOCUMENT_INVALID" && error.extras.nextAction === undefined)
      throw new Refusal(error.reason, error.details, { ...error.extras, nextAction: REPAIR });
    throw error;
  }
}
