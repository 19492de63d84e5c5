/** What the pipeline asks of the rest of the engine: who calls, for whom, and whether the call is within its rate. */
import type { Clock, Instant } from "../../engine/base/clock.js";
import type { FirmId, ParticipantId } from "../../engine/base/ids.js";
import type { Log } from "../../engine/base/log.js";
import type { Metrics } from "../../engine/base/metrics.js";
import type { Caller, CustomerContext, FirmContext, ParticipantContext } from "../../engine/identity/caller.js";
import type { RateName } from "../contract/route.js";

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
   * a key of one firm may do: the pipeline has checked that. @param servesSapi whether a consent to SAPI is enough
   * @throws Refusal FIRM_FORBIDDEN
   */
  firmContext(caller: Caller, firmId: FirmId | undefined, servesSapi: boolean): FirmContext | Promise<FirmContext>;
  /** The firm that an integrator calls so. @throws Refusal NOT_FOUND, FIRM_FORBIDDEN */
  customerContext(caller: Caller, customerRef: string): CustomerContext | Promise<CustomerContext>;
  /** @throws Refusal PARTICIPANT_FORBIDDEN */
  participantContext(caller: Caller, participantId: ParticipantId): ParticipantContext | Promise<ParticipantContext>;
  /** Whether a firm has a mailbox here. */
  mayReceive(firmId: FirmId): true | Promise<boolean>;
  /**
   * Octets of the document with this id; 0 where there is none, and for a large one of another firm.
   * @param firmId  who asks; undefined for an operator
   * @throws Refusal TEMPORARY
   */
  documentBytes(id: string, firmId: FirmId | undefined): Promise<number>;
  /** A refusal in the place of an error that is no fault of ours; any other error as it is. */
  asRefusal(error: unknown): unknown;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
}
