/** UBL ApplicationResponse: what the Message Level Status and the Invoice Response have in common. */
import type { ResponseFacts } from "../../../validators/responses.js";
import { escapeAttribute, escapeText } from "../../../validators/xml/c14n.js";
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

/** What a response may ask of the worker that reads it. */
export const RESPONSE_LIMITS = {
  bytes: LIMITS.status_bytes_max,
  depth: LIMITS.status_depth_max,
  elements: LIMITS.status_elements_max,
  attributes: LIMITS.status_attributes_max,
  declarations: LIMITS.status_declarations_max,
} as const;

/** cbc:ID of a response; undefined also where it is longer than any real one. */
export const idOf = ({ id }: ResponseFacts): string | undefined =>
  id === undefined || Buffer.byteLength(id) > LIMITS.status_id_bytes_max ? undefined : id;

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
