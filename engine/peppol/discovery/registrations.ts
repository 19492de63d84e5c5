/**
 * Registers participants in the network and takes them out of it. Each operation is claimed in Postgres before the SML
 * hears of it, and its outcome is written afterwards. Where the outcome is not known, DNS is asked, which can prove it;
 * what DNS cannot prove waits for a person, and nothing is sent a second time to find out.
 * @source spec/rulings.md, section 12; design/as4.md, sections 10 and 11 (MLS-2)
 */
import type { Clock } from "../../base/clock.js";
import { newId, participantKey } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import {
  beginRegistration,
  endRegistration,
  findRegistration,
  settleRegistration,
} from "../../storage/registrations.js";
import type { RegistrationOperation, RegistrationRow, RegistrationState } from "../../storage/registrations.js";
import type { Sealer } from "../../storage/sealer.js";
import type { Sql } from "../../storage/sql.js";
import type { Sml } from "./sml.js";
import { newMigrationKey } from "./sml-registry.js";
import type { Registry, RegistryOutcome } from "./sml-registry.js";

/** What registering participants in the network needs of the engine. */
export interface NetworkRegistrationPorts {
  readonly sql: Sql;
  readonly sealer: Sealer;
  readonly registry: Registry;
  readonly sml: Sml;
  readonly clock: Clock;
  /** Id of our SMP in the SML. */
  readonly smpId: string;
  /** Where the network finds our SMP: what DNS names for our participants. */
  readonly smpUrl: string;
  /** Whether our SMP answers for a participant; the network must not be sent to one that does not. */
  readonly isPublished: (participant: ParticipantId) => Promise<boolean>;
}

/** Everything that can come of an operation. */
export const REGISTRATION_RESULTS = {
  /** What was asked for has been done. */
  done: { ok: true },
  /** It was done before, so that the SML was not asked. */
  already: { ok: true },
  /** The participant belongs to another SMP: it is taken over with a migration key. */
  conflict: { ok: false },
  /** The SML does not do it; `code` says why. Nothing has changed. */
  refused: { ok: false },
  /** The SML is away or has a fault of its own. Nothing has changed; later it may go. */
  unavailable: { ok: false },
  /** Nobody knows whether the SML did it. */
  manual_review: { ok: false },
  /** Another process is asking for this participant. */
  busy: { ok: false },
  /** Our SMP does not answer for this participant. */
  not_published: { ok: false },
  /** There is no registration to prepare a migration of, or to check. */
  not_registered: { ok: false },
} as const satisfies Record<string, { readonly ok: boolean }>;
/** How an operation on a registration can end. */
export type RegistrationResultKind = keyof typeof REGISTRATION_RESULTS;

/** How an operation on a registration ended, and what is recorded of the participant now. */
export interface RegistrationResult {
  readonly kind: RegistrationResultKind;
  /** Undefined when nothing is recorded of the participant. */
  readonly state: RegistrationState | undefined;
  /** Short, of closed sets: the SML's fault, an HTTP status, what DNS said. */
  readonly code: string | undefined;
  /** Of a prepared migration: for the SMP that takes the participant over. */
  readonly migrationKey?: string;
}

/** A state that leaves no question open, so that a person may set it. */
export type SettledState = Exclude<RegistrationState, "manual_review">;

/** An operation that asks the SML. */
export type RegistrationRequest =
  | { readonly operation: Exclude<RegistrationOperation, "migrate"> }
  /** `migrationKey`: what the SMP that gives the participant away has prepared. */
  | { readonly operation: "migrate"; readonly migrationKey: string };

/**
 * Registers, unregisters or migrates a participant. Safe to repeat: what is so already is not asked for again, and a
 * prepared migration keeps its key.
 */
export const changeRegistration = (
  ports: NetworkRegistrationPorts,
  participant: ParticipantId,
  request: RegistrationRequest,
): Promise<RegistrationResult> => {
  const { registry } = ports;
  switch (request.operation) {
    case "register":
      return run(ports, { operation: "register", participant, ask: () => registry.create(participant) });
    case "unregister":
      return run(ports, { operation: "unregister", participant, ask: () => registry.delete(participant) });
    case "prepare_migration":
      return run(ports, {
        operation: "prepare_migration",
        participant,
        ask: (key) => registry.prepareToMigrate(participant, key),
      });
    case "migrate":
      return run(ports, {
        operation: "migrate",
        participant,
        ask: () => registry.migrate(participant, request.migrationKey),
      });
  }
};

