/**
 * Interned expanded names: {namespace}local ↔ a small integer, so that rules compare names by one integer comparison.
 *
 * The table is process-wide and filled at load time only: by this file with every name of UBL 2.1, later by rules and
 * imported packs through {@link internName}. Names that only a document knows never enter it (document.ts gives them
 * ids from {@link DOCUMENT_NAME_BASE} upwards, valid for that document).
 */
import { ATTRIBUTE_NAMES, CAC_NAMES, CBC_NAMES, EXT_NAMES } from "../ubl/names.generated.js";

/** Small integer that stands for an expanded name. */
export type NameId = number;

/** Namespaces of UBL 2.1 and of the attributes that an XML schema processor knows. */
export const NS = {
  cbc: "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2",
  cac: "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2",
  ext: "urn:oasis:names:specification:ubl:schema:xsd:CommonExtensionComponents-2",
  Invoice: "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2",
  CreditNote: "urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2",
  ApplicationResponse: "urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2",
  xsi: "http://www.w3.org/2001/XMLSchema-instance",
  xml: "http://www.w3.org/XML/1998/namespace",
  xmlns: "http://www.w3.org/2000/xmlns/",
} as const;

/** Names that one process may intern. Rules and packs need a few thousand; more is a mistake in the caller. */
export const INTERNED_NAMES_MAX = 65_536;

/** Ids from here on belong to one document. Larger than every interned id, so they compare unequal to all of them. */
export const DOCUMENT_NAME_BASE = INTERNED_NAMES_MAX;

/** An expanded name in full. */
export interface ExpandedName {
  readonly namespace: string;
  readonly local: string;
}

const byNamespace = new Map<string, Map<string, NameId>>();
const names: ExpandedName[] = [];

/**
 * Id of {namespace}local, entering it into the process-wide table when it is new. For load time only.
 * @throws RangeError when {@link INTERNED_NAMES_MAX} names are interned.
 */
export function internName(namespace: string, local: string): NameId {
  let locals = byNamespace.get(namespace);
  if (locals === undefined) byNamespace.set(namespace, (locals = new Map<string, NameId>()));
  const known = locals.get(local);
  if (known !== undefined) return known;
  if (names.length >= INTERNED_NAMES_MAX) throw new RangeError(`more than ${INTERNED_NAMES_MAX} names interned`);
  const id = names.length;
  names.push({ namespace, local });
  locals.set(local, id);
  return id;
}

/** Id of {namespace}local if it is interned, otherwise -1. Never enters anything. */
export function findName(namespace: string, local: string): NameId {
  return byNamespace.get(namespace)?.get(local) ?? -1;
}

/**
 * The expanded name behind an interned id. Names of a document: `XmlDocument.expanded`.
 * @throws RangeError for an id that was never interned.
 */
export function nameOf(id: NameId): ExpandedName {
  const name = names[id];
  if (name === undefined) throw new RangeError(`name ${id} is not interned`);
  return name;
}

/** Number of interned names; ids are 0 … count - 1. */
export const internedNames = (): number => names.length;

type NameTable<Local extends string> = { readonly [K in Local]: NameId };

const tableEntries = (namespace: string, locals: readonly string[]): Record<string, NameId> =>
  Object.fromEntries(locals.map((local) => [local, internName(namespace, local)]));

/** Basic elements (leaves): `cbc.ID`. */
export const cbc = tableEntries(NS.cbc, CBC_NAMES) as NameTable<(typeof CBC_NAMES)[number]>;
/** Aggregate elements: `cac.InvoiceLine`. */
export const cac = tableEntries(NS.cac, CAC_NAMES) as NameTable<(typeof CAC_NAMES)[number]>;
/** Elements of extensions: `ext.UBLExtensions`. */
export const ext = tableEntries(NS.ext, EXT_NAMES) as NameTable<(typeof EXT_NAMES)[number]>;
/** Document elements. */
export const roots = {
  Invoice: internName(NS.Invoice, "Invoice"),
  CreditNote: internName(NS.CreditNote, "CreditNote"),
  ApplicationResponse: internName(NS.ApplicationResponse, "ApplicationResponse"),
} as const;
/** Attributes; they have no namespace. */
export const attr = tableEntries("", ATTRIBUTE_NAMES) as NameTable<(typeof ATTRIBUTE_NAMES)[number]>;
/** Attributes of XML Schema instances. */
export const xsi = {
  type: internName(NS.xsi, "type"),
  nil: internName(NS.xsi, "nil"),
  schemaLocation: internName(NS.xsi, "schemaLocation"),
  noNamespaceSchemaLocation: internName(NS.xsi, "noNamespaceSchemaLocation"),
} as const;

const PREFIXES: ReadonlyMap<string, string> = new Map<string, string>([
  [NS.cbc, "cbc:"],
  [NS.cac, "cac:"],
  [NS.ext, "ext:"],
  [NS.xsi, "xsi:"],
  [NS.xml, "xml:"],
]);

/** A name as reports write it: `cbc:ID`, `Invoice`. Interned names only. */
export function prefixedName(id: NameId): string {
  const { namespace, local } = nameOf(id);
  return (PREFIXES.get(namespace) ?? "") + local;
}
