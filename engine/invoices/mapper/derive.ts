/** What follows from what a source says; nothing is derived without a word about it. */
import { parseParticipantId, participantParts } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { exactOf, exactText, product, quotient, toCents } from "../exact.js";
import type { Exact } from "../exact.js";
import { SLOVAK_SCHEME } from "../terms.js";
import type { Collection, FieldValue, FieldValues } from "./collect.js";
import type { IssueCode } from "./issues.js";
import { CERTAINTY, fold } from "./names.js";

/** The member states whose VAT ids begin with other letters than their country's code. */
const COUNTRY_OF_PREFIX: Readonly<Record<string, string>> = { EL: "GR", XI: "GB" };

export function derive(members: Collection): void {
  deriveReference(members);
  deriveType(members);
  deriveAddress(members);
  deriveCountry(members);
  deriveExternalId(members);
  for (const line of members.lines) {
    spread(members, line);
    deriveTreatment(members, line);
    derivePrice(members, line);
    deriveQuantity(members, line);
    turnNegativePrice(members, line);
  }
}

interface Derivation {
  readonly target: string;
  readonly value: string;
  readonly from: FieldValue | undefined;
  readonly code: IssueCode;
  readonly certainty: number;
}

function add(members: Collection, { target, value, from, code, certainty }: Derivation, line?: FieldValues): void {
  const member = { value, certainty: Math.min(certainty, from?.certainty ?? 1), source: from?.source };
  members.put(target, member, line);
  members.tell(code, { field: members.fieldOf(target, line), source: from?.source });
}

/** The buyer knows its own order: Peppol takes it where a reference is missing. */
function deriveReference(members: Collection): void {
  const order = members.head.get("orderReference");
  if (order === undefined) return;
  if (members.head.has("buyerReference")) members.tell("LOST", { field: "buyerReference", source: order.source });
  else
    add(members, {
      target: "buyerReference",
      value: order.value,
      from: order,
      code: "CONVERTED",
      certainty: CERTAINTY.named,
    });
}

/** `Dobropis č. 7`: the label of the number says what the document is. */
const CREDIT_NOTE = /^(?:dobropis|gutschrift|creditnote|opravnydanovydoklad)/u;

function deriveType(members: Collection): void {
  const number = members.head.get("number");
  if (number === undefined || members.head.has("type") || !CREDIT_NOTE.test(fold(number.source ?? ""))) return;
  const certainty = CERTAINTY.named;
  add(members, { target: "type", value: "credit_note", from: number, code: "IMPLIED", certainty });
}

/** `Hlavná 48, 040 01 Košice`. What stands behind blanks begins with none, so that they are divided in one way only. */
const WHOLE_ADDRESS =
  /^(?<street>[^,\n]+)[,\n]\s*(?:[A-Z]{1,2}-)?(?<postalCode>\d{3} ?\d{1,2}|\d{4,5})\s+(?<city>[^\s,][^,\n]*)(?:[,\n]\s*[^\s,][^,\n]*)?$/u;

function deriveAddress(members: Collection): void {
  const address = members.head.get("recipient.address");
  if (address === undefined) return;
  const groups = WHOLE_ADDRESS.exec(address.value)?.groups;
  if (groups === undefined) {
    // A street alone.
    if (!members.head.has("recipient.street")) members.put("recipient.street", address);
    return;
  }
  for (const name of ["street", "postalCode", "city"])
    if (!members.head.has(`recipient.${name}`) && groups[name] !== undefined)
      members.put(`recipient.${name}`, { ...address, value: groups[name].trim() });
}

