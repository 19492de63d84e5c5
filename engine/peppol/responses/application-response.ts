/**
 * UBL ApplicationResponse as text and as a tree: what the Message Level Status and the Invoice Response have in common.
 */
import { escapeAttribute, escapeText } from "../../../validators/xml/c14n.js";
import { attributeOf, childrenNamed, onlyChild, parseXml, textOf } from "../../../validators/xml/tree.js";
import type { XmlElement } from "../../../validators/xml/tree.js";
import type { Instant } from "../../base/clock.js";
import { isoInstant, parseInstant } from "../../base/clock.js";
import { parseCalendarDay } from "../../base/dates.js";
import { LIMITS } from "../../base/limits.js";

/** The namespace of UBL application responses: statuses and Invoice Responses are such documents. */
export const UBL_APPLICATION_RESPONSE = "urn:oasis:names:specification:ubl:schema:xsd:ApplicationResponse-2";
const CAC_NS = "urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2";
const CBC_NS = "urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2";

/** XML 1.0 has no way to write these, not even as references. */
const UNWRITABLE = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;

/** `<cbc:Name attributes>text</cbc:Name>`; characters that XML cannot hold become U+FFFD. */
export function basic(name: string, text: string, attributes: Readonly<Record<string, string>> = {}): string {
  const written = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeAttribute(value)}"`)
    .join("");
  return `<cbc:${name}${written}>${escapeText(text.replace(UNWRITABLE, "\u{fffd}"))}</cbc:${name}>`;
}

/** `<cac:Name>…</cac:Name>` around what is written already. */
export const aggregate = (name: string, ...inside: readonly string[]): string =>
  `<cac:${name}>${inside.join("")}</cac:${name}>`;

/** The whole document. */
export const applicationResponse = (...inside: readonly string[]): Buffer =>
  Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?>\n<ApplicationResponse xmlns="${UBL_APPLICATION_RESPONSE}" xmlns:cac="${CAC_NS}" xmlns:cbc="${CBC_NS}">${inside.join("")}</ApplicationResponse>\n`,
    "utf8",
  );

/** `2026-11-20` of `2026-11-20T09:00:00.123Z`. */
export const utcDate = (instant: Instant): string => isoInstant(instant).slice(0, 10);
/** `09:00:00Z`: whole seconds, with the zone that the status must have. */
export const utcTime = (instant: Instant): string => `${isoInstant(instant).slice(11, 19)}Z`;

/** At most `max` characters (code points) of a text, white space as single spaces. */
export function clipped(text: string, max: number): string {
  const points = [...text.replace(/\s+/gu, " ").trim()];
  return points.length <= max ? points.join("") : `${points.slice(0, max - 1).join("")}…`;
}

/** The root of an ApplicationResponse of at most LIMITS.status_bytes_max; undefined for anything else. */
export function readApplicationResponse(bytes: Uint8Array): XmlElement | undefined {
  const limits = { bytes: LIMITS.status_bytes_max, depth: 32, elements: LIMITS.status_elements_max, attributes: 32 };
  const read = parseXml(bytes, limits);
  if (read.kind === "refused") return undefined;
  return read.root.ns === UBL_APPLICATION_RESPONSE && read.root.local === "ApplicationResponse" ? read.root : undefined;
}

/** The only cac child of this name. */
export const part = (element: XmlElement, local: string): XmlElement | undefined => onlyChild(element, CAC_NS, local);
/** All cac children of this name, in order. */
export const parts = (element: XmlElement, local: string): readonly XmlElement[] =>
  childrenNamed(element, CAC_NS, local);
/** How many cbc children have this name. */
export const countValues = (element: XmlElement, local: string): number => childrenNamed(element, CBC_NS, local).length;

/** The trimmed, non-empty text of the only cbc child of this name. */
export function value(element: XmlElement | undefined, local: string): string | undefined {
  const child = element === undefined ? undefined : onlyChild(element, CBC_NS, local);
  const text = child === undefined ? undefined : textOf(child)?.trim();
  return text === undefined || text === "" ? undefined : text;
}

/** cbc:ID of a document; undefined also where it is longer than any real one. */
export function idOf(root: XmlElement): string | undefined {
  const id = value(root, "ID");
  return id === undefined || Buffer.byteLength(id) > LIMITS.status_id_bytes_max ? undefined : id;
}

/** An electronic address: the party's EndpointID with its scheme. */
export function endpointOf(
  party: XmlElement | undefined,
): { readonly schemeId: string; readonly value: string } | undefined {
  const child = party === undefined ? undefined : onlyChild(party, CBC_NS, "EndpointID");
  const schemeId = child === undefined ? undefined : attributeOf(child, "schemeID");
  const text = value(party, "EndpointID");
  return schemeId === undefined || text === undefined ? undefined : { schemeId, value: text };
}

/** An attribute of the only cbc child of this name. */
export function attributeOfValue(element: XmlElement, local: string, attribute: string): string | undefined {
  const child = onlyChild(element, CBC_NS, local);
  return child === undefined ? undefined : attributeOf(child, attribute);
}

const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;

/** The instant of an issue date without zone and an issue time with one; undefined when either is neither. */
export function issueInstant(date: string | undefined, time: string | undefined): Instant | undefined {
  if (date === undefined || time === undefined || !DATE.test(date) || !TIME.test(time)) return undefined;
  return parseInstant(`${date}T${time}`);
}

/** Midnight UTC of a calendar date without zone; undefined for anything else. */
export const dateInstant = (date: string | undefined): Instant | undefined =>
  date === undefined || !DATE.test(date) || parseCalendarDay(date) === undefined
    ? undefined
    : parseInstant(`${date}T00:00:00Z`);
