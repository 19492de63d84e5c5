/** Statements of registrations in the SML: claim one, end one, say what DNS or a person has found, list them. */
import type { Instant } from "../base/clock.js";
import type { ParticipantId } from "../base/ids.js";
import type { Sql } from "./sql.js";

/** `manual_review`: the SML was asked, and nobody knows whether it did it. */
export const REGISTRATION_STATES = ["registered", "unregistered", "manual_review"] as const;
export type RegistrationState = (typeof REGISTRATION_STATES)[number];

export const REGISTRATION_OPERATIONS = ["register", "unregister", "prepare_migration", "migrate"] as const;
export type RegistrationOperation = (typeof REGISTRATION_OPERATIONS)[number];

/** A migration key as it is stored. */
interface SealedKey {
  readonly keyId: string;
  readonly sealed: Buffer;
}

/** Whether an operation may ask the SML now, and with which migration key; otherwise why not. */
interface BegunRegistration {
  readonly verdict: "begun" | "settled" | "busy" | "in_review" | "not_registered";
  readonly migrationKey: SealedKey | undefined;
}

interface NewRegistrationOperation {
  readonly id: string;
  readonly key: string;
  readonly participant: ParticipantId;
  readonly smpId: string;
  readonly operation: RegistrationOperation;
  readonly now: Instant;
  readonly lease_ms: number;
  readonly migrationKey: SealedKey | undefined;
}

/** Claims a participant for one operation. The claim is durable before anything is sent. */
export async function beginRegistration(sql: Sql, wanted: NewRegistrationOperation): Promise<BegunRegistration> {
  const [row] = await sql<
    {
      readonly verdict: BegunRegistration["verdict"];
      readonly migration_key_id: string | null;
      readonly migration_key_sealed: Buffer | null;
    }[]
  >`
    select verdict, migration_key_id, migration_key_sealed from begin_registration(
      ${wanted.key}, ${wanted.participant}, ${wanted.smpId}, ${wanted.operation}, ${wanted.id}, ${new Date(wanted.now)},
      ${wanted.lease_ms},
      ${wanted.migrationKey?.keyId ?? null}, ${wanted.migrationKey?.sealed ?? null}
    )`;
  if (row === undefined) throw new Error("a registration could not be claimed");
  const { migration_key_id: keyId, migration_key_sealed: sealed } = row;
  return { verdict: row.verdict, migrationKey: keyId === null || sealed === null ? undefined : { keyId, sealed } };
}

interface EndedRegistration {
  readonly id: string;
  readonly key: string;
  /** Undefined leaves the state that was before. */
  readonly state: RegistrationState | undefined;
  readonly outcome: string;
  readonly code: string;
  readonly now: Instant;
}

/**
 * Writes what came of an operation. @returns the state now; undefined when the operation took too long and counts as
 * interrupted
 */
export async function endRegistration(sql: Sql, ended: EndedRegistration): Promise<RegistrationState | undefined> {
  const [row] = await sql<{ readonly state: RegistrationState }[]>`
    select state from end_registration(${ended.key}, ${ended.id}, ${ended.state ?? null}, ${ended.outcome},
      ${ended.code}, ${new Date(ended.now)})`;
  return row?.state;
}

/**
 * Writes what DNS (`check`) or a person (`settle`) says. @returns whether it was written: not when the state changed
 * meanwhile, or the SML is being asked
 */
export async function settleRegistration(
  sql: Sql,
  settled: {
    readonly id: string;
    readonly key: string;
    readonly operation: "check" | "settle";
    readonly from: RegistrationState;
    readonly state: RegistrationState;
    readonly outcome: string;
    readonly now: Instant;
  },
): Promise<boolean> {
  const rows = await sql`
    select state from settle_registration(
      ${settled.key}, ${settled.id}, ${settled.operation}, ${settled.from}, ${settled.state}, ${settled.outcome},
        ${new Date(settled.now)}
    )`;
  return rows.length === 1;
}

export interface RegistrationRow {
  readonly participant: ParticipantId;
  readonly smpId: string;
  readonly state: RegistrationState;
  readonly lastOperation: RegistrationOperation;
  /** Of the last operation; undefined while it is under way or was left behind. */
  readonly outcome: string | undefined;
  readonly code: string | undefined;
  /** Whether the SML is being asked, or somebody died asking. */
  readonly underWay: boolean;
  readonly migrationPreparedAt: Instant | undefined;
  readonly changedAt: Instant;
}

interface Row {
  readonly participant: string;
  readonly smp_id: string;
  readonly state: RegistrationState;
  readonly last_operation: RegistrationOperation;
  readonly outcome: string | null;
  readonly code: string | null;
  readonly under_way: boolean;
  readonly migration_prepared_at: Date | null;
  readonly changed_at: Date;
}

const rowOf = (row: Row): RegistrationRow => ({
  participant: row.participant as ParticipantId,
  smpId: row.smp_id,
  state: row.state,
  lastOperation: row.last_operation,
  outcome: row.outcome ?? undefined,
  code: row.code ?? undefined,
  underWay: row.under_way,
  migrationPreparedAt: row.migration_prepared_at?.getTime(),
  changedAt: row.changed_at.getTime(),
});

/** @param key the participant's id in lower case */
export async function findRegistration(sql: Sql, key: string): Promise<RegistrationRow | undefined> {
  const [row] = await sql<Row[]>`
    select participant, smp_id, state, last_operation, outcome, code, operation_id is not null as under_way,
      migration_prepared_at, changed_at
    from registration where participant_key = ${key}`;
  return row === undefined ? undefined : rowOf(row);
}

/** How many participants are in each state; who comes by White Label and waits for an operator is one under review. */
export async function censusOfRegistrations(sql: Sql): Promise<ReadonlyMap<RegistrationState, number>> {
  const rows = await sql<{ readonly state: RegistrationState; readonly count: number }[]>`
    select state, count(*)::integer as count from registration group by state
    union all
    select status, count(*)::integer from white_label_operation where status = 'manual_review' group by status`;
  const countOf = (state: RegistrationState): number =>
    rows.reduce((sum, row) => sum + (row.state === state ? row.count : 0), 0);
  return new Map(REGISTRATION_STATES.map((state) => [state, countOf(state)]));
}

/** By participant, behind `after`. */
export async function listRegistrations(
  sql: Sql,
  page: { readonly state: RegistrationState | undefined; readonly after: string; readonly limit: number },
): Promise<RegistrationRow[]> {
  const rows = await sql<Row[]>`
    select participant, smp_id, state, last_operation, outcome, code, operation_id is not null as under_way,
      migration_prepared_at, changed_at
    from registration
    where participant_key > ${page.after} and (${page.state ?? null}::text is null or state = ${page.state ?? null})
    order by participant_key limit ${page.limit}`;
  return rows.map(rowOf);
}
