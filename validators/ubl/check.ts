/**
 * The schema layer: a scanned document against the UBL 2.1 grammar.
 *
 * One walk over the typed arrays of the document, in document order. Parents are checked by comparing their children
 * with the sequence of their type: a pointer that only moves forward, because no name occurs twice in a sequence.
 * Explanations are worked out only for parents that fail (order.ts).
 */
import { FLAG, NONE } from "../xml/document.js";
import type { ElementId, XmlDocument } from "../xml/document.js";
import { NS, prefixedName, roots, xsi } from "../xml/names.js";
import type { NameId } from "../xml/names.js";
import { formedBranches } from "../xml/repeats/forms.js";
import type { GrammarFinding, GrammarResult, Report } from "./findings.js";
import { ELEMENT_TYPES } from "./grammar.js";
import type { ElementType, ValueType } from "./grammar.js";
import { followsSequence } from "./follows.js";
import { isRightBranch } from "./branch-values.js";
import { explainSequence } from "./order.js";
import { collapsed, isText, VALUE_BASES, VALUE_CHECKS, VALUE_WORDS } from "./values.js";
import type { ValueBase } from "./values.js";

/** Roots for which there is a grammar. */
export const isKnownRoot = (name: NameId): boolean =>
  name === roots.Invoice || name === roots.CreditNote || name === roots.ApplicationResponse;

/** How the parent wants an element to be looked at. */
const MODE = { strict: 0, lax: 1, skip: 2 } as const;

/** Namespaces of the schemas whose types the table does not hold; naming one of them in xsi:type is let pass. */
const SKIPPED_TYPE_NAMESPACES = new RegExp(
  [
    "^urn:oasis:names:specification:ubl:schema:xsd:(?:UnqualifiedDataTypes|CommonSignatureComponents|Signature(?:Aggregate|Basic)Components)-2$",
    "^urn:un:unece:uncefact:data:specification:CoreComponentTypeSchemaModule:2$",
    "^http://uri\\.etsi\\.org/01903/",
    "^http://www\\.w3\\.org/2000/09/xmldsig#$",
  ].join("|"),
);
const XML_SCHEMA = "http://www.w3.org/2001/XMLSchema";
const TYPE_PREFIXES: Readonly<Record<string, string>> = { cbc: NS.cbc, cac: NS.cac, ext: NS.ext };

let modes = new Uint8Array(1_024);

/**
 * Checks a document whose root is known.
 * @param findingsMax  findings kept; the rest is counted in `dropped`
 */
export function checkGrammar(document: XmlDocument, findingsMax: number): GrammarResult {
  const findings: GrammarFinding[] = [];
  let dropped = 0;
  const droppedRules = new Map<string, number>();
  const report: Report = (ruleId, element, message) => {
    if (findings.length < findingsMax) findings.push({ ruleId, severity: "error", element, message, terms: [] });
    else {
      dropped++;
      droppedRules.set(ruleId, (droppedRules.get(ruleId) ?? 0) + 1);
    }
  };
  if (modes.length < document.count || modes.length > 4_194_304)
    modes = new Uint8Array(Math.max(1_024, document.count));
  const { count, names } = document;
  const root = names[0] ?? -1;
  modes[0] = MODE.strict;
  const { elements, forms } = formedBranches(document);
  const typeHere = (name: NameId): ElementType | undefined => typeOf(name, root);
  let next = 0;
  for (let e = 0; e < count; e++) {
    const mode = modes[e];
    if (e === elements[next]) {
      const form = forms[next++];
      if (mode === MODE.strict && form !== undefined && isRightBranch(document, e, form, typeHere)) {
        e = document.end(e) - 1;
        continue;
      }
    }
    const type = mode === MODE.skip ? undefined : typeOf(names[e] ?? -1, root);
    if (type === undefined) checkUnknown(document, e, mode === MODE.skip ? MODE.skip : MODE.lax, report);
    else checkElement(document, e, type, report);
  }
  if (findings.length > 1) findings.sort((a, b) => a.element - b.element);
  return { findings, dropped, droppedRules };
}

/** Type of an element name. Inside a document of one root the schemas of the other roots are not known. */
const typeOf = (name: NameId, root: NameId): ElementType | undefined => {
  const type = ELEMENT_TYPES[name];
  return type !== undefined && isKnownRoot(name) && name !== root ? undefined : type;
};

