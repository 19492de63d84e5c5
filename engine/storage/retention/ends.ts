/** What ends the rows of every table, and after how long. A test compares the list with the schema. */
import { LIMITS } from "../../base/limits.js";

/** `swept`: removed by `sweepTable` when it is so old. */
interface Swept {
  readonly end: "swept";
  readonly kept_ms: number;
  /** From when the time counts, and what else must be so. */
  readonly since: string;
}

type RowEnd =
  | Swept
  /** Removed by a function of the part of the engine that writes them, or one of the database. */
  | { readonly end: "pruned"; readonly by: string }
  /** Removed by the statement that removes a row of another table. */
  | { readonly end: "with"; readonly table: string }
  /** Work that waits: removed by whoever has done it. */
  | { readonly end: "taken"; readonly by: string }
  /** As many as there are of something else, whatever the time. */
  | { readonly end: "bounded"; readonly by: string };

const archived = (since: string): Swept => ({ end: "swept", kept_ms: LIMITS.archive_kept_ms, since });
const ended = (since: string): Swept => ({ end: "swept", kept_ms: LIMITS.ended_kept_ms, since });
const withRow = (table: string): RowEnd => ({ end: "with", table });
const bounded = (by: string): RowEnd => ({ end: "bounded", by });
const pruned = (by: string): RowEnd => ({ end: "pruned", by });

/** Tables with a sweep, in the order in which they are swept: what refers to a row goes before it. */
export const SWEPT = {
  service_message: archived("its making, when it has ended and its evidence is gone"),
  inbound_status: archived("its receipt, when its evidence is gone"),
  document: archived("its acceptance, when it has ended and its evidence and every status about it are gone"),
  received_document: archived("its receipt, when its evidence is gone"),
  exchange: archived("the exchange"),
  usage_month: archived("the end of the month"),
  registration_operation: ended("its end"),
  white_label_operation: ended("its end, when no participant rests on it; one that nobody vouches for is ended"),
  onboarding_request: ended("its last change, unless it is active"),
  pfs_confirmation: { end: "swept", kept_ms: LIMITS.confirmation_kept_ms, since: "its receipt, when nothing used it" },
  api_key: ended("its deactivation, when no offer and no sign-in names it"),
  signing_key: ended("its last signature, when there is a later one"),
  person: ended("the first sign-in, when there is no office, no session and no code"),
} as const satisfies Readonly<Record<string, Swept>>;
export type SweptTable = keyof typeof SWEPT;

/** Every table of the schema. */
export const ROW_ENDS: Readonly<Record<string, RowEnd>> = {
  ...SWEPT,
  document_attempt: withRow("document"),
  // That of an import goes with the received document.
  document_event: withRow("document"),
  document_history: withRow("document"),
  document_mark: withRow("document"),
  payload: withRow("document"),
  payload_moved: withRow("document"),
  stored_payload: bounded("nothing of its own: a view of the two"),
  payload_announced: pruned("movePayloads"),
  payload_leftover: pruned("movePayloads"),
  // That of an answer goes with the status.
  mls_duty: withRow("received_document"),
  service_attempt: withRow("service_message"),
  report_submission: withRow("service_message"),
  onboarding_history: withRow("onboarding_request"),
  box_item: pruned("deleteExpiredBoxItems"),
  box_event: withRow("box_item"),
  box_payload: withRow("box_item"),
  audit_entry: pruned("pruneAudit"),
  consent_offer: pruned("pruneOffers"),
  failed_credential: pruned("pruneFailures"),
  metered_event: pruned("pruneMetered"),
  oauth_code: pruned("pruneOAuthCodes"),
  console_session: pruned("pruneConsoleSessions"),
  person_session: pruned("pruneSessions"),
  rate_window: pruned("pruneRates"),
  refresh_family: pruned("pruneRefreshFamilies"),
  revoked_token: pruned("pruneRevokedTokens"),
  sign_in: pruned("pruneSignIns"),
  sign_in_place: pruned("pruneSignInPlaces"),
  webhook_delivery: pruned("pruneDeliveries"),
  webhook_attempt: withRow("webhook_delivery"),
  connector_request: pruned("pruneDeliveries"),
  webhook_subscription: withRow("webhook_delivery"),
  webhook_endpoint: withRow("webhook_subscription"),
  dispatcher: pruned("free_dead"),
  node: pruned("beatNode"),
  evidence: pruned("removeOldEvidence"),
  evidence_leftover: pruned("forgetLeftovers"),
  evidence_tombstone: bounded("the evidence that there ever was, by LIMITS.evidence_buried_at_once"),
  outbox: { end: "taken", by: "the relay" },
  stream_message: { end: "taken", by: "its consumer" },
  stream_consumer: bounded("the consumers that the engine has names for"),
  feed_consumer: bounded("the consumers that the engine has names for"),
  document_tally: bounded("the states, times the most transactions that ever ended documents at once"),
  evidence_head: bounded("one row"),
  schema_migration: bounded("the files of migrations"),
  firm: bounded("the firms"),
  firm_key_store: bounded("one row"),
  firm_key_made: bounded("the firms that have ever had a key"),
  firm_binding: bounded("a firm and an integrator"),
  firm_plan: bounded("the firms"),
  integrator: bounded("the integrators"),
  master_key: bounded("the master keys that there were: evidence is sealed under each of them"),
  mapper_template: bounded("an integrator, LIMITS.mapper_templates_max"),
  membership: bounded("a person and an office"),
  oauth_client: bounded("the programs that an operator has let in"),
  participant: bounded("the participants"),
  participant_capability: bounded("a participant and a document type"),
  registration: bounded("the participants"),
  white_label_customer: bounded("an integrator and a company"),
  white_label_participant: bounded("the participants"),
};
