/** The ordered steps of every request and the status that leaves at each. */
import type { Cidr } from "../../engine/base/addresses.js";
import type { Clock, Instant } from "../../engine/base/clock.js";
import { Refusal } from "../../engine/base/errors.js";
import type { Caller, CustomerContext, FirmContext, ParticipantContext } from "../../engine/identity/caller.js";
import type { FirmId, ParticipantId } from "../../engine/base/ids.js";
import type { Log } from "../../engine/base/log.js";
import type { Metrics } from "../../engine/base/metrics.js";
import type { Exchange, Head } from "../http/conversation.js";
import { RouteExchange } from "./request.js";
import type { Plan } from "./request.js";
import type { Family, RateName, Route } from "../contract/route.js";
import { createRouter } from "./router.js";
import { STEPS } from "./steps.js";

/** The limiter's answer to one request. Times are Unix seconds and seconds, as the headers carry them. */
export interface Admission {
  readonly allowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds at which the oldest counted admission leaves the window. */
  readonly resetAt: number;
  /** Whole seconds until a repeat may pass; 0 when allowed. */
  readonly retryAfter_s: number;
}

/** What the pipeline asks of the rest of the engine. Each may answer at once or later; at once is faster. */
export interface PipelinePorts {
  /** @throws Refusal TOKEN_INVALID */
  authenticate(token: string, receivedAt: Instant): Caller | Promise<Caller>;
  /** Whether this is the operator's token; compares in constant time. */
  authenticateAdmin(token: string): boolean;
  /** Counts one request. Never throws: without its peers it counts alone. */
  admit(row: RateName, key: string): Admission | Promise<Admission>;
  /**
   * The firm of a call with context `firm`. @param firmId the header X-Firm-Id; undefined when it is absent, which only
   * a key of one firm may do: the pipeline has checked that.
   * @throws Refusal FIRM_FORBIDDEN
   */
  firmContext(caller: Caller, firmId: FirmId | undefined): FirmContext | Promise<FirmContext>;
  /** The firm that an integrator calls so. @throws Refusal NOT_FOUND, FIRM_FORBIDDEN */
  customerContext(caller: Caller, customerRef: string): CustomerContext | Promise<CustomerContext>;
  /** @throws Refusal PARTICIPANT_FORBIDDEN */
  participantContext(caller: Caller, participantId: ParticipantId): ParticipantContext | Promise<ParticipantContext>;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
}

export interface PipelineOptions {
  readonly rows: readonly Route[];
  readonly ports: PipelinePorts;
  /** Networks of the operator's proxies, whose X-Forwarded-For is believed. @default none */
  readonly trustedProxies?: readonly Cidr[];
}

/** Whose envelope answers where no row does: the first prefix that fits. @source spec/rulings.md, section 3 */
const FAMILY_OF_PREFIX: readonly (readonly [string, Family])[] = [
  ["/sapi/", "sapi"],
  ["/api/v1/auth/", "auth"],
  ["/oauth/", "oauth"],
  ["/api/oauth/", "oauth"],
];

/**
 * Makes the function that a server calls for each request.
 * @throws Error when two rows claim one path and method
 */
export function createPipeline(options: PipelineOptions): (head: Head) => Exchange {
  const { rows, ports, trustedProxies = [] } = options;
  const router = createRouter(rows);
  const plans = new Map(rows.map((row) => [row, planOf(row)]));
  const shared = { ports, trustedProxies };
  return (head) => {
    const found = router.find(head.method, head.path);
    if (found !== undefined && "row" in found) {
      const plan = plans.get(found.row);
      if (plan !== undefined) return new RouteExchange(shared, plan, head, found.names, found.values);
    }
    const family = FAMILY_OF_PREFIX.find(([prefix]) => head.path.startsWith(prefix))?.[1] ?? "enterprise";
    const refusal =
      found === undefined || "row" in found
        ? new Refusal("ROUTE_UNKNOWN")
        : new Refusal("METHOD_NOT_ALLOWED", [], { allow: found });
    return new RouteExchange(shared, refusingPlan(family, refusal), head, [], []);
  };
}

/** The steps that apply to a row, chosen once. */
function planOf(row: Route): Plan {
  const steps = STEPS.filter((step) => step.applies(row));
  return {
    row,
    family: row.family,
    label: `${row.mounts[0] ?? ""}${row.path}`,
    method: row.method,
    head: steps.filter((step) => step.needs === "head"),
    body: steps.filter((step) => step.needs === "body"),
  };
}

/** The plan of a path or method that no row has. */
const refusingPlan = (family: Family, refusal: Refusal): Plan => ({
  row: undefined,
  family,
  label: "(none)",
  method: "(none)",
  head: [
    {
      name: "route",
      needs: "head",
      applies: () => true,
      run: () => {
        throw refusal;
      },
    },
  ],
  body: [],
});
