/** Which member a name or a path of a source means. */
import { HEAD_FIELDS, LINE_FIELDS, PARTY_FIELDS, PARTY_WORDS } from "./fields.js";
import type { PartyRole, ValueKind } from "./fields.js";

/** A member that a name means, and how sure that is. */
export interface Meaning {
  /** `number`, `recipient.city`, `supplier.taxId`; in a line `unitPrice`. */
  readonly target: string;
  readonly kind: ValueKind;
  /** 0 to 1. */
  readonly certainty: number;
}

/** How sure the meanings of names are. Below LOOK_AT a person must look. */
export const CERTAINTY = { stated: 1, named: 0.95, implied: 0.7, weak: 0.6, shaped: 0.5 } as const;

/**
 * Letters and digits only, without accents and case: `Dátum splatnosti:` becomes `datumsplatnosti`. Marks that stand
 * alone are taken out first: to bring a row of them into its order takes the square of its length.
 */
export const fold = (text: string): string =>
  text
    .replace(/\p{M}+/gu, "")
    .normalize("NFD")
    .toLowerCase()
    .replaceAll("ß", "ss")
    .replace(/[^a-z0-9]+/gu, "");

type Rows = Readonly<Record<string, { readonly kind: ValueKind; readonly names: string; readonly weak?: string }>>;

function tableOf(rows: Rows): ReadonlyMap<string, Meaning> {
  const words = (text = ""): readonly string[] => text.split(/\s+/u).filter((word) => word !== "");
  const entries = Object.entries(rows).flatMap(([target, { kind, names, weak }]): (readonly [string, Meaning])[] => [
    ...words(weak).map((name): [string, Meaning] => [name, { target, kind, certainty: CERTAINTY.weak }]),
    ...words(names).map((name): [string, Meaning] => [name, { target, kind, certainty: CERTAINTY.named }]),
  ]);
  // A name that is sure in one row stays so when another row has it as a weak one.
  return new Map([...entries].sort(([, a], [, b]) => a.certainty - b.certainty));
}

const HEAD = tableOf(HEAD_FIELDS);
const PARTY = tableOf(PARTY_FIELDS);
const LINE = tableOf(LINE_FIELDS);

/** Longer words first, so that `odberatela` is not read as `odberatel` and an `a`. */
const ROLES = (Object.entries(PARTY_WORDS) as [PartyRole, readonly string[]][])
  .flatMap(([role, words]) => words.map((word) => ({ role, word })))
  .sort((a, b) => b.word.length - a.word.length);

const ROLE_WORDS = new Map(ROLES.map(({ role, word }, order) => [word, { role, order }]));
const ROLE_LENGTHS = [...new Set(ROLES.map(({ word }) => word.length))];

/**
 * Whose a folded name can say its member is, and what is then left of the name; the longest words first. A source has
 * hundreds of thousands of names, and most are shorter than any word.
 */
function rolesOf(name: string): readonly { readonly role: PartyRole; readonly rest: string }[] {
  return ROLE_LENGTHS.filter((length) => length <= name.length).flatMap((length) => {
    const [first, last] = [ROLE_WORDS.get(name.slice(0, length)), ROLE_WORDS.get(name.slice(-length))];
    const found = [
      ...(first === undefined ? [] : [{ ...first, rest: name.slice(length) }]),
      ...(last === undefined ? [] : [{ ...last, rest: name.slice(0, -length) }]),
    ];
    return found.sort((a, b) => a.order - b.order);
  });
}

/** The same in a longer name: `invoiceHeader`. */
const OF_DOCUMENT = /invoice|faktur|rechnung|header|hlavick|kopf|doklad|document/u;
/** Parents that say nothing more about a member than that it is of the document. */
const NEUTRAL: ReadonlySet<string> = new Set(
  `invoice invoices faktura faktury rechnung document documents doklad doc header head hlavicka kopf data root body record
  summary sumar suhrn totals total sumy payment platba uhrada zahlung bank banka dates datumy fields general kopfdaten
  creditnote dobropis gutschrift meta amounts currency`.split(/\s+/u),
);