function checkElement(document: XmlDocument, e: ElementId, type: ElementType, report: Report): void {
  if (type.kind === "value") {
    checkValue(document, e, type, report);
    return;
  }
  if (document.attrFirsts[e] !== document.attrFirsts[e + 1]) checkAttributes(document, e, type, report);
  if ((document.flags[e] ?? 0) & FLAG.nonSpace) {
    report(
      "UBL-GRAMMAR-TEXT",
      e,
      `${document.prefixed(document.name(e))} must hold elements only. Remove the text between them.`,
    );
  }
  if (type.kind === "extension") checkExtension(document, e, report);
  else {
    for (let c = document.firsts[e] ?? NONE; c !== NONE; c = document.nexts[c] ?? NONE) modes[c] = MODE.strict;
    if (followsSequence(document, e, type)) return;
    explainSequence(document, e, type, report, (child) => {
      modes[child] = MODE.skip;
    });
  }
}

/** Exactly one element of another namespace, known elements in it checked, unknown ones not. */
function checkExtension(document: XmlDocument, e: ElementId, report: Report): void {
  const first = document.first(e);
  let elements = 0;
  for (let c = first; c !== NONE; c = document.next(c)) {
    modes[c] = MODE.lax;
    elements++;
    const { namespace } = document.expanded(document.name(c));
    if (namespace === NS.ext || namespace === "") {
      report(
        "UBL-GRAMMAR-EXTENSION",
        c,
        "The content of an extension must be an element of a namespace of its own. Use another namespace than that of extensions, and not none.",
      );
    }
  }
  if (elements !== 1)
    report(
      "UBL-GRAMMAR-EXTENSION",
      e,
      "ext:ExtensionContent must hold exactly one element. Use one extension for each.",
    );
}

/** An element without a declaration: its children are looked at as the element itself was. */
function checkUnknown(
  document: XmlDocument,
  e: ElementId,
  mode: typeof MODE.lax | typeof MODE.skip,
  report: Report,
): void {
  for (let c = document.first(e); c !== NONE; c = document.next(c)) modes[c] = mode;
  if (mode === MODE.skip || document.attrCount(e) === 0) return;
  const written = document.attr(e, xsi.type);
  if (written === undefined) return;
  const type = namedType(document, e, written);
  if (type === undefined)
    report("UBL-GRAMMAR-TYPE", e, "xsi:type names a type that does not exist. Remove the attribute.");
  else if (type !== "unchecked") checkContentAs(document, e, type, report);
}

/** Checks the content of an unknown element that names its type itself. */
function checkContentAs(document: XmlDocument, e: ElementId, type: ElementType, report: Report): void {
  if (type.kind === "value") checkValue(document, e, type, report, true);
  else checkElement(document, e, type, report);
}

const typesByName = new Map<string, ElementType>();

/** The type behind a QName value, "unchecked" for types outside the table, undefined when there is none. */
function namedType(document: XmlDocument, e: ElementId, written: string): ElementType | "unchecked" | undefined {
  const name = expandQName(document, e, written);
  if (name === undefined) return undefined;
  if (name.namespace === XML_SCHEMA) {
    const base = VALUE_BASES.find((known) => known === name.local);
    return base === undefined ? "unchecked" : { kind: "value", base, attributes: [] };
  }
  if (typesByName.size === 0) {
    ELEMENT_TYPES.forEach((type, id) => {
      if (type !== undefined) typesByName.set(typeNameOf(id, type), type);
    });
  }
  const prefix = Object.entries(TYPE_PREFIXES).find(([, uri]) => uri === name.namespace)?.[0];
  const known = prefix === undefined ? undefined : typesByName.get(`${prefix}:${name.local}`);
  return known ?? (prefix === undefined && SKIPPED_TYPE_NAMESPACES.test(name.namespace) ? "unchecked" : undefined);
}

function expandQName(
  document: XmlDocument,
  e: ElementId,
  written: string,
): { readonly namespace: string; readonly local: string } | undefined {
  // White space around a name is no part of it: the schema collapses it.
  const qName = collapsed(written);
  const colon = qName.indexOf(":");
  const namespace = document.namespaceOf(e, qName.slice(0, Math.max(colon, 0)));
  const local = qName.slice(colon + 1);
  return namespace === undefined || local === "" ? undefined : { namespace, local };
}

/** Name of the type of an element as the schemas have it: "cbc:IDType", "cac:PartyType", "InvoiceType". */
const typeNameOf = (name: NameId, type: ElementType): string =>
  type.kind === "sequence" ? type.typeName : `${prefixedName(name)}Type`;

