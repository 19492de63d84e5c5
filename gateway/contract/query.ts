/** Members that many requests have: whole numbers, instants, participants and ids, each read in one way. */
import { z } from "zod";

import { isStorable } from "../../engine/base/clock.js";
import { PARTICIPANT_FORMS, parseParticipantId, parseUuid } from "../../engine/base/ids.js";

const DIGITS = /^(?:0|[1-9][0-9]{0,8})$/;

/** A whole number of a query in plain digits. @param range  both ends belong to it; `byDefault` is only described */
export const wholeNumber = (range: { readonly min: number; readonly max: number; readonly byDefault: number }) => {
  const { min, max, byDefault } = range;
  return z
    .string()
    .refine((text) => DIGITS.test(text) && Number(text) >= min && Number(text) <= max, {
      message: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number)
    .meta({ openapi: { type: "integer", minimum: min, maximum: max, default: byDefault } })
    .optional();
};

/** With and without seconds: java.time leaves them out where they are zero, and zod asks for them beside a zone. */
const ISO_DATE_TIMES = [z.iso.datetime({ offset: true }), z.iso.datetime({ offset: true, precision: -1 })];

/** Whether a text is a date and time in ISO 8601 with its zone. */
export const isDateTime = (text: string): boolean => ISO_DATE_TIMES.some((form) => form.safeParse(text).success);

/** An instant with its zone. */
export const instant = z
  .string()
  .refine((text) => isDateTime(text) && isStorable(text), {
    message: "must be an ISO 8601 date and time with its zone, in the years 1 to 9999",
  })
  .transform((text) => Date.parse(text))
  .meta({ openapi: { type: "string", format: "date-time" } });

/** A text that a parser of the engine takes. @param words  what it must be, where it takes it not: `must be …` */
export const parsedBy = <T extends string>(parse: (text: string) => T | undefined, words: string) =>
  z.string().transform((text, context): T => {
    const parsed = parse(text);
    if (parsed === undefined) context.addIssue({ code: "custom", message: words });
    return parsed ?? z.NEVER;
  });

/** What a participant id must be that came in either form. */
export const PARTICIPANT_WORDS = "must be <scheme>:<id>, for example 0245:2020202020";

/** A participant id in either form. */
export const participant = parsedBy(parseParticipantId, PARTICIPANT_WORDS).meta({
  openapi: { type: "string", pattern: PARTICIPANT_FORMS.either.source },
});

/** An id; what is none names nothing in a path. @param parse  makes the engine's own kind of id of it */
export const idBy = <Id extends string>(parse: (text: string) => Id | undefined) =>
  parsedBy(parse, "must be a UUID").meta({ format: "uuid" });

/** Any UUID. */
export const uuid = idBy(parseUuid);

/**
 * Of a member that takes any JSON: refuses a number that is another one than its text says, by its place. An infinite
 * one would be null when it is written down, and a whole one beyond 2^53 has lost digits: an id, as a rule.
 */
export function refuseUnheld(value: unknown, context: z.RefinementCtx): void {
  const path = pathOfUnheld(value, []);
  if (path !== undefined)
    context.addIssue({
      code: "custom",
      path: [...path],
      message: "is not kept exactly as a number; give it as a text",
    });
}

type Path = readonly (string | number)[];

function pathOfUnheld(value: unknown, path: Path): Path | undefined {
  if (typeof value === "number")
    return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value)) ? undefined : path;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = pathOfUnheld(member, [...path, Array.isArray(value) ? Number(name) : name]);
    if (found !== undefined) return found;
  }
  return undefined;
}
