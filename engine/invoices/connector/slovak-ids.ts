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

/** What is said of a taxId that is none of them. */
export const NO_SLOVAK_ID =
  "In Slovakia it must be a tax id (10 digits), a company id (8 digits) or a VAT id (SK and 10 digits).";

/** An id as it is compared: without white space, in capitals. */
export const plainId = (id: string): string => id.replace(/\s/gu, "").toUpperCase();

/** The digits of a Slovak tax id, or of the VAT id that is made of one; undefined where a text is neither. */
export const slovakTaxId = (id: string): string | undefined => /^(?:SK)?(\d{10})$/u.exec(plainId(id))?.[1];

/** A recipient with each id under the member of which it has the form. */
interface Sorted<Named> {
  readonly recipient: Named;
  /** The member that only taxId has filled. */
  readonly movedTo?: "companyId" | "vatId";
  /** Whether taxId has none of the forms, or is another id than the one that its member says; it stays where it is. */
  readonly isStrange: boolean;
}

/**
 * Moves the taxId of a Slovak recipient to the member of which it has the form. Other countries' ids are as they are.
 * @source spec/enterprise.md, Connector document: "taxId (company id, tax id or VAT id)"
 */
export function byForm<Named extends NamedIds>(recipient: Named): Sorted<Named> {
  const { taxId, ...others } = recipient;
  if (recipient.country !== "SK" || typeof taxId !== "string") return { recipient, isStrange: false };
  const id = plainId(taxId);
  const member = FORMS.find(([, form]) => form.test(id))?.[0];
  if (member === undefined) return { recipient, isStrange: true };
  const moved = { ...others, [member]: id } as unknown as Named;
  if (member === "taxId") return { recipient: moved, isStrange: false };
  const said = recipient[member];
  if (said === undefined) return { recipient: moved, movedTo: member, isStrange: false };
  const isSame = typeof said === "string" && plainId(said) === id;
  return { recipient: isSame ? moved : recipient, isStrange: !isSame };
}