function checkValue(document: XmlDocument, e: ElementId, type: ValueType, report: Report, undeclared = false): void {
  if (document.attrFirsts[e] !== document.attrFirsts[e + 1] || type.attributes.length > 0)
    checkAttributes(document, e, type, report, undeclared);
  if (document.hasElements(e)) {
    for (let c = document.first(e); c !== NONE; c = document.next(c)) modes[c] = MODE.skip;
    report(
      "UBL-GRAMMAR-UNEXPECTED",
      e,
      `${document.prefixed(document.name(e))} must hold a value only. Remove the elements inside it.`,
    );
    return;
  }
  if (isText(type.base)) return;
  if (!holdsValue(document, e, type.base)) {
    report(
      "UBL-GRAMMAR-VALUE",
      e,
      `The value of ${document.prefixed(document.name(e))} is not valid. Write ${VALUE_WORDS[type.base]}.`,
    );
  }
}

/** Whether the text of e is a value of the type; text without markup is read where it lies. */
function holdsValue(document: XmlDocument, e: ElementId, base: ValueBase): boolean {
  if ((document.flags[e] ?? 0) & FLAG.marked) {
    const bytes = Buffer.from(document.text(e));
    return VALUE_CHECKS[base](bytes, 0, bytes.length);
  }
  return VALUE_CHECKS[base](document.source, document.contentStarts[e] ?? 0, document.contentEnds[e] ?? 0);
}

function checkAttributes(
  document: XmlDocument,
  e: ElementId,
  type: ElementType,
  report: Report,
  undeclared = false,
): void {
  const declared = type.kind === "value" ? type.attributes : [];
  const count = document.attrCount(e);
  for (let i = 0; i < count; i++) {
    const name = document.attrName(e, i);
    const facts = declared.find((attribute) => attribute.name === name);
    if (facts === undefined) checkOtherAttribute(document, e, i, type, report, undeclared);
    else if (!isText(facts.base)) {
      const bytes = Buffer.from(document.attrValue(e, i));
      if (!VALUE_CHECKS[facts.base](bytes, 0, bytes.length)) {
        report(
          "UBL-GRAMMAR-ATTRIBUTE-VALUE",
          e,
          `Attribute ${prefixedName(name)} is not valid. Write ${VALUE_WORDS[facts.base]}.`,
        );
      }
    }
  }
  for (const { name, required } of declared) {
    if (required && !document.hasAttr(e, name)) {
      report(
        "UBL-GRAMMAR-ATTRIBUTE-MISSING",
        e,
        `${document.prefixed(document.name(e))} lacks the attribute ${prefixedName(name)}. Add it.`,
      );
    }
  }
}

/** Attributes of schema instances, which every element may have, and those that none may have. */
function checkOtherAttribute(
  document: XmlDocument,
  e: ElementId,
  i: number,
  type: ElementType,
  report: Report,
  undeclared: boolean,
): void {
  const name = document.attrName(e, i);
  if (name === xsi.schemaLocation || name === xsi.noNamespaceSchemaLocation) return;
  if (undeclared && (name === xsi.type || name === xsi.nil)) return;
  if (name === xsi.nil) {
    report(
      "UBL-GRAMMAR-NIL",
      e,
      `${document.prefixed(document.name(e))} must not have xsi:nil. Remove the attribute, and the element if it is empty.`,
    );
  } else if (name !== xsi.type) {
    report(
      "UBL-GRAMMAR-ATTRIBUTE",
      e,
      `${document.prefixed(document.name(e))} must not have the attribute ${document.prefixed(name)}. Remove it.`,
    );
  } else if (!namesOwnType(document, e, document.attrValue(e, i), type)) {
    report(
      "UBL-GRAMMAR-TYPE",
      e,
      `xsi:type of ${document.prefixed(document.name(e))} is not its UBL type. Remove the attribute.`,
    );
  }
}

/** No UBL type is derived from another that an element has, so xsi:type can only repeat the element's own type. */
function namesOwnType(document: XmlDocument, e: ElementId, written: string, type: ElementType): boolean {
  const name = expandQName(document, e, written);
  if (name === undefined) return false;
  const own = typeNameOf(document.name(e), type);
  const colon = own.indexOf(":");
  const namespace = TYPE_PREFIXES[own.slice(0, Math.max(colon, 0))] ?? document.expanded(document.name(e)).namespace;
  return name.namespace === namespace && name.local === own.slice(colon + 1);
}
