/**
 * For whom a call may be made: the firm or the participant, decided from the caller and the present state of the
 * binding.
 */
import { Refusal } from "../base/errors.js";
import type { ErrorName } from "../base/errors.js";
import { participantKey } from "../base/ids.js";
import type { FirmId, IntegratorId, ParticipantId } from "../base/ids.js";
import type { Scope } from "../base/scopes.js";
import type { BindingRow, Interface } from "../storage/identity/bindings.js";
import type { ParticipantRow } from "../storage/identity/firms.js";
import type { Cache } from "./nodes/cache.js";
import { integratorOf } from "./caller.js";
import type { Caller, CustomerContext, FirmContext, ParticipantContext } from "./caller.js";
import { bindingKey } from "./nodes/memory.js";
import { effectiveScopes } from "./scopes.js";
import type { SecretEnvironment } from "./tokens/secrets.js";

/** A fact that is known at once, or must be asked of Postgres first. */
type Soon<T> = T | Promise<T>;

interface ContextPorts {
  readonly environment: SecretEnvironment;
  readonly participants: Cache<ParticipantRow | null>;
  /** By `<integratorId>:<firmId>`. */
  readonly bindings: Cache<BindingRow | null>;
  /** Asks Postgres each time: one look-up by index, and a changed name holds at once. */
  findCustomer(integratorId: IntegratorId, customerRef: string): Promise<BindingRow | undefined>;
}

/**
 * An id that no firm has: looking it up takes as long as looking up a real one, so that the time of an answer tells
 * nothing.
 */
const NO_FIRM = "00000000-0000-0000-0000-000000000000" as FirmId;

/**
 * The scopes that an integrator's caller has for a firm; undefined when it has no business there.
 * @source spec/sapi.md, Authentication: active assignment, unrevoked consent, production authorization, scope
 */
export function bindingScopes(
  caller: Caller,
  binding: BindingRow | null | undefined,
  through: Interface,
  environment: SecretEnvironment,
): ReadonlySet<Scope> | undefined {
  if (binding === null || binding === undefined || binding.state !== "active") return undefined;
  if (!binding.interfaces.includes(through)) return undefined;
  if (caller.bindingGeneration < binding.revokedGeneration) return undefined;
  if (caller.scopedFirmId !== undefined && caller.scopedFirmId !== binding.firmId) return undefined;
  if (environment === "production" && !caller.productionAuthorized) return undefined;
  return effectiveScopes(caller.scopes, caller.tokenScope, binding.scopes);
}

/** The firms whose documents an integrator's caller may read; what bindingScopes says of one firm, for a statement. */
interface ReadableFirms {
  readonly integratorId: IntegratorId;
  readonly onlyFirmId: FirmId | undefined;
  readonly bindingGeneration: number;
  readonly scope: Scope;
  readonly through: Interface;
}

/**
 * Whose documents an integrator's caller may read over all firms.
 * @throws Refusal CREDENTIAL_CLASS for a firm's own key; FIRM_FORBIDDEN where the integrator may not act at all
 */
export function readableFirms(caller: Caller, environment: SecretEnvironment): ReadableFirms {
  const { scopedFirmId, bindingGeneration, productionAuthorized } = caller;
  const integratorId = integratorOf(caller);
  if (environment === "production" && !productionAuthorized) throw new Refusal("FIRM_FORBIDDEN");
  return { integratorId, onlyFirmId: scopedFirmId, bindingGeneration, scope: "documents:read", through: "enterprise" };
}

const then = <T, R>(soon: Soon<T>, use: (value: T) => Soon<R>): Soon<R> =>
  soon instanceof Promise ? soon.then(use) : use(soon);

/** What a caller is told of a firm that is not theirs: each interface names what it was asked by. */
const FORBIDDEN = {
  enterprise: "FIRM_FORBIDDEN",
  sapi: "PARTICIPANT_FORBIDDEN",
} as const satisfies Partial<Record<Interface, ErrorName>>;

/**
 * The context of an integrator's caller; foreign, unknown and unbound firms are the same refusal.
 * @param through  the interface of the call, and others by whose consent it may be made
 */