function deriveCountry(members: Collection): void {
  if (members.head.has("recipient.country")) return;
  const vatId = members.head.get("recipient.vatId");
  const network = members.head.get("recipient.networkId");
  const prefix = /^[A-Z]{2}/u.exec(vatId?.value ?? "")?.[0];
  const parsed = parseParticipantId(network?.value ?? "");
  const scheme = parsed === undefined ? undefined : participantParts(parsed).scheme;
  const country =
    prefix === undefined ? (scheme === SLOVAK_SCHEME ? "SK" : undefined) : (COUNTRY_OF_PREFIX[prefix] ?? prefix);
  if (country === undefined) return;
  add(members, {
    target: "recipient.country",
    value: country,
    from: prefix === undefined ? network : vatId,
    code: "IMPLIED",
    certainty: CERTAINTY.named,
  });
}

function deriveExternalId(members: Collection): void {
  const number = members.head.get("number");
  if (members.head.has("externalId") || number === undefined) return;
  if (number.value.length > LIMITS.connector_external_id_chars_max) return;
  add(members, {
    target: "externalId",
    value: number.value,
    from: number,
    code: "EXTERNAL_ID_DERIVED",
    certainty: CERTAINTY.named,
  });
}

/** What the head says of all lines. */
function spread(members: Collection, line: FieldValues): void {
  for (const [of, target] of [
    ["allVatRate", "vatRate"],
    ["allTaxTreatment", "taxTreatment"],
  ] as const) {
    const said = members.head.get(of);
    if (said !== undefined && !line.has(target)) line.set(target, said);
  }
}

function deriveTreatment(members: Collection, line: FieldValues): void {
  const treatment = line.get("taxTreatment");
  if (treatment === undefined || treatment.value === "standard" || line.has("vatRate")) return;
  add(members, { target: "vatRate", value: "0", from: treatment, code: "IMPLIED", certainty: CERTAINTY.named }, line);
}

const exactMember = (line: FieldValues, name: string): Exact | undefined => exactOf(line.get(name)?.value);

/** The price without tax: from one with tax, or from the line's amount. */
function derivePrice(members: Collection, line: FieldValues): void {
  if (line.has("unitPrice")) return;
  const gross = exactMember(line, "unitPriceWithTax");
  const rate = exactMember(line, "vatRate");
  const net = exactMember(line, "checkNet");
  const quantity = exactMember(line, "quantity") ?? { coefficient: 1n, scale: 0 };
  const share =
    rate === undefined
      ? undefined
      : { coefficient: 100n * 10n ** BigInt(rate.scale) + rate.coefficient, scale: rate.scale + 2 };
  const byAmount = net === undefined ? undefined : quotient(net, quantity);
  const byTax = gross === undefined || share === undefined ? undefined : quotient(gross, share);
  const price = byAmount ?? byTax;
  if (price === undefined) return;
  const isProven = net !== undefined && toCents(product(price, quantity)) === toCents(net) && net.scale <= 2;
  const from = line.get(byAmount === undefined ? "unitPriceWithTax" : "checkNet");
  const certainty = isProven ? CERTAINTY.implied : CERTAINTY.weak;
  add(members, { target: "unitPrice", value: exactText(price), from, code: "DERIVED", certainty }, line);
}

/** A price is not negative in an invoice: what is taken off is a negative quantity of it. */
function turnNegativePrice(members: Collection, line: FieldValues): void {
  const [price, quantity] = [line.get("unitPrice"), line.get("quantity")];
  if (price?.value.startsWith("-") !== true || quantity === undefined) return;
  const negated = ({ value }: FieldValue): string => (value.startsWith("-") ? value.replace("-", "") : `-${value}`);
  line.set("unitPrice", { ...price, value: negated(price) });
  line.set("quantity", { ...quantity, value: negated(quantity) });
  members.tell("CONVERTED", { field: members.fieldOf("quantity", line), source: price.source });
}

function deriveQuantity(members: Collection, line: FieldValues): void {
  const price = line.get("unitPrice");
  if (line.has("quantity") || price === undefined) return;
  add(members, { target: "quantity", value: "1", from: price, code: "DERIVED", certainty: CERTAINTY.implied }, line);
}
