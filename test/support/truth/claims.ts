/**
 * Documents whose envelope and whose content may tell different stories, made from a seed, and what the rulings say of
 * them: spec/rulings.md sections 2, 6 and 14, written for the test from the text alone.
 */
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { Random } from "../random.js";

const BILLING = {
  customization: "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0",
  process: "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0",
} as const;
const SELF_BILLING = {
  customization: "urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:selfbilling:3.0",
  process: "urn:fdc:peppol.eu:2017:poacc:selfbilling:01:1.0",
} as const;
const KINDS = [BILLING, SELF_BILLING] as const;
const UBL = "urn:oasis:names:specification:ubl:schema:xsd:";
const BROKEN_DAY = "2027-02-30";
/** Days between supply and issue. @source spec/sapi.md, SAPI-DOC-028: the legal deadline, 15 days until June 2030 */
const DEADLINE_DAYS = 15;

/** Who stands where in the document, as the envelope would have it. */
type Party = "sender" | "receiver" | "stranger";

export interface Claim {
  readonly seed: number;
  /** Declared by metadata or SBDH. */
  readonly declared: {
    readonly root: "Invoice" | "CreditNote";
    readonly customization: string;
    readonly process: string;
  };
  /** What the invoice says of itself. */
  readonly said: { readonly customization: string; readonly process: string };
  readonly supplier: Party;
  readonly customer: Party;
  readonly typeCode: string;
  readonly hasOriginal: boolean;
  readonly issueDate: string;
  readonly deliveryDate: string;
  /** Whether its amounts add up. */
  readonly sums: boolean;
  readonly receivedAt: number;
  /** Inbound: whether a status is asked for in any case, and whether its firm confirms the document. */
  readonly always: boolean;
  readonly confirmed: boolean;
}

const BRATISLAVA = new Intl.DateTimeFormat("sv-SE", { timeZone: "Europe/Bratislava" });
/** The day of an instant in Bratislava, by the tables of the runtime. */
export const bratislavaDayOf = (at: number): string => BRATISLAVA.format(at);
const daysBefore = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T12:00:00Z`) - days * 86_400_000).toISOString().slice(0, 10);

const INSTANTS = [
  "2026-11-20T09:00:00Z",
  "2026-12-31T22:59:59Z",
  "2026-12-31T23:00:00Z",
  "2027-03-28T00:30:00Z",
  "2027-10-30T22:30:00Z",
].map((text) => Date.parse(text));

const isSelf = (customization: string): boolean => customization.startsWith(SELF_BILLING.customization);

/** The claim of a seed. */
export function claimOf(seed: number): Claim {
  const random = new Random(seed);
  const odd = (): boolean => random.int(5) === 0;
  const kind = random.pick(KINDS);
  const extended = odd() ? "#conformant#urn:x" : "";
  const declared = {
    root: random.int(12) === 0 ? ("CreditNote" as const) : ("Invoice" as const),
    customization: (odd() ? random.pick(KINDS) : kind).customization + (odd() ? "" : extended),
    process: (odd() ? random.pick(KINDS) : kind).process,
  };
  const said = { customization: kind.customization + extended, process: (odd() ? random.pick(KINDS) : kind).process };
  const straight = isSelf(declared.customization) ? ["receiver", "sender"] : ["sender", "receiver"];
  const parties = (odd() ? [...straight].reverse() : straight) as Party[];
  const receivedAt = random.pick(INSTANTS);
  const today = bratislavaDayOf(receivedAt);
  return {
    seed,
    declared,
    said,
    supplier: random.int(12) === 0 ? "stranger" : (parties[0] ?? "sender"),
    customer: random.int(12) === 0 ? "stranger" : (parties[1] ?? "receiver"),
    typeCode: isSelf(said.customization) ? "389" : random.pick(["380", "380", "384", "383"]),
    hasOriginal: random.int(2) === 0,
    issueDate: odd() ? daysBefore(today, 1 + random.int(3)) : today,
    deliveryDate: random.int(10) === 0 ? BROKEN_DAY : daysBefore(today, random.pick([0, 1, 14, 15, 16, 40])),
    sums: !odd(),
    receivedAt,
    always: random.int(2) === 0,
    confirmed: random.int(2) === 0,
  };
}

/** The document type that a claim declares. */
export const declaredType = ({ declared: { root, customization } }: Claim): string =>
  `${UBL}${root}-2::${root}##${customization}::2.1`;