function integratorContext(
  ports: ContextPorts,
  caller: Caller,
  firmId: FirmId,
  through: readonly [keyof typeof FORBIDDEN, ...Interface[]],
): Soon<FirmContext> {
  const { integratorId } = caller;
  const refusal = FORBIDDEN[through[0]];
  if (integratorId === undefined) throw new Refusal(refusal);
  const binding = ports.bindings.get(bindingKey(integratorId, firmId));
  return then(binding, (row) => {
    const scopes = through
      .map((one) => bindingScopes(caller, row, one, ports.environment))
      .find((found) => found !== undefined);
    if (scopes === undefined) throw new Refusal(refusal);
    return { firmId, scopes };
  });
}

/**
 * The firm of an Enterprise call.
 * @param firmId the header X-Firm-Id; undefined when it is absent
 * @param servesSapi whether a consent to SAPI alone is enough: what becomes of its documents is told here
 * @throws Refusal FIRM_CONTEXT_FORBIDDEN, FIRM_CONTEXT_REQUIRED, FIRM_FORBIDDEN
 * @source spec/enterprise.md, Endpoints, conventions; Authentication: Firm context
 */
export function firmContext(
  ports: ContextPorts,
  caller: Caller,
  firmId: FirmId | undefined,
  servesSapi = false,
): Soon<FirmContext> {
  if (caller.firmId !== undefined) {
    if (firmId !== undefined) throw new Refusal("FIRM_CONTEXT_FORBIDDEN");
    return { firmId: caller.firmId, scopes: caller.scopes };
  }
  const named = firmId ?? caller.scopedFirmId;
  if (named === undefined) throw new Refusal("FIRM_CONTEXT_REQUIRED");
  return integratorContext(ports, caller, named, servesSapi ? ["enterprise", "sapi"] : ["enterprise"]);
}

/**
 * The firm that an integrator's caller calls by its own name. A firm that a key is not made for is as unknown to it as
 * none.
 * @throws Refusal NOT_FOUND; FIRM_FORBIDDEN where the firm is known and its consent does not cover the call
 * @source spec/enterprise.md, Connector; spec/rulings.md, section 1
 */
export async function customerContext(
  ports: Pick<ContextPorts, "environment" | "findCustomer">,
  caller: Caller,
  customerRef: string,
): Promise<CustomerContext> {
  const { integratorId, scopedFirmId } = caller;
  const binding = integratorId === undefined ? undefined : await ports.findCustomer(integratorId, customerRef);
  if (binding === undefined || (scopedFirmId !== undefined && scopedFirmId !== binding.firmId))
    throw new Refusal("NOT_FOUND");
  const scopes = bindingScopes(caller, binding, "connector", ports.environment);
  if (scopes === undefined) throw new Refusal("FIRM_FORBIDDEN", [], whyNotConnector(binding));
  return { firmId: binding.firmId, customerRef, scopes };
}

/** What is said of a firm that the integrator calls by its own name: what it knows of its consent, and what to do. */
function whyNotConnector({ state, interfaces }: BindingRow): Refusal["extras"] {
  if (state !== "active") return { nextAction: "Invite the firm with POST /consent-offers." };
  if (interfaces.includes("connector")) return {};
  return {
    message: "The consent of this firm does not cover the Connector.",
    nextAction: "Invite the firm anew, with requestedInterface connector or all: what it accepts is then its consent.",
  };
}

/**
 * The participant of a SAPI call, and the firm that owns it.
 * @throws Refusal PARTICIPANT_FORBIDDEN, the same for a foreign and an unknown participant
 * @source spec/sapi.md, Authentication
 */
export function participantContext(
  ports: ContextPorts,
  caller: Caller,
  participantId: ParticipantId,
): Soon<ParticipantContext> {
  return then(ports.participants.get(participantKey(participantId)), (participant) => {
    const owner = participant?.firmId ?? NO_FIRM;
    const context =
      caller.firmId === undefined
        ? integratorContext(ports, caller, owner, ["sapi"])
        : { firmId: caller.firmId, scopes: caller.scopes };
    return then(context, ({ firmId, scopes }) => {
      if (participant === null || participant === undefined || participant.firmId !== firmId)
        throw new Refusal("PARTICIPANT_FORBIDDEN");
      return { participantId: participant.id, firmId, scopes };
    });
  });
}
