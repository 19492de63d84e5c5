/**
 * A span for each SQL statement, named by the function in engine/storage that makes it: neither its text nor a value of
 * it is ever looked at.
 */
import { isTracing, openSpan } from "./tracing.js";

const UNKNOWN = "statement";
/** Frames of this file, and what the engine of JavaScript puts above them. */
const OWN_FRAME = /base\/tracing\//;
const FRAME = /^\s*at (?:async )?(?:([\w$.<>#]+) (?:\[as \w+\] )?\()?.*?([\w-]+)\.m?[jt]s:\d+:\d+\)?$/;

/** The function that has called, else its file. @param stack  of an error made there */
export function callerIn(stack: string | undefined): string {
  const line = stack
    ?.split("\n")
    .slice(1)
    .find((frame) => !OWN_FRAME.test(frame));
  const [, name, file] = FRAME.exec(line ?? "") ?? [];
  return name === undefined || name.includes("<anonymous>") ? (file ?? UNKNOWN) : (name.split(".").at(-1) ?? UNKNOWN);
}

/** Names by the places in the code that make statements, of which there are as many as the code has. */
const names = new WeakMap<object, string>();

function nameOf(place: object): string {
  const known = names.get(place);
  if (known !== undefined) return known;
  const name = callerIn(new Error().stack);
  names.set(place, name);
  return name;
}

const isTemplate = (value: unknown): value is object => Array.isArray(value) && "raw" in value;

/** A statement runs when it is first waited for: a fragment of another statement never is. */
function watch(statement: PromiseLike<unknown>, name: string): void {
  const then = statement.then.bind(statement) as PromiseLike<unknown>["then"];
  let isBegun = false;
  Object.defineProperty(statement, "then", {
    value: (fulfilled?: (value: unknown) => unknown, rejected?: (error: unknown) => unknown) => {
      const span = isBegun ? undefined : openSpan(`sql ${name}`, { "db.system.name": "postgresql" }, "client");
      isBegun = true;
      const answer = then(fulfilled, rejected);
      if (span !== undefined)
        then(
          () => {
            span.end();
          },
          (error: unknown) => {
            span.end(error);
          },
        );
      return answer;
    },
  });
}

/** The same pool of connections, whose statements are spans; with tracing off the pool itself. */
export function tracedStatements<S extends object>(sql: S): S {
  if (!isTracing()) return sql;
  return new Proxy(sql, {
    apply: (target, self, given: unknown[]) => {
      const made: unknown = Reflect.apply(target as (...all: unknown[]) => unknown, self, given);
      if (isTemplate(given[0])) watch(made as PromiseLike<unknown>, nameOf(given[0]));
      return made;
    },
  });
}