const WANTED = {
  register: "registered",
  unregister: "unregistered",
  prepare_migration: "registered",
  migrate: "registered",
} as const satisfies Record<RegistrationOperation, RegistrationState>;

/** The operations after which the network asks our SMP about the participant. */
const PUBLISHES: ReadonlySet<RegistrationOperation> = new Set(["register", "migrate"]);

interface Change {
  readonly operation: RegistrationOperation;
  readonly participant: ParticipantId;
  /** What the SML is asked; with the migration key to use, empty for the operations that make none. */
  readonly ask: (migrationKey: string) => Promise<RegistryOutcome>;
}

/**
 * Runs one operation in four steps: claims it in Postgres, asks the SML, judges the answer, writes what is known.
 * @param reviewed  the participant was under review a moment ago, and DNS has ended it
 */
async function run(ports: NetworkRegistrationPorts, change: Change, reviewed = false): Promise<RegistrationResult> {
  const { operation, participant, ask } = change;
  const { sql, sealer, clock, smpId } = ports;
  if (PUBLISHES.has(operation) && !(await ports.isPublished(participant)))
    return { kind: "not_published", state: undefined, code: undefined };
  const key = participantKey(participant);
  const id = newId(clock);
  const begun = await beginRegistration(sql, {
    id,
    key,
    participant,
    smpId,
    operation,
    now: clock.now(),
    lease_ms: LIMITS.registration_lease_ms,
    migrationKey:
      operation === "prepare_migration"
        ? { keyId: sealer.keyId, sealed: sealer.seal(Buffer.from(newMigrationKey()), migrationKeyContext(key)) }
        : undefined,
  });
  const migrationKey =
    begun.migrationKey === undefined
      ? ""
      : sealer.open(begun.migrationKey.keyId, begun.migrationKey.sealed, migrationKeyContext(key)).toString();
  const shown = operation === "prepare_migration" && migrationKey !== "" ? { migrationKey } : {};
  switch (begun.verdict) {
    case "settled":
      return { kind: "already", state: WANTED[operation], code: undefined, ...shown };
    case "busy":
      return { kind: "busy", state: undefined, code: undefined };
    case "not_registered":
      return { kind: "not_registered", state: "unregistered", code: undefined };
    case "in_review":
      return reviewed ? { kind: "manual_review", state: "manual_review", code: undefined } : afterReview(ports, change);
    case "begun":
      break;
  }
  const judged = await judge(ports, operation, participant, await ask(migrationKey));
  const state = await endRegistration(sql, {
    id,
    key,
    state: judged.state,
    outcome: judged.kind,
    code: judged.code,
    now: clock.now(),
  });
  // The claim had run out: another process found the unfinished operation and has put it under review.
  if (state === undefined) return { kind: "manual_review", state: "manual_review", code: judged.code };
  return {
    kind: judged.kind,
    state,
    code: judged.code,
    ...(judged.kind === "done" || judged.kind === "manual_review" ? shown : {}),
  };
}

/** A new operation on a participant under review: once DNS has said how it stands, what is left to do is done. */
async function afterReview(ports: NetworkRegistrationPorts, change: Change): Promise<RegistrationResult> {
  const found = await checkRegistration(ports, change.participant);
  return found.state === undefined || found.state === "manual_review" ? found : run(ports, change, true);
}

/** What the migration key of a participant is sealed for. */
export const migrationKeyContext = (key: string): string => `registration ${key}`;

interface Judged {
  readonly kind: RegistrationResultKind;
  /** Undefined where the recorded state stays as it is. */
  readonly state: RegistrationState | undefined;
  readonly code: string;
}

/** What an answer of the SML means; where it does not say enough, DNS is asked. */
async function judge(
  ports: NetworkRegistrationPorts,
  operation: RegistrationOperation,
  participant: ParticipantId,
  { kind, code }: RegistryOutcome,
): Promise<Judged> {
  const done = { kind: "done", state: WANTED[operation], code } as const;
  switch (kind) {
    case "done":
      return done;
    case "unreachable":
    case "internal_error":
      return { kind: "unavailable", state: undefined, code };
    case "unauthorized":
      return {
        kind: operation === "register" && (await holderOf(ports, participant)) === "other" ? "conflict" : "refused",
        state: undefined,
        code,
      };
    case "bad_request":
    case "not_found": {
      // What is asked for may be so already: our record is older than the network's, or an answer was lost.
      if (operation === "prepare_migration") return { kind: "refused", state: undefined, code };
      const holder = await holderOf(ports, participant);
      if (holder === (operation === "unregister" ? "nobody" : "us")) return done;
      if (operation === "unregister" && holder === "other") return { kind: "done", state: "unregistered", code };
      return { kind: operation === "register" && holder === "other" ? "conflict" : "refused", state: undefined, code };
    }
    case "unknown":
      return { ...(await proven(ports, operation, participant)), code };
  }
}

