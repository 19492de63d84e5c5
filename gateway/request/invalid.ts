/**
 * Translates what zod found into details of our own wording. They repeat no value that the caller sent and no sentence
 * of the library.
 */
import type { z } from "zod";

import type { ErrorDetail } from "../../engine/base/errors.js";
import { LIMITS } from "../../engine/base/limits.js";
import { firstChars } from "../../engine/base/text.js";

type Issue = z.core.$ZodIssue;

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  date: "a date",
  null: "null",
  undefined: "left out",
};

const FORMAT_WORDS: Readonly<Record<string, string>> = {
  uuid: "must be a UUID",
  email: "must be an e-mail address",
  url: "must be a URL",
  datetime: "must be an ISO 8601 date and time",
  date: "must be a date, YYYY-MM-DD",
  base64: "must be base64 text",
  ipv4: "must be an IPv4 address",
  ipv6: "must be an IPv6 address",
  regex: "does not have the form that this field needs",
};

const SIZE_WORDS: Readonly<Record<string, string>> = {
  string: "characters",
  array: "items",
  set: "items",
  file: "bytes",
};

/**
 * Writes a path as `metadata.documentId` or `lines[3].quantity`; an empty path means the whole request.
 * @param prefix  what the whole is called
 */
export function memberPath(prefix: string, path: readonly PropertyKey[]): string {
  let field = "";
  for (const part of path)
    field += typeof part === "number" ? `[${part}]` : field === "" ? String(part) : `.${String(part)}`;
  return field === "" ? prefix : field;
}

function bound(issue: Extract<Issue, { readonly code: "too_big" | "too_small" }>): string {
  const isMax = issue.code === "too_big";
  const limit = String(isMax ? issue.maximum : issue.minimum);
  const unit = SIZE_WORDS[issue.origin];
  if (unit !== undefined)
    return limit === "1" && !isMax ? "must not be empty" : `must have at ${isMax ? "most" : "least"} ${limit} ${unit}`;
  return `must be ${isMax ? (issue.inclusive === false ? "less than" : "at most") : issue.inclusive === false ? "more than" : "at least"} ${limit}`;
}

function words(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined ? "is missing" : `must be ${TYPE_WORDS[issue.expected] ?? issue.expected}`;
    case "too_big":
    case "too_small":
      return bound(issue);
    case "invalid_format":
      return FORMAT_WORDS[issue.format] ?? "does not have the form that this field needs";
    case "not_multiple_of":
      return `must be a multiple of ${String(issue.divisor)}`;
    case "unrecognized_keys":
      return "is not a member of this request";
    case "invalid_value":
      return `must be one of: ${issue.values.map(String).join(", ")}`;
    case "invalid_union":
      return issue.input === undefined ? "is missing" : "has none of the forms that this field may have";
    case "invalid_key":
      return "has a name that is not allowed here";
    case "invalid_element":
      return "has an element that is not allowed here";
    case "custom":
      return "has a value that is not allowed here";
  }
}

/**
 * A schema may bring its own words, which complete a sentence that begins with the field: `.regex(…, "must be …")`.
 * They begin in lower case; the library's sentences, which are not shown, begin with a capital.
 */
const ownWords = (issue: Issue): string | undefined =>
  /^[a-z]/.test(issue.message) ? issue.message.replace(/\.$/, "") : undefined;

/** Names come from the caller: repeated, letters of any language too, only when they look like names. */
const NAME = /^[\p{L}\p{N}_.:-]+$/u;
export const shownName = (name: string): string =>
  NAME.test(name) ? firstChars(name, LIMITS.invoice_name_chars_max) : "(unnamed)";

/** A place of a body in which only what looks like a name is repeated. */
const shownPlace = (path: readonly PropertyKey[]): readonly PropertyKey[] =>
  path.map((part) => (typeof part === "string" ? shownName(part) : part));

/**
 * @param issues from a parse with `reportInput`, which tells a missing member from a wrong one
 * @param prefix what an issue about the whole is called: `body`, `query`
 */
export function detailsOfIssues(issues: readonly Issue[], prefix: string): ErrorDetail[] {
  const details: ErrorDetail[] = [];
  let mistyped: string | undefined;
  for (const issue of issues) {
    const places = issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    for (const place of places) {
      if (details.length === LIMITS.error_details_max) return details;
      const field = memberPath(prefix, shownPlace(place));
      // A list has a length as a text has one: of a value of the wrong type nothing else is worth telling.
      if (issue.code === "invalid_type") mistyped = field;
      else if (field === mistyped) continue;
      details.push({ field, message: `${field} ${ownWords(issue) ?? words(issue)}.` });
    }
  }
  return details;
}
