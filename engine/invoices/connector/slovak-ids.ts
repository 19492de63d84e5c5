/** Which of the ids of a Slovak company a recipient's taxId holds: it may be any of them, and its form says which. */

/** The ids by which a recipient is named. */
interface NamedIds {
  readonly country?: unknown;
  readonly companyId?: unknown;
  readonly taxId?: unknown;
  readonly vatId?: unknown;
}

/** The members of which each has its own form, so that no id is taken for another. */
const FORMS = [
  ["taxId", /^\d{10}$/u],
  ["companyId", /^\d{8}$/u],
  ["vatId", /^SK\d{10}$/u],
] as const;

/** Why a taxId names nobody: it has none of the forms, or is another id than the one that its own member says. */
export type TaxIdFault = "form" | "companyId" | "vatId";

/** What is said of it. */
export const TAX_ID_FAULTS = {
  form: "In Slovakia it must be a tax id (10 digits), a company id (8 digits) or a VAT id (SK and 10 digits).",
  companyId: "It is a company id, and companyId is another one: leave out the one that is not the recipient's.",
  vatId: "It is a VAT id, and vatId is another one: leave out the one that is not the recipient's.",
} as const satisfies Readonly<Record<TaxIdFault, string>>;

/** An id as it is compared: without white space, in capitals. */
export const plainId = (id: string): string => id.replace(/\s/gu, "").toUpperCase();

/** The digits of a Slovak tax id, or of the VAT id that is made of one; undefined where a text is neither. */
export const slovakTaxId = (id: string): string | undefined => /^(?:SK)?(\d{10})$/u.exec(plainId(id))?.[1];

/** A recipient with each id under the member of which it has the form. */
interface Sorted<Named> {
  readonly recipient: Named;
  /** The name in the body of a member of the recipient: that of one which only taxId has filled is taxId. */
  readonly memberOf: (field: string) => string;
  /** Undefined where there is none; a taxId with one stays where it is. */
  readonly fault?: TaxIdFault;
}

const asNamed = (field: string): string => field;
const movedTo =
  (member: string) =>
  (field: string): string =>
    field === `recipient.${member}` ? "recipient.taxId" : field;

/**
 * Moves the taxId of a Slovak recipient to the member of which it has the form. Other countries' ids are as they are.
 * @source spec/enterprise.md, Connector document: "taxId (company id, tax id or VAT id)"
 */
export function byForm<Named extends NamedIds>(recipient: Named): Sorted<Named> {
  const { taxId } = recipient;
  const asIs = { recipient, memberOf: asNamed };
  if (recipient.country !== "SK" || typeof taxId !== "string") return asIs;
  const id = plainId(taxId);
  const member = FORMS.find(([, form]) => form.test(id))?.[0];
  if (member === undefined) return { ...asIs, fault: "form" };
  const moved = { recipient: { ...recipient, taxId: undefined, [member]: id }, memberOf: asNamed };
  if (member === "taxId") return moved;
  const said = recipient[member];
  if (said === undefined) return { ...moved, memberOf: movedTo(member) };
  return typeof said === "string" && plainId(said) === id ? moved : { ...asIs, fault: member };
}
