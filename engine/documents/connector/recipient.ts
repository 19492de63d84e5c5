/** To whom a document of the Connector goes: the participant behind the ids by which a program names a company. */
import { Refusal } from "../../base/errors.js";
import type { ErrorDetail } from "../../base/errors.js";
import { parseParticipantId } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
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
  readonly company: KnownCompany | undefined;
  /** Why nobody is known, or more than one, by what is named. */
  readonly faults: readonly ErrorDetail[];
}

/** The participant that the body makes by itself: by its id in the network, or by a Slovak tax id. */
function madeBy({ country, networkId, taxId, vatId }: NamedRecipient): ParticipantId | undefined {
  if (networkId !== undefined) return parseParticipantId(networkId);
  const id = taxId ?? vatId?.replace(/^SK/u, "");
  return country === "SK" && id !== undefined ? parseParticipantId(`${SLOVAK_TAX_ID}:${id.trim()}`) : undefined;
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
 * none when nobody is known by what is named, or when its ids are of two companies. A directory that does not answer
 * stops nobody whose recipient is known without it. @throws Refusal TEMPORARY
 */
export async function recipientOf(port: DirectoryPort, recipient: NamedRecipient): Promise<Found> {
  const made = madeBy(recipient);
  const isNeeded = made === undefined || recipient.name === undefined;
  const company = await companyOf(port, keysOf(recipient, made), isNeeded);
  const isNamed = recipient.networkId !== undefined && made !== undefined;
  if (company === undefined) {
    const faults = made === undefined ? [unknownRecipient(recipient)] : [];
    return { participant: made, resolution: "declared", company, faults };
  }
  const faults = strangersIn(recipient, company);
  const participant = isNamed ? made : company.participantId;
  return {
    participant: faults.length === 0 ? participant : undefined,
    resolution: isNamed ? "declared" : "verified",
    company,
    faults,
  };
}

/** What the body leaves out of the recipient, as the directory says it. A directory may know an id and no name. */
export function withKnownMembers(recipient: NamedRecipient, company: KnownCompany | undefined): NamedRecipient {
  if (company === undefined) return recipient;
  const { name, participantId, address } = company;
  const { street, city, zip } = address;
  return {
    ...recipient,
    ...(recipient.name === undefined && name !== participantId ? { name } : {}),
    ...(recipient["address"] === undefined ? { address: { street, city, postalCode: zip } } : {}),
  };
}

const plain = (id: string): string => id.replace(/\s/gu, "").toUpperCase();

/** Ids of the body that belong to somebody else than the company found by another of them. */
const strangersIn = (recipient: NamedRecipient, company: KnownCompany): readonly ErrorDetail[] =>
  COMPANY_KEYS.filter(([member, by]) => {
    const [said, known] = [recipient[member], company[by] ?? undefined];
    return said !== undefined && known !== undefined && plain(said) !== plain(known);
  }).map(([member]) => ({
    field: `recipient.${member}`,
    ruleId: "RECIPIENT-CONFLICT",
    severity: "fatal",
    message: "The directory has another id of this kind for the company that the recipient's other ids name.",
  }));

/** The finding in place of a participant that is missing. */
function unknownRecipient(recipient: NamedRecipient): ErrorDetail {
  const member = COMPANY_KEYS.map(([name]) => name).find((name) => recipient[name] !== undefined) ?? "networkId";
  return {
    field: `recipient.${member}`,
    ruleId: "RECIPIENT-UNKNOWN",
    severity: "fatal",
    message: "The directory knows no participant of this company.",
  };
}
/** What to do where nobody is known, or too many. */
export const NAME_THE_RECIPIENT = "Name the recipient by networkId, its participant id, or by another of its ids.";
