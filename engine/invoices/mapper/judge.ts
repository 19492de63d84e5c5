/** What a document still lacks, what the builder says of it, and whether it comes to what the source states. */
import { whyUnreadable } from "../../base/ids.js";
import { byForm, slovakTaxId, TAX_ID_FAULTS } from "../connector/slovak-ids.js";
import { invoiceOfBody, bodyField } from "../connector/to-invoice.js";
import type { Draft, Party } from "../draft.js";
import { centsText, exactOf, exactText, toCents } from "../exact.js";
import type { Cents } from "../exact.js";
import { isObject } from "../members.js";
import type { InvoiceObject } from "../members.js";
import { Problems } from "../problems.js";
import { readInvoice } from "../read-invoice.js";
import { lineNet, totalsOf } from "../totals.js";
import { LOOK_AT } from "./collect.js";
import type { Collection, FieldValues } from "./collect.js";
import { CERTAINTY } from "./names.js";
import type { IssueCode } from "./issues.js";

const NEEDED_IN_HEAD = ["number", "externalId", "recipient.name", "recipient.country"];
const NEEDED_IN_LINES = ["description", "quantity", "unitPrice", "vatRate"];
const IDENTIFIERS = ["recipient.networkId", "recipient.companyId", "recipient.taxId", "recipient.vatId"];

/** FieldValues that the caller may leave to the Connector, and those that have been told of under their own codes. */
const NOT_TOLD: ReadonlySet<string> = new Set(["JSON-UNKNOWN", "JSON-PARTICIPANT"]);
const NOT_NEEDED: ReadonlySet<string> = new Set(["issueDate", "buyerReference", "recipient.networkId"]);

export function judgeDocument(members: Collection, document: InvoiceObject, own: Party): void {
  findMissing(members);
  const externalId = members.head.get("externalId");
  const fault = externalId === undefined ? undefined : whyUnreadable(externalId.value);
  if (fault !== undefined) members.tell("INVALID", { field: "externalId", detail: `It ${fault}.` });
  compareSender(members, own);
  const problems = new Problems();
  const { recipient, memberOf, fault: idFault } = byForm(isObject(document["recipient"]) ? document["recipient"] : {});
  if (idFault !== undefined && !members.head.has("recipient.networkId"))
    members.tell("INVALID", { field: "recipient.taxId", detail: TAX_ID_FAULTS[idFault] });
  const participant = participantOf(members);
  const invoice = invoiceOfBody({ ...document, recipient }, participant);
  const draft = readInvoice(withName(withDay(invoice)), own, problems);
  for (const { field, ruleId, message } of problems.found) {
    const name = memberOf(bodyField(field));
    if (NOT_TOLD.has(ruleId) || members.issues.some((issue) => issue.field === name)) continue;
    if (ruleId === "JSON-MISSING") {
      if (!NOT_NEEDED.has(name)) members.tell("MISSING", { field: name });
    } else if (ruleId === "JSON-VAT-ZERO") members.tell("VAT_REASON_MISSING", { field: name });
    else members.tell("INVALID", { field: name, detail: message.en });
  }
  if (draft !== undefined) compare(members, draft);
}

/** A document without a day gets that of its creation; which rates there are then is for later. */
const withDay = (invoice: InvoiceObject): InvoiceObject => {
  const { issueDate } = invoice;
  return issueDate === undefined
    ? { ...invoice, issueDate: invoice["taxPointDate"] ?? invoice["deliveryDate"] }
    : invoice;
};

/** Any name lets the builder read on, so that sums are compared; the directory has the real one. */
const withName = (invoice: InvoiceObject): InvoiceObject => ({
  ...invoice,
  receiverName: invoice["receiverName"] ?? "Somebody",
});

/** Any well-formed participant lets the builder read on; the Connector finds the real one. */
const SOMEBODY = "0245:0000000000";
function participantOf({ head }: Collection): string {
  const taxId = slovakTaxId(head.get("recipient.taxId")?.value ?? "");
  return head.get("recipient.networkId")?.value ?? (taxId === undefined ? SOMEBODY : `0245:${taxId}`);
}

/** What a create body may leave out, and what the Connector says in its place. */
const FILLED_IN = {
  "recipient.name": "It is the name that the directory has for the identifier; where that has none, name the company.",
  dueDate: 'Without a day the terms of payment are "as agreed".',
} as const;

/** What the source says in vain is told of under another code. */
function tellFilledIn(members: Collection, field: keyof typeof FILLED_IN): void {
  if (!members.issues.some((issue) => issue.field === field))
    members.tell("FILLED_IN", { field, detail: FILLED_IN[field] });
}

function findMissing(members: Collection): void {
  const isIdentified = IDENTIFIERS.some((target) => members.head.has(target));
  for (const target of NEEDED_IN_HEAD) {
    if (members.head.has(target)) continue;
    if (target === "recipient.name" && isIdentified) tellFilledIn(members, target);
    else members.tell("MISSING", { field: members.fieldOf(target, undefined) });
  }
  if (!isIdentified)
    members.tell("MISSING", { field: "recipient", detail: "Name networkId, companyId, taxId or vatId." });
  if (!members.head.has("dueDate")) tellFilledIn(members, "dueDate");
  if (members.lines.length === 0) members.tell("MISSING", { field: "lines" });
  for (const line of members.lines)
    for (const target of NEEDED_IN_LINES)
      if (!line.has(target)) members.tell("MISSING", { field: members.fieldOf(target, line) });
}

