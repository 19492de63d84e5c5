/** The members of a create body out of what was collected. */
import { exactOf, exactText } from "../exact.js";
import type { Collection, FieldValue, FieldValues } from "./collect.js";
import { HEAD_FIELDS, LINE_FIELDS } from "./fields.js";

const isMember = (name: string): boolean => !/^(?:check|all|orderReference|reverseCharge|unitPriceWithTax)/u.test(name);
/** Members of the head that are copied. */
export const HEAD_MEMBERS = Object.keys(HEAD_FIELDS).filter(isMember);
/** Members of a line that are copied. */
export const LINE_MEMBERS = Object.keys(LINE_FIELDS).filter(isMember);
const RECIPIENT = ["name", "companyId", "taxId", "vatId", "networkId", "country"];
const ADDRESS = ["street", "city", "postalCode"];

/** Whether a member stands in the document, not only beside it for comparison. */
export const isCopied = (names: readonly string[], target: string): boolean =>
  names.includes(target) || (target.startsWith("recipient.") && target !== "recipient.address");

/** FieldValues whose value is a number; as text where a double would not tell its digits. */
const NUMBERS: ReadonlySet<string> = new Set([
  "quantity",
  "unitPrice",
  "vatRate",
  "discount",
  "documentDiscountPercent",
  "prepaidAmount",
]);

/** How a member's value is written. */
type Written = (name: string, member: FieldValue) => string | number;

/** Numbers as JSON numbers where a double tells all their digits. */
export const numberOf: Written = (name, { value }) => {
  if (!NUMBERS.has(name)) return value;
  const exact = exactOf(Number(value));
  return exact !== undefined && exactText(exact) === value ? Number(value) : value;
};

/** Everything as text. */
export const textOf: Written = (_, { value }) => value;

/** @param written  how values are written: numberOf or textOf */
export function documentOf(
  { head, lines, attachments }: Collection,
  written: Written,
): Readonly<Record<string, unknown>> {
  const pick = (members: FieldValues, names: readonly string[], prefix = "") =>
    Object.fromEntries(
      names.flatMap((name) => {
        const member = members.get(prefix + name);
        return member === undefined ? [] : [[name, written(name, member)] as const];
      }),
    );
  const address = pick(head, ADDRESS, "recipient.");
  const hasAddress = Object.keys(address).length > 0;
  return {
    ...pick(head, HEAD_MEMBERS),
    recipient: { ...pick(head, RECIPIENT, "recipient."), ...(hasAddress ? { address } : {}) },
    ...(attachments.length === 0 ? {} : { attachments }),
    lines: lines.map((line) => pick(line, LINE_MEMBERS)),
  };
}
