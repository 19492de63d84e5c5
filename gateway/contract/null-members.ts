/**
 * Members of a body that are null and might have been left out: programs with one type for every request write null for
 * what they do not set.
 */
import { z } from "zod";

/** Takes such members out of a body, at every depth. */
type Sweep = (body: unknown) => void;

/** Bounded by the schemas of bodies, which are made once, with the rows. */
const sweeps = new WeakMap<z.ZodType, Sweep | undefined>();

/**
 * Takes out of a body what its schema lets be left out and does not take as null. A member that may be null keeps it,
 * for there null says something itself.
 * @param body  as it was read, by nobody else yet
 */
export function leaveOutNulls(schema: z.ZodType, body: unknown): void {
  if (!sweeps.has(schema)) sweeps.set(schema, sweepOf(schema));
  sweeps.get(schema)?.(body);
}

/** Whether null in the place of such a member is the same as none: it may be left out, and null says nothing itself. */
export const isLeftOutByNull = (member: z.core.$ZodType): boolean =>
  z.safeParse(member, undefined).success && !z.safeParse(member, null).success;

/** @returns undefined where a body of this schema has no such member */
function sweepOf(schema: z.ZodType): Sweep | undefined {
  const bare = unwrapped(schema);
  if (bare instanceof z.ZodArray) return sweepOfList(bare.element as z.ZodType);
  if (bare instanceof z.ZodUnion) return sweepOfChoice(bare.options as readonly z.ZodType[]);
  if (!(bare instanceof z.ZodObject)) return undefined;
  const members = Object.entries(bare.shape as Readonly<Record<string, z.ZodType>>);
  const empty = members.filter(([, member]) => isLeftOutByNull(member)).map(([name]) => name);
  const inner = members.flatMap(([name, member]) => {
    const sweep = sweepOf(member);
    return sweep === undefined ? [] : [{ name, sweep }];
  });
  if (empty.length === 0 && inner.length === 0) return undefined;
  return (body) => {
    if (typeof body !== "object" || body === null) return;
    const given = body as Readonly<Record<string, unknown>>;
    for (const name of empty) if (given[name] === null) Reflect.deleteProperty(given, name);
    for (const { name, sweep } of inner) sweep(given[name]);
  };
}

function sweepOfList(element: z.ZodType): Sweep | undefined {
  const sweep = sweepOf(element);
  if (sweep === undefined) return undefined;
  return (list) => {
    if (Array.isArray(list)) for (const item of list) sweep(item);
  };
}

/** Of several forms one alone has members: what is taken out for two of them would be lost to the other. */
function sweepOfChoice(options: readonly z.ZodType[]): Sweep | undefined {
  const sweeps = options.flatMap((option) => sweepOf(option) ?? []);
  return sweeps.length === 1 ? sweeps[0] : undefined;
}

/** What a schema reads first, without what lets it be left out and what becomes of it afterwards. */
function unwrapped(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return unwrapped(schema.unwrap() as z.ZodType);
  return schema instanceof z.ZodPipe ? unwrapped(schema.in as z.ZodType) : schema;
}
