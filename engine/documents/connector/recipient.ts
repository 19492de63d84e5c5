/** To whom a document of the Connector goes: the participant behind the ids by which a program names a company. */
import { Refusal } from "../../base/errors.js";
import type { ErrorDetail } from "../../base/errors.js";
import { parseParticipantId } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { byForm, plainId, slovakTaxId, TAX_ID_FAULTS } from "../../invoices/connector/slovak-ids.js";
import type { TaxIdFault } from "../../invoices/connector/slovak-ids.js";
import { isObject } from "../../invoices/members.js";
import type { CompanyKey } from "../../storage/identity/directory.js";
import type { RecipientResolution } from "../accept/request.js";

/** The recipient as a create body names it: by one id at least. */
export interface NamedRecipient extends Readonly<Record<string, unknown>> {
  readonly country: string;
  readonly name?: string | undefined;
  readonly companyId?: string | undefined;
  readonly taxId?: string | undefined;
  readonly vatId?: string | undefined;
  readonly networkId?: string | undefined;
}

/** A company as a directory knows it. */
interface KnownCompany {
  readonly participantId: ParticipantId;
  readonly name: string;
  readonly ico: string | null;
  readonly dic: string | null;
  readonly icDph: string | null;
  readonly address: { readonly street: string | null; readonly city: string | null; readonly zip: string | null };
}

/** The directory. */
export interface DirectoryPort {
  /** The company of an id; undefined when the directory has none. @throws Refusal TEMPORARY */
  find(company: CompanyKey): Promise<KnownCompany | undefined>;
}

/** What names a company, in the order in which it is looked up. */
const COMPANY_KEYS = [
  ["companyId", "ico"],
  ["taxId", "dic"],
  ["vatId", "icDph"],
] as const;

/** The scheme of Slovak tax ids, under which every taxable person of Slovakia is reached. */
const SLOVAK_TAX_ID = "0245";

/** To whom a document goes, how that is known, and what else is known of the company. */
interface Found {
  /** Undefined where there are faults. */
  readonly participant: ParticipantId | undefined;
  /** Only what a directory has said is verified. */
  readonly resolution: RecipientResolution;
  /** As the body names it, with each id under its own member, and what it leaves out as the directory says it. */
  readonly recipient: NamedRecipient;
  /** The body's own name of a member of the recipient. */
  readonly memberOf: (field: string) => string;
  /** Why nobody is known, or more than one, by what is named. */
  readonly faults: readonly ErrorDetail[];
}

/** The participant that the body makes by itself: by its id in the network, or by a Slovak tax id. */
function madeBy({ country, networkId, taxId, vatId }: NamedRecipient): ParticipantId | undefined {
  if (networkId !== undefined) return parseParticipantId(networkId);
  if (country !== "SK") return undefined;
  const id = slovakTaxId(taxId ?? vatId ?? "");
  return id === undefined ? undefined : parseParticipantId(`${SLOVAK_TAX_ID}:${id}`);
}

/** What the directory is asked by, until it knows somebody. */
const keysOf = (recipient: NamedRecipient, made: ParticipantId | undefined): readonly CompanyKey[] => {
  if (recipient.networkId !== undefined && made !== undefined)
    return recipient.name === undefined ? [{ by: "participant", value: made }] : [];
  return COMPANY_KEYS.flatMap(([member, by]) => {
    const value = recipient[member]?.trim();
    return value === undefined ? [] : [{ by, value }];
  });
};

/** @throws Refusal TEMPORARY when the directory does not answer and nothing can be sent without it */
async function companyOf(
  { find }: DirectoryPort,
  keys: readonly CompanyKey[],
  isNeeded: boolean,
): Promise<KnownCompany | undefined> {
  try {
    for (const key of keys) {
      const company = await find(key);
      if (company !== undefined) return company;
    }
  } catch (error) {
    if (isNeeded || !(error instanceof Refusal) || error.reason !== "TEMPORARY") throw error;
  }
  return undefined;
}

