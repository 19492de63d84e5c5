/** The ordered steps of every request and the status that leaves at each. */
import type { Clock, Instant } from "../engine/clock.js";
import type { Caller, FirmContext, ParticipantContext } from "../engine/identity/caller.js";
import type { FirmId, ParticipantId } from "../engine/ids.js";
import type { Log } from "../engine/log.js";
import type { Metrics } from "../engine/metrics.js";
import type { RateName } from "./route.js";

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
   * The firm of a call with context `firm`. @param firmId the header X-Firm-Id; undefined when it is absent, which only a key
   * of one firm may do: the pipeline has checked that.
   * @throws Refusal FIRM_FORBIDDEN
   */
  firmContext(caller: Caller, firmId: FirmId | undefined): FirmContext | Promise<FirmContext>;
  /** @throws Refusal PARTICIPANT_FORBIDDEN */
  participantContext(caller: Caller, participantId: ParticipantId): ParticipantContext | Promise<ParticipantContext>;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
}