/** The party that a heading is about: `Odberateľ:`. */
export const partyHeading = (text: string): PartyRole | undefined =>
  rolesOf(fold(text)).find(({ rest }) => rest === "")?.role;

const ofParty = (role: PartyRole, meaning: Meaning | undefined): Meaning | undefined =>
  meaning === undefined ? undefined : { ...meaning, target: `${role}.${meaning.target}` };

/** A party's member; what is left empty beside the word for the party is its name. */
const partyMember = (role: PartyRole, name: string): Meaning | undefined =>
  ofParty(role, PARTY.get(name === "" ? "name" : name));

/** What the meaning of a place hangs on; all names are folded, and those of which nothing is left are left out. */
export interface PlaceNames {
  /** Its own name, and that of what it stands in; empty where there is none. */
  readonly leaf: string;
  readonly parent: string;
  /** Whether it stands in nothing that has a name. */
  readonly isAlone: boolean;
  /** The party that the nearest of those around it is about. */
  readonly roleAbove: PartyRole | undefined;
}

/** The party that a folded name is about, or tells of. */
export const roleIn = (name: string): PartyRole | undefined => rolesOf(name)[0]?.role;

/**
 * What a place of the head means: `customer.address.city`, or `Odberateľ - IČO`.
 * @param within  the party that the surroundings of the name are about
 */
export function headMeaning({ leaf, parent, roleAbove }: PlaceNames, within?: PartyRole): Meaning | undefined {
  const own = rolesOf(leaf);
  // The name of a member can hold the word too: `customerReference`.
  if (own.length > 0)
    return (
      HEAD.get(leaf) ?? own.map(({ role, rest }) => partyMember(role, rest)).find((member) => member !== undefined)
    );
  if (roleAbove !== undefined) return ofParty(roleAbove, PARTY.get(leaf));
  // Beside a party's block there can be members of the head.
  if (within !== undefined && PARTY.has(leaf)) return ofParty(within, PARTY.get(leaf));
  // `dates.due`, `order.number`: the name is told by both.
  const both = HEAD.get(parent + leaf) ?? HEAD.get(leaf + parent);
  if (both?.certainty === CERTAINTY.named) return both;
  const head = HEAD.get(leaf);
  if (head?.certainty === CERTAINTY.named)
    return parent === "" || NEUTRAL.has(parent) || OF_DOCUMENT.test(parent)
      ? head
      : { ...head, certainty: CERTAINTY.implied };
  // Identifiers of nobody: those of the other party, for the sender is known.
  const party = PARTY.get(leaf);
  if (party !== undefined && head === undefined && leaf !== "name")
    return { ...party, target: `recipient.${party.target}`, certainty: CERTAINTY.implied };
  return head ?? both;
}

/** What a place within a line means: `price.net`, or `Cena za MJ`. */
export function lineMeaning({ leaf, parent, isAlone }: PlaceNames): Meaning | undefined {
  const meaning = LINE.get(leaf);
  if (meaning?.certainty === CERTAINTY.named && isAlone) return meaning;
  return LINE.get(parent + leaf) ?? LINE.get(leaf + parent) ?? meaning ?? LINE.get(parent);
}

/** How a member that a field map names is read; undefined for a name that no document has. */
export function kindOfTarget(target: string): ValueKind | undefined {
  const line = /^lines\[\]\.(\w+)$/u.exec(target)?.[1];
  if (line !== undefined) return rowKind(LINE_FIELDS, line);
  const party = /^recipient\.(?:address\.)?(\w+)$/u.exec(target)?.[1];
  if (party !== undefined) return rowKind(PARTY_FIELDS, party);
  return rowKind(HEAD_FIELDS, target);
}

const rowKind = (rows: Rows, name: string): ValueKind | undefined =>
  Object.hasOwn(rows, name) ? rows[name]?.kind : undefined;