/** Judges an operation whose answer was lost by what DNS can prove. */
async function proven(
  ports: NetworkRegistrationPorts,
  operation: RegistrationOperation,
  participant: ParticipantId,
): Promise<Pick<Judged, "kind" | "state">> {
  const state = PROOFS[operation][await holderOf(ports, participant)];
  if (state === undefined) return { kind: "manual_review", state: "manual_review" };
  return { kind: state === WANTED[operation] ? "done" : operation === "register" ? "conflict" : "refused", state };
}

/** Who speaks for a participant according to DNS; `unknown` where DNS did not answer. */
type Holder = "us" | "other" | "nobody" | "unknown";

/** Who speaks for a participant, as DNS has it now. */
async function holderOf({ sml, smpUrl }: NetworkRegistrationPorts, participant: ParticipantId): Promise<Holder> {
  sml.forget(participant);
  const location = await sml.locate(participant);
  if (location.kind === "found") return placeOf(location.url) === placeOf(smpUrl) ? "us" : "other";
  return location.kind === "unregistered" ? "nobody" : "unknown";
}

/** Host and path of an SMP's address, because records may name it with either scheme. */
const placeOf = (url: string): string =>
  url
    .toLowerCase()
    .replace(/^https?:\/\//, "")
    .replace(/\/+$/, "");

/** Asks DNS who speaks for a participant, and writes down what that proves. Asks the SML nothing. */
export async function checkRegistration(
  ports: NetworkRegistrationPorts,
  participant: ParticipantId,
): Promise<RegistrationResult> {
  const { sql, clock } = ports;
  const key = participantKey(participant);
  const row = await findRegistration(sql, key);
  if (row === undefined) return { kind: "not_registered", state: undefined, code: undefined };
  const holder = await holderOf(ports, participant);
  const code = `dns_${holder}`;
  // What a process left behind when it died is as unknown as an answer that was lost.
  const state = stateBy(row.underWay ? { ...row, state: "manual_review" } : row, holder);
  const isNews = row.underWay || state !== row.state;
  if (
    isNews &&
    !(await settleRegistration(sql, {
      id: newId(clock),
      key,
      operation: "check",
      from: row.state,
      state,
      outcome: code,
      now: clock.now(),
    }))
  )
    return { kind: "busy", state: undefined, code };
  return { kind: state === "manual_review" ? "manual_review" : "done", state, code };
}

/**
 * What an operation whose answer was lost has done, by the holder that DNS names now. The holder from before the
 * operation proves nothing, because DNS may only be slow to change.
 */
const PROOFS: Readonly<Record<RegistrationOperation, Partial<Record<Holder, RegistrationState>>>> = {
  register: { us: "registered", other: "unregistered" },
  unregister: { nobody: "unregistered", other: "unregistered" },
  migrate: { us: "registered" },
  prepare_migration: { other: "unregistered" },
};

/** The state that a record and DNS together prove; the record's own where they do not. */
function stateBy({ state, lastOperation }: RegistrationRow, holder: Holder): RegistrationState {
  if (state === "manual_review") return PROOFS[lastOperation][holder] ?? state;
  // DNS overrules the record: another SMP has taken the participant over, or it was registered with our certificate by
  // somebody else.
  if (state === "registered" && holder === "other") return "unregistered";
  return state === "unregistered" && holder === "us" ? "registered" : state;
}

/** Writes down what a person has found out about a participant under review. */
export async function settleReview(
  { sql, clock }: NetworkRegistrationPorts,
  participant: ParticipantId,
  state: SettledState,
): Promise<RegistrationResult> {
  const row = await findRegistration(sql, participantKey(participant));
  if (row === undefined) return { kind: "not_registered", state: undefined, code: undefined };
  if (row.state !== "manual_review" && !row.underWay)
    return { kind: row.state === state ? "already" : "refused", state: row.state, code: "NOT_IN_REVIEW" };
  const written = await settleRegistration(sql, {
    id: newId(clock),
    key: participantKey(participant),
    operation: "settle",
    from: row.state,
    state,
    outcome: "settled",
    now: clock.now(),
  });
  return written ? { kind: "done", state, code: undefined } : { kind: "busy", state: undefined, code: undefined };
}
