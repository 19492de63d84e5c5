/**
 * Every document that differs from a given one by one element or attribute that EN 16931 uses: what UBL's grammar has at a
 * place and no rule UBL-CR or UBL-DT forbids there is put in, said once more or said otherwise.
 */
import { ELEMENT_TYPES } from "../../../validators/ubl/grammar.js";
import type { SequenceType, ValueType } from "../../../validators/ubl/grammar.js";
import type { ValueBase } from "../../../validators/ubl/values.js";
import {
  FORBIDDEN_ANYWHERE,
  FORBIDDEN_ATTRIBUTES,
  FORBIDDEN_ELEMENTS,
} from "../../../validators/rules/en16931/restrictions.js";
import { findName, nameOf, NS, prefixedName } from "../../../validators/xml/names.js";
import type { NameId } from "../../../validators/xml/names.js";
import { childElements } from "../../../validators/xml/tree.js";
import type { XmlElement } from "../../../validators/xml/tree.js";

/** An element as text is made of it. */
interface Written {
  readonly name: NameId;
  readonly attributes: Readonly<Record<string, string>>;
  readonly text: string;
  readonly children: readonly Written[];
}

/** A document with one element or attribute more, or another value. */
export interface Changed {
  /** The element, by the names of UBL: `cac:PayeeParty/cbc:EndpointID`; `…/@schemeID` for an attribute. */
  readonly path: string;
  /** The step of the path that is new, by its number; undefined where a value is another one. */
  readonly from: number | undefined;
  readonly xml: string;
}

/** Attributes that are terms, or parts of one. */
const TERMS: ReadonlySet<string> = new Set("schemeID unitCode mimeCode filename name".split(" "));

/** Codes and numbers that can stand at their places, so that the document is read on; everything else is a text. */
const VALUES: Readonly<Record<string, string>> = {
  IdentificationCode: "AT",
  TaxCurrencyCode: "CZK",
  DocumentCurrencyCode: "CZK",
  PaymentMeansCode: "59",
  AllowanceChargeReasonCode: "41",
  DocumentTypeCode: "130",
  DescriptionCode: "35",
  TaxExemptionReasonCode: "VATEX-EU-132",
  EmbeddedDocumentBinaryObject: "JVBERi0xLjc=",
};
const BY_BASE: Readonly<Record<ValueBase, string>> = {
  string: "SAID",
  normalizedString: "SAID",
  language: "sk",
  anyURI: "https://said.example/",
  base64Binary: "JVBERi0xLjc=",
  boolean: "true",
  date: "2026-10-31",
  dateTime: "2026-10-31T12:00:00",
  decimal: "7.77",
  time: "12:00:00",
};
const ATTRIBUTES: Readonly<Record<string, string>> = {
  mimeCode: "image/png",
  schemeID: "0088",
  unitCode: "KGM",
};
/** What stands where an attribute must. */
const REQUIRED: Readonly<Record<string, string>> = { currencyID: "EUR", mimeCode: "application/pdf", unitCode: "H87" };

const words = (table: string): readonly string[] => table.trim().split(/\s+/u);

