/** Finds the row of a request and gives the request the steps that this row needs. */
import type { Cidr } from "../../engine/base/addresses.js";
import { Refusal } from "../../engine/base/errors.js";
import { oncePerSecond } from "../../engine/base/log.js";
import { RATES } from "../contract/route.js";
import type { Family, Route } from "../contract/route.js";
import type { Head, PipelineRequest } from "../http/conversation.js";
import type { ShareName } from "../http/shares.js";
import { createInflater } from "./inflate.js";
import type { Plan, Step } from "./plan.js";
import type { PipelinePorts } from "./ports.js";
import { RoutedRequest } from "./request.js";
import { createRouter } from "./router.js";
import { STEPS } from "./steps.js";

export interface PipelineOptions {
  readonly rows: readonly Route[];
  readonly ports: PipelinePorts;
  /** Networks of the operator's proxies, whose X-Forwarded-For is believed. @default none */
  readonly trustedProxies?: readonly Cidr[];
}

/** Form of the error for a path that no row has, by the first prefix that fits. @source spec/rulings.md, section 3 */
const FAMILY_OF_PREFIX: readonly (readonly [string, Family])[] = [
  ["/sapi/", "sapi"],
  ["/api/v1/auth/", "auth"],
  ["/oauth/", "oauth"],
  ["/api/oauth/", "oauth"],
  ["/api/", "enterprise"],
  ["/admin/", "admin"],
  ["/as4", "as4"],
  ["/smp/", "public"],
];

/** Whose pages a listener has, and so who is told in a page that there is no such path. */
const pagesAmong = (rows: readonly Route[]): Family | undefined =>
  (["console", "page"] as const).find((pages) => rows.some(({ family }) => family === pages));

const asksForPage = ({ headers }: Head): boolean => headers.get("accept")?.includes("text/html") === true;

/**
 * Makes the function that a server calls for each request.
 * @throws Error when two rows claim one path and method
 */
export function createPipeline(options: PipelineOptions): (head: Head) => PipelineRequest {
  const { rows, ports, trustedProxies = [] } = options;
  const router = createRouter(rows);
  const plans = new Map(rows.map((row) => [row, planOf(row)]));
  const elsewhere = rows.filter((row) => row.elsewhere === true);
  const pages = pagesAmong(rows);
  const often = { log: oncePerSecond(ports.log, ports.clock) };
  const shared = { ports, often, trustedProxies, inflater: createInflater() };
  return (head) => {
    // HEAD is answered like GET; the server leaves out the body.
    const method = head.method === "HEAD" ? "GET" : head.method;
    const found = router.find(method, head.path);
    if (found !== undefined && "row" in found) {
      const plan = plans.get(found.row);
      if (plan !== undefined) return new RoutedRequest(shared, plan, head, found);
    }
    const below = elsewhere.find(({ mounts }) => mounts.some((mount) => head.path.startsWith(`${mount}/`)));
    const plan = below === undefined ? undefined : plans.get(below);
    if (found === undefined && plan?.method === method)
      return new RoutedRequest(shared, plan, head, { names: [], values: [] });
    const family =
      below?.family ??
      FAMILY_OF_PREFIX.find(([prefix]) => head.path.startsWith(prefix))?.[1] ??
      (asksForPage(head) ? pages : undefined) ??
      "enterprise";
    const refusal =
      found === undefined || "row" in found
        ? new Refusal("ROUTE_UNKNOWN")
        : new Refusal("METHOD_NOT_ALLOWED", [], { allow: offered(found) });
    return new RoutedRequest(shared, refusingPlan(family, refusal), head, { names: [], values: [] });
  };
}

/** The methods of a path: HEAD is offered wherever GET is. @source spec/rulings.md, section 14 */
const offered = (methods: readonly string[]): readonly string[] =>
  methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));

/** Chooses the steps of a row. This is done once for each row, at the start. */
function planOf(row: Route): Plan {
  const steps = STEPS.filter((step) => step.applies(row));
  const gate = steps.findIndex(({ gates }) => gates === true);
  const isEarly = ({ needs }: Step, at: number): boolean => needs === "head" && (gate === -1 || at < gate);
  const head = steps.filter(isEarly);
  const body = steps.filter((step, at) => !isEarly(step, at));
  const ends = head.filter((step) => step.ends === true);
  return {
    row,
    family: row.family,
    label: `${row.mounts[0] ?? ""}${row.path}`,
    method: row.method,
    share: shareOf(row),
    head,
    body,
    ends,
    lateBody: [...ends, ...body],
  };
}

/** Buckets of RATES whose requests log in. */
const LOGINS: ReadonlySet<string> = new Set([RATES.token.bucket, RATES.renew.bucket]);

/** What a row is for: whoever needs a credential is a caller, everybody else a stranger of one kind or another. */
function shareOf({ credential, family, rate }: Route): ShareName {
  if (credential !== "none") return "api";
  if (family === "as4") return "network";
  return rate !== undefined && LOGINS.has(RATES[rate].bucket) ? "token" : "public";
}

/** A request for an unknown path or method has one step, which refuses it. */
const refusingPlan = (family: Family, refusal: Refusal): Plan => ({
  row: undefined,
  family,
  label: "(none)",
  method: "(none)",
  share: "public",
  head: [
    {
      name: "route",
      needs: "head",
      applies: () => true,
      refuses: [refusal.reason],
      run: () => {
        throw refusal;
      },
    },
  ],
  body: [],
  ends: [],
  lateBody: [],
});
