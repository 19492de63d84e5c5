/**
 * The record of who changed keys, tokens, consents and firms. Its entries are written with the changes; a tenant reads
 * those that concern it.
 */
import { isoInstant } from "../base/clock.js";
import type { Clock, Instant } from "../base/clock.js";
import { cutPage, placeIn } from "../base/cursors.js";
import type { Cursors } from "../base/cursors.js";
import { newId } from "../base/ids.js";
import { LIMITS } from "../base/limits.js";
import { firstChars } from "../base/text.js";
import { listAudit } from "../storage/identity/audit.js";
import type { ActorType, AuditEvent, AuditRow, AuditScope, AuditStamp } from "../storage/identity/audit.js";
import { orTemporary } from "../storage/sql.js";
import type { Json, Sql } from "../storage/sql.js";
import type { Caller } from "./caller.js";

export { ACTOR_TYPES, AUDIT_EVENTS } from "../storage/identity/audit.js";

/** Who asks for a change, and from where. */
export interface Actor {
  readonly type: ActorType;
  /** Id of the key or of the person; null for operators, and for whoever shows only a token. */
  readonly id: string | null;
  /** Client address; null where there is no client. */
  readonly address: string | null;
  readonly userAgent: string | null;
}

/** Whoever works on the engine's own machine or its operators' listener. */
export const OPERATOR: Actor = { type: "operator", id: null, address: null, userAgent: null };

/** The parts of a request that tell who makes it; every request of the gateway has them. */
interface ActingRequest {
  readonly caller: Pick<Caller, "keyId"> | undefined;
  readonly address: string;
  header(name: string): string | undefined;
}

/** The key with which a request is made; without one whoever holds the token or the secret in its body. */
export const actorOf = (request: ActingRequest): Actor => ({
  type: "api_key",
  id: request.caller?.keyId ?? null,
  address: request.address,
  userAgent: request.header("user-agent") ?? null,
});

/** What the function that makes the change is given, so that its entry is written with it. */
export const stampOf = (actor: Actor, clock: Clock): AuditStamp => ({
  id: newId(clock),
  at: isoInstant(clock.now()),
  actorType: actor.type,
  actorId: actor.id,
  ip: actor.address,
  userAgent: actor.userAgent === null ? null : firstChars(actor.userAgent, LIMITS.user_agent_chars_max),
});

/** One entry as its tenant reads it. @source spec/shapes.md, section 4 */
interface AuditEntry {
  readonly id: string;
  readonly occurred_at: string;
  readonly actor_type: ActorType;
  readonly actor_id: string | null;
  readonly event: AuditEvent;
  readonly target_type: string;
  readonly target_id: string;
  readonly ip: string | null;
  readonly user_agent: string | null;
  readonly metadata: Json;
}

/** A page of entries, newest first. */
export interface AuditPage {
  readonly rows: AuditEntry[];
  readonly next_cursor: string | null;
}

/** What is asked of the entries. */
export interface AuditAsked {
  readonly event: string | undefined;
  readonly actorType: ActorType | undefined;
  readonly since: Instant | undefined;
  /** Excluded. */
  readonly until: Instant | undefined;
  readonly cursor: string | undefined;
  readonly limit: number;
}

/** Whose entries a caller reads. A key that is made for one firm reads its integrator's entries about that firm. */
const scopeOf = (caller: Caller): AuditScope => ({
  firmId: caller.firmId ?? caller.scopedFirmId,
  integratorId: caller.integratorId,
});

/**
 * Whether an actor is of the reader's own house: firms and integrators see what the other did to what they share, but
 * not from which address, nor which person it was.
 */
function isOwn(row: AuditRow, scope: AuditScope): boolean {
  const ofIntegrator = scope.integratorId !== undefined;
  if (row.actorType === "api_key") return ofIntegrator === (row.integratorId !== null);
  return row.actorType === "user" && ofIntegrator === (row.firmId === null);
}

function entryOf(row: AuditRow, scope: AuditScope): AuditEntry {
  const own = isOwn(row, scope);
  return {
    id: row.id,
    occurred_at: isoInstant(row.occurredAt),
    actor_type: row.actorType,
    actor_id: own || row.actorType === "api_key" ? row.actorId : null,
    event: row.event,
    target_type: row.targetType,
    target_id: row.targetId,
    ip: own ? row.ip : null,
    user_agent: own ? row.userAgent : null,
    metadata: row.metadata,
  };
}

/**
 * The entries that concern the caller's firm or integrator, newest first. A page never passes an entry that commits
 * late: positions of one tenant are given in the order of commits.
 * @throws Refusal REQUEST_INVALID for a cursor of another list; TEMPORARY
 * @source spec/rulings.md, section 9; spec/shapes.md, section 4
 */
export async function readAudit(
  { sql, cursors }: { readonly sql: Sql; readonly cursors: Cursors },
  caller: Caller,
  asked: AuditAsked,
): Promise<AuditPage> {
  const scope = scopeOf(caller);
  const { cursor, limit, ...filter } = asked;
  const list = `audit/${scope.integratorId ?? ""}/${scope.firmId ?? ""}`;
  const before = placeIn(cursors, list, cursor, String);
  const read = await orTemporary(listAudit(sql, scope, { ...filter, before, limit: limit + 1 }));
  const { rows, nextCursor } = cutPage(cursors, list, read, { limit, placeOf: ({ position }) => position });
  return { rows: rows.map((row) => entryOf(row, scope)), next_cursor: nextCursor };
}