/** The invoice of a claim. */
export function invoiceOf(claim: Claim, people: Readonly<Record<Party, string>>): Buffer {
  const original = claim.hasOriginal
    ? "<cac:BillingReference><cac:InvoiceDocumentReference><cbc:ID>O-1</cbc:ID></cac:InvoiceDocumentReference></cac:BillingReference>"
    : "";
  const text = sampleInvoice({
    sender: people[claim.supplier] as ParticipantId,
    receiver: people[claim.customer] as ParticipantId,
    senderName: "Supplier",
    receiverName: "Customer",
    number: `C${claim.seed}`,
    issueDate: claim.issueDate,
    lines: 1,
  })
    .replace(`>${BILLING.customization}<`, `>${claim.said.customization}<`)
    .replace(`>${BILLING.process}<`, `>${claim.said.process}<`)
    .replace("<cbc:InvoiceTypeCode>380<", `<cbc:InvoiceTypeCode>${claim.typeCode}<`)
    .replace(/(<cbc:ActualDeliveryDate>)[^<]*/u, `$1${claim.deliveryDate}`)
    .replace("</cac:OrderReference>", `</cac:OrderReference>${original}`);
  return Buffer.from(claim.sums ? text : text.replace(/(<cbc:PayableAmount[^>]*>)[^<]*/u, "$11.00"));
}

/** Of 384 Peppol says that it is for German parties, and those of claims are Slovak. */
const isSound = ({ sums, said, deliveryDate, typeCode }: Claim): boolean =>
  sums &&
  deliveryDate !== BROKEN_DAY &&
  typeCode !== "384" &&
  said.process === (isSelf(said.customization) ? SELF_BILLING.process : BILLING.process);

const wrongParties = ({ declared, supplier, customer }: Claim): boolean =>
  isSelf(declared.customization)
    ? supplier !== "receiver" || customer !== "sender"
    : supplier !== "sender" || customer !== "receiver";

/** Whether what is declared of the type is what the invoice says, and whether the process is. */
const namesItsType = ({ declared, said }: Claim): boolean =>
  declared.root === "Invoice" && declared.customization === said.customization;
const namesItsProcess = ({ declared, said }: Claim): boolean => declared.process === said.process;

/** What SAPI says to a claim: a refusal with the field that it names, or `accepted`. */
export function outboundVerdict(claim: Claim): string {
  const handoff = bratislavaDayOf(claim.receivedAt);
  const in2027 = handoff >= "2027-01-01";
  const corrects = ["383", "384"].includes(claim.typeCode);
  const late =
    claim.deliveryDate !== BROKEN_DAY && claim.deliveryDate < daysBefore(handoff, DEADLINE_DAYS) && !corrects;
  if (!namesItsType(claim)) return "DOCUMENT_TYPE_MISMATCH metadata.documentTypeId";
  if (!namesItsProcess(claim)) return "DOCUMENT_TYPE_MISMATCH metadata.processId";
  if (wrongParties(claim)) return "SAPI-DOC-025";
  if (in2027 && claim.issueDate !== handoff) return "SAPI-DOC-027";
  if (in2027 && late) return "SAPI-DOC-028";
  if (claim.typeCode === "383" && !claim.hasOriginal) return "SAPI-DOC-029";
  return isSound(claim) ? "accepted" : "DOCUMENT_INVALID";
}

/** What becomes of a claim that arrives: its state, and the status that its sender gets. */
export function inboundVerdict(claim: Claim): string {
  // Our participant has published the four plain types.
  if (claim.declared.customization.includes("#conformant#")) return "not_serviced";
  if (!namesItsType(claim) || !namesItsProcess(claim) || wrongParties(claim) || !isSound(claim)) return "REFUSED RE";
  const state = claim.confirmed ? "ACKNOWLEDGED" : "RECEIVED";
  return claim.always ? `${state} ${claim.confirmed ? "AP" : "AB"}` : state;
}