/** Paths below the document element. */
function forbiddenPaths(line: string): ReadonlySet<string> {
  let parent = "";
  const paths = new Set<string>();
  for (const word of words(FORBIDDEN_ELEMENTS)) {
    const [child = "", number] = word.split("=");
    if (number === undefined) parent = child === "/" ? "" : child.replace(/^LINE\//u, `${line}/`);
    else paths.add(parent + child);
  }
  return paths;
}
const ANYWHERE = words(FORBIDDEN_ANYWHERE).filter((word) => word.startsWith("//"));
const ATTRIBUTES_FORBIDDEN = words(FORBIDDEN_ATTRIBUTES).filter((word) => word.includes("@"));
/** `//cac:Price/cbc:ID` ends a path wherever it begins, `cbc:ID` is one. */
const isAt = (path: string, pattern: string): boolean =>
  pattern.startsWith("//") ? `/${path}`.endsWith(pattern.slice(1)) : path === pattern;

function typeOf(name: NameId): SequenceType | ValueType {
  const type = ELEMENT_TYPES[name];
  if (type === undefined || type.kind === "extension") throw new Error(`${prefixedName(name)} has no type`);
  return type;
}

/** The places at which something may be said: paths of leaves, each as names. No element stands within one of its kind. */
function placesOf(root: NameId): readonly (readonly NameId[])[] {
  const forbidden = forbiddenPaths(`cac:${nameOf(root).local}Line`);
  const places: (readonly NameId[])[] = [];
  const walk = (type: SequenceType, path: readonly NameId[], within: readonly string[]): void => {
    for (const name of type.names) {
      const here = [...path, name];
      const written = here.map(prefixedName).join("/");
      if (forbidden.has(written) || ANYWHERE.some((pattern) => isAt(written, pattern))) continue;
      const child = ELEMENT_TYPES[name];
      if (child?.kind === "value") places.push(here);
      else if (child?.kind === "sequence" && !within.includes(child.typeName))
        walk(child, here, [...within, child.typeName]);
    }
  };
  const type = typeOf(root);
  if (type.kind === "sequence") walk(type, [], [type.typeName]);
  return places;
}

const attributesOf = (path: readonly NameId[]): readonly string[] => {
  const type = typeOf(path.at(-1) ?? 0);
  const written = path.map(prefixedName).join("/");
  return type.kind === "sequence"
    ? []
    : type.attributes
        .map(({ name }) => nameOf(name).local)
        .filter((name) => TERMS.has(name) && (name !== "name" || written.endsWith("cbc:PaymentMeansCode")))
        .filter((name) => !ATTRIBUTES_FORBIDDEN.some((pattern) => isAt(`${written}/@${name}`, pattern)));
};

/** An element with what it must have, and one thing at the end of a path below it. */
function made(name: NameId, [next, ...rest]: readonly NameId[]): Written {
  const type = typeOf(name);
  const { local } = nameOf(name);
  if (type.kind === "value") {
    const attributes = type.attributes.flatMap((attribute) => {
      const said = REQUIRED[nameOf(attribute.name).local];
      return attribute.required && said !== undefined ? [[nameOf(attribute.name).local, said] as const] : [];
    });
    return {
      name,
      attributes: Object.fromEntries(attributes),
      text: VALUES[local] ?? BY_BASE[type.base],
      children: [],
    };
  }
  const children = [...type.names].flatMap((child, at) =>
    child === next ? [made(child, rest)] : type.required[at] === 1 ? [made(child, [])] : [],
  );
  return { name, attributes: {}, text: "", children };
}

/** An element with another value at the end of a path of first children, put in where it is not there. */
function withValue(element: Written, [next, ...rest]: readonly NameId[], attribute: string | undefined): Written {
  if (next !== undefined) {
    const at = element.children.findIndex(({ name }) => name === next);
    if (at < 0) return inserted(element, made(next, rest));
    return {
      ...element,
      children: element.children.map((child, place) => (place === at ? withValue(child, rest, attribute) : child)),
    };
  }
  if (attribute !== undefined)
    return { ...element, attributes: { ...element.attributes, [attribute]: ATTRIBUTES[attribute] ?? "SAID" } };
  return { ...element, text: made(element.name, []).text };
}

/** An element with one child more, where the grammar has its place: behind those of its name. */
function inserted(element: Written, child: Written): Written {
  const type = typeOf(element.name);
  if (type.kind !== "sequence") throw new Error(`${prefixedName(element.name)} has no elements`);
  const placeOf = ({ name }: Written): number => type.names.indexOf(name);
  const before = element.children.filter((other) => placeOf(other) <= placeOf(child));
  return { ...element, children: [...before, child, ...element.children.slice(before.length)] };
}

/** What is done at one step of a path: the rest of it is made anew there, or the element that stands there is said twice. */
function* changesOf(element: Written, path: readonly NameId[], depth = 0): Iterable<[from: number, Written]> {
  const [next, ...rest] = path;
  const type = typeOf(element.name);
  if (next === undefined || type.kind !== "sequence") return;
  const there = element.children.find(({ name }) => name === next);
  const mayRepeat = type.repeatable[type.names.indexOf(next)] === 1;
  if (there === undefined || mayRepeat)
    yield [depth, inserted(element, there === undefined ? made(next, rest) : withValue(there, rest, undefined))];
  if (there === undefined) return;
  for (const [from, changed] of changesOf(there, rest, depth + 1))
    yield [from, { ...element, children: element.children.map((child) => (child === there ? changed : child)) }];
}

const hasAt = (element: Written, [next, ...rest]: readonly NameId[]): boolean => {
  if (next === undefined) return true;
  const there = element.children.find(({ name }) => name === next);
  return there !== undefined && hasAt(there, rest);
};

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", '"': "&quot;" };
const escaped = (text: string): string => text.replace(/[&<"]/gu, (character) => ESCAPES[character] ?? "");

function textOf({ name, attributes, text, children }: Written, declarations = ""): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`);
  const tag = prefixedName(name);
  return `<${tag}${declarations}${written.join("")}>${escaped(text)}${children.map((child) => textOf(child)).join("")}</${tag}>`;
}

function read(element: XmlElement): Written {
  const children = childElements(element);
  const text = element.children.map((child) => (child.kind === "text" ? child.value : "")).join("");
  return {
    name: findName(element.ns, element.local),
    attributes: Object.fromEntries(element.attributes.map(({ local, value }) => [local, value])),
    text: children.length > 0 ? "" : text,
    children: children.map(read),
  };
}

/** Every document that says one thing more than the given one, or says one thing otherwise. */
export function* changedDocuments(source: XmlElement): Iterable<Changed> {
  const document = read(source);
  const declarations = ` xmlns="${source.ns}" xmlns:cac="${NS.cac}" xmlns:cbc="${NS.cbc}"`;
  const xmlOf = (changed: Written): string => textOf(changed, declarations);
  for (const place of placesOf(document.name)) {
    const path = place.map(prefixedName).join("/");
    for (const [from, changed] of changesOf(document, place)) yield { path, from, xml: xmlOf(changed) };
    if (hasAt(document, place)) yield { path, from: undefined, xml: xmlOf(withValue(document, place, undefined)) };
    const whole = hasAt(document, place) ? document : withValue(document, place, undefined);
    for (const attribute of attributesOf(place))
      yield { path: `${path}/@${attribute}`, from: undefined, xml: xmlOf(withValue(whole, place, attribute)) };
  }
}