/** A self-billing document is written by its buyer. */
function compareSender(members: Collection, own: Party): void {
  if (members.head.get("type")?.value.startsWith("self_billing") === true) return;
  for (const [target, known] of [
    ["supplier.companyId", own.ico],
    ["supplier.taxId", own.dic],
    ["supplier.vatId", own.icDph],
  ] as const) {
    const said = members.head.get(target);
    if (said === undefined || known === undefined || said.value.replace(/\s/gu, "") === known) continue;
    members.tell("SENDER_DIFFERS", { field: "customerRef", source: said.source });
  }
}

/** What arithmetic proves to be read as it was meant. */
const PROVEN: ReadonlySet<IssueCode> = new Set(["AMBIGUOUS_NUMBER", "UNCERTAIN"]);
const NUMBERS = ["quantity", "unitPrice", "vatRate", "discount", "description", "unit"];
const WORDS: ReadonlySet<string> = new Set(["description", "unit"]);

function prove(members: Collection, line: FieldValues, names: readonly string[]): void {
  for (const name of names) {
    const member = line.get(name);
    // Which column a row's words stand in is proven with its numbers; what a vague name means is not.
    const isTooVague = WORDS.has(name) && (member?.certainty ?? 0) < CERTAINTY.implied;
    if (member === undefined || member.certainty >= CERTAINTY.named || isTooVague) continue;
    line.set(name, { ...member, certainty: Math.max(member.certainty, CERTAINTY.named) });
    members.settle(members.fieldOf(name, line), PROVEN);
  }
}

const centsOf = (members: FieldValues, name: string): Cents | undefined => amountOf(members.get(name)?.value);

function compare(members: Collection, draft: Draft): void {
  let isRight = true;
  for (const [at, line] of members.lines.entries()) {
    const read = draft.lines[at];
    const stated = centsOf(line, "checkNet");
    if (read === undefined || stated === undefined) continue;
    const { gross } = read;
    // Some write the amount before the discount.
    if (stated === lineNet(read) || stated === gross)
      prove(members, line, ["quantity", "unitPrice", "discount", "description", "unit"]);
    else if ((line.get("checkNet")?.certainty ?? 0) >= LOOK_AT) {
      isRight = false;
      members.tell("TOTALS_DIFFER", {
        field: members.fieldOf("unitPrice", line),
        source: line.get("checkNet")?.source,
        detail: `Computed: ${centsText(lineNet(read))}, stated: ${centsText(stated)}.`,
      });
    }
  }
  compareTaxes(members, draft);
  if (compareTotals(members, draft) && isRight) for (const line of members.lines) prove(members, line, NUMBERS);
}

/** Each row of a breakdown is what the lines of its category and rate come to; one without amounts says nothing. */
function compareTaxes(members: Collection, draft: Draft): void {
  const left = [...totalsOf(draft).groups];
  for (const { source, category, rate, taxable, tax } of members.taxes) {
    const stated = [taxable, tax].map(amountOf);
    const at = left.findIndex((group) => group.category === category && group.rate === rateOf(rate));
    const [group] = at < 0 ? [] : left.splice(at, 1);
    const computed = [group?.taxable ?? 0n, group?.tax ?? 0n];
    const isRight = stated.every((amount, place) => amount === undefined || amount === computed[place]);
    if (isRight && group !== undefined) continue;
    if (isRight) members.passOver(source);
    else
      members.tell("TOTALS_DIFFER", {
        field: "lines",
        source,
        detail: `Computed: ${computed.map(centsText).join(" and ")}, stated: ${taxable ?? "-"} and ${tax ?? "-"}.`,
      });
  }
}

const rateOf = (text: string | undefined): string => {
  const exact = exactOf(text ?? "0");
  return exact === undefined ? "" : exactText(exact);
};
const amountOf = (text: string | undefined): Cents | undefined => {
  const exact = exactOf(text);
  return exact === undefined ? undefined : toCents(exact);
};

/** @returns whether the source states what is to be paid, and the document comes to it */
function compareTotals(members: Collection, draft: Draft): boolean {
  const { payable, taxInclusive, taxExclusive, tax } = totalsOf(draft);
  const sums = { checkDue: payable, checkWithTax: taxInclusive, checkWithoutTax: taxExclusive, checkTax: tax } as const;
  const all: readonly Cents[] = Object.values(sums);
  let proves = false;
  for (const [target, computed] of Object.entries(sums)) {
    const member = members.head.get(target);
    const stated = centsOf(members.head, target);
    if (member === undefined || stated === undefined) continue;
    const isVague = member.certainty < LOOK_AT;
    const isRight = stated === computed || (isVague && all.includes(stated));
    if (isRight) proves ||= target === "checkDue" || target === "checkWithTax";
    else if (isVague && target !== "checkDue") members.passOver(member.source ?? target);
    else
      members.tell("TOTALS_DIFFER", {
        field: "lines",
        source: member.source,
        detail: `Computed: ${centsText(computed)}, stated: ${centsText(stated)}.`,
      });
  }
  return proves;
}