/**
 * The participant that the body names, that of the company in the directory, or the one that its Slovak tax id makes;
 * none when nobody is known by what is named, when its ids are of two companies, or when its Slovak tax id is no id at
 * all. A directory that does not answer stops nobody whose recipient is known without it. @throws Refusal TEMPORARY
 */
export async function recipientOf(port: DirectoryPort, named: NamedRecipient): Promise<Found> {
  const { recipient, memberOf, fault } = byForm(named);
  const made = madeBy(recipient);
  const isNamed = recipient.networkId !== undefined && made !== undefined;
  // Beside a participant id the other ids are the program's own word, whatever their form.
  if (fault !== undefined && !isNamed)
    return { participant: undefined, resolution: "declared", recipient, memberOf, faults: [strangeTaxId(fault)] };
  const isNeeded = made === undefined || recipient.name === undefined;
  const company = await companyOf(port, keysOf(recipient, made), isNeeded);
  const faults = faultsOf(recipient, made, company).map((found) => ({ ...found, field: memberOf(found.field) }));
  const participant = isNamed ? made : (company?.participantId ?? made);
  return {
    participant: faults.length === 0 ? participant : undefined,
    resolution: company === undefined || isNamed ? "declared" : "verified",
    recipient: withKnownMembers(recipient, company),
    memberOf,
    faults,
  };
}

/** Of an address that is there every member may be blank. */
const saysNoAddress = ({ address }: NamedRecipient): boolean =>
  !isObject(address) || Object.values(address).every((member) => member === undefined);

/** What the body leaves out of the recipient, as the directory says it. A directory may know an id and no name. */
function withKnownMembers(recipient: NamedRecipient, company: KnownCompany | undefined): NamedRecipient {
  if (company === undefined) return recipient;
  const { name, participantId, address } = company;
  const { street, city, zip } = address;
  return {
    ...recipient,
    ...(recipient.name === undefined && name !== participantId ? { name } : {}),
    ...(saysNoAddress(recipient) ? { address: { street, city, postalCode: zip } } : {}),
  };
}

/** A finding in a member of the recipient. */
type Fault = ErrorDetail & { readonly field: string };

/** Why nobody receives it, as far as the directory knows. */
const faultsOf = (
  recipient: NamedRecipient,
  made: ParticipantId | undefined,
  company: KnownCompany | undefined,
): readonly Fault[] => {
  if (company !== undefined) return strangersIn(recipient, company);
  return made === undefined ? [unknownRecipient(recipient)] : [];
};

/** Ids of the body that belong to somebody else than the company found by another of them. */
const strangersIn = (recipient: NamedRecipient, company: KnownCompany): readonly Fault[] =>
  COMPANY_KEYS.filter(([member, by]) => {
    const [said, known] = [recipient[member], company[by] ?? undefined];
    return said !== undefined && known !== undefined && plainId(said) !== plainId(known);
  }).map(([member]) => ({
    field: `recipient.${member}`,
    ruleId: "RECIPIENT-CONFLICT",
    severity: "fatal",
    message: "The directory has another id of this kind for the company that the recipient's other ids name.",
  }));

/** The finding in place of a participant that is missing. */
function unknownRecipient(recipient: NamedRecipient): Fault {
  const member = COMPANY_KEYS.map(([name]) => name).find((name) => recipient[name] !== undefined) ?? "networkId";
  return {
    field: `recipient.${member}`,
    ruleId: "RECIPIENT-UNKNOWN",
    severity: "fatal",
    message: "The directory knows no participant of this company.",
  };
}

/** The finding of a taxId by which nobody can be found. */
const strangeTaxId = (fault: TaxIdFault): Fault => ({
  field: "recipient.taxId",
  ruleId: fault === "form" ? "RECIPIENT-TAX-ID" : "RECIPIENT-CONFLICT",
  severity: "fatal",
  message: `${fault === "form" ? "No Slovak company has this id. " : ""}${TAX_ID_FAULTS[fault]}`,
});

/** What to do where nobody is known, or too many. */
export const NAME_THE_RECIPIENT = "Name the recipient by networkId, its participant id, or by another of its ids.";
