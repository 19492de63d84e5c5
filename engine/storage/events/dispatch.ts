/** Statements of delivery: deliveries are taken, and what became of them is written. */
import type { FirmId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { ConnectorEventType } from "../../lifecycle/connector.js";
import type { OutboundState, OutboundTrigger } from "../../lifecycle/document.js";
import type { FeedKind } from "../../lifecycle/feed.js";
import { batched, inOrder } from "../batched.js";
import { shownFacts, withShown } from "../keyring/facts.js";
import type { ShownFacts } from "../keyring/facts.js";
import { openedWords } from "../keyring/words.js";
import type { Json, Sql } from "../sql.js";
import { answerBefore, openedAnswer } from "./answers.js";
import type { StoodAnswer } from "./answers.js";
import { completeReports } from "./attempts.js";
import type { AttemptReport } from "./attempts.js";
import { giveBack, unlessAway } from "./unopened.js";
import type { OnGivenBack } from "./unopened.js";

/** What an envelope is made of: all of it stays as it is, so that every attempt and pull says the same. */
export interface MessageRow {
  readonly deliveryId: string;
  readonly subscriptionId: string;
  readonly firmId: FirmId;
  readonly eventId: string;
  readonly event: FeedKind;
  readonly documentId: string;
  readonly occurredAt: Date;
  readonly createdAt: Date;
  /** The members of an event that never happened; null for one that did. */
  readonly testData: Json;
  /** Null where the document is gone, and for events that never happened. */
  readonly documentTypeId: string | null;
  readonly sender: string | null;
  readonly receiver: string | null;
  readonly as4MessageId: string | null;
  readonly number: string | null;
  readonly amount: string | null;
  readonly currency: string | null;
  readonly issueDate: string | null;
  readonly dueDate: string | null;
  readonly statusReason: string | null;
  /** Of an outbound document, oldest first; null for events that are not one of KINDS_WITH_HISTORY. */
  readonly history:
    | readonly { readonly status: OutboundState; readonly trigger: OutboundTrigger | "accepted" }[]
    | null;
  readonly detail: string | null;
  readonly meta: Json;
}

/** What can happen to a document that was answered before, in the Connector's words. */
const EVENTS_WITH_ANSWER: readonly ConnectorEventType[] = ["document.processed", "document.failed"];

/** The answer beside an event of the Connector, of rows that `messageJoins` has joined; others are not looked up. */
export const answerColumn = (sql: Sql) => sql`
  case when d.customer_ref is not null and d.event = any (${[...EVENTS_WITH_ANSWER]}::text[])
    then ${answerBefore(sql, { document: sql`e.document_id`, position: sql`e.position`, at: sql`e.occurred_at` })}
  end as "storedAnswer"`;

/** An answer as `answerColumn` gives it. */
export interface StoredAnswer {
  readonly storedAnswer: Json;
}

/** Events that tell of the step that led to them, and of the status before it, which only the history knows. */
export const KINDS_WITH_HISTORY: readonly FeedKind[] = [
  "document.delivery_failed",
  "document.rejected",
  "document.mls_received",
];

/** The columns of a MessageRow, of rows of webhook_delivery named d that `messageJoins` has joined. */
export const messageColumns = (sql: Sql) => sql`
  d.id as "deliveryId", d.subscription_id as "subscriptionId", d.firm_id as "firmId", d.event_id as "eventId", d.event,
  d.document_id as "documentId", d.occurred_at as "occurredAt", d.created_at as "createdAt", d.test_data as "testData",
  coalesce(o.document_type_id, r.document_type_id) as "documentTypeId", coalesce(o.sender, r.sender) as sender,
  coalesce(o.receiver, r.receiver) as receiver, coalesce(o.as4_message_id, r.as4_message_id) as "as4MessageId",
  coalesce(o.facts, r.facts) as facts, o.status_reason as "statusReason",
  case when d.event = any (${[...KINDS_WITH_HISTORY]}::text[]) then (
    select jsonb_agg(jsonb_build_object('status', h.status, 'trigger', h.trigger) order by h.version)
    from document_history as h where h.document_id = o.id
  ) end as history, e.detail, e.meta`;

/** What a message says of the facts of its document. */
type MessageFacts = Omit<ShownFacts, "total"> & {
  /** BT-115, the exact decimal text. */
  readonly amount: string | null;
};

/** A row of messageColumns as a statement gives it: with the facts as they are stored in the place of what they say. */
export type StoredMessage<Row extends MessageFacts> = Row extends unknown
  ? Omit<Row, keyof MessageFacts | "answer"> & { readonly facts: unknown }
  : never;

/** What a message is shown with, as it is stored. */
type Stored = Pick<MessageRow, "documentId" | "eventId" | "detail" | "meta"> & { readonly facts: unknown };

/**
 * A row of messageColumns with what its document's facts and its words say.
 * @param shown  what the facts of its document show, where several rows are of one
 * @throws Refusal TEMPORARY while the key that they need is away
 */
export function messageOf<Row extends Stored>(
  sql: Sql,
  row: Row,
  shown: ShownFacts = shownFacts(sql, row.documentId, row.facts),
): Row & MessageFacts {
  const { number, issueDate, dueDate, currency, total: amount } = shown;
  const { detail, meta } = openedWords(sql, row.eventId, row);
  return withShown(row, { number, issueDate, dueDate, currency, amount, detail, meta });
}

/** Events whose document was received. */
const OF_RECEIVED: readonly (FeedKind | ConnectorEventType)[] = ["document.received", "document.processed"];

/** What a MessageRow is read from, beside rows of webhook_delivery named d. */
export const messageJoins = (sql: Sql) => sql`
  left join document as o on o.id = d.document_id and d.event <> all (${[...OF_RECEIVED]}::text[])
    and d.test_data is null
  left join received_document as r on r.id = d.document_id and d.event = any (${[...OF_RECEIVED]}::text[])
    and d.test_data is null
  left join document_event as e on e.id = d.event_id and d.event <> 'document.received' and d.test_data is null`;

/** What a receiver is asked to do with an event that never happened. @source spec/rulings.md, section 11, Webhook */
export const TEST_SCENARIOS = [
  "success",
  "deduplication",
  "retry_503",
  "rate_limit_429",
  "terminal_422",
  "timeout",
  "signature",
] as const;
/** One scenario of a test. */
export type TestScenario = (typeof TEST_SCENARIOS)[number];

interface Claim extends Omit<MessageRow, "event"> {
  /** The answer to the document that stood at an event of the Connector. */
  readonly answer: StoodAnswer | null;
  readonly endpointId: string;
  /** Whose share of the places it takes: the integrator's, else the firm's. */
  readonly ownerId: string;
  /** From 1; an attempt that was cut off is made again under its number. */
  readonly attempt: number;
  readonly url: string;
  readonly secretKeyId: string;
  readonly secretSealed: Buffer;
  /** The secret before, while it signs too. */
  readonly oldSecretKeyId: string | null;
  readonly oldSecretSealed: Buffer | null;
  /** False where the integrator's consent has ended since. */
  readonly allowed: boolean;
  /** Whether so many attempts in a row have not ended that no other is made. */
  readonly cutOff: boolean;
  /** Why what waited at its subscription ends; null where it does not. */
  readonly ending: string | null;
  /** Null for whatever happened, and for tests of the Enterprise interface. */
  readonly scenario: TestScenario | null;
}

/** A delivery of the Connector: it has the integrator's name for the firm. */
export type ConnectorClaim = Claim & { readonly customerRef: string; readonly event: ConnectorEventType };

/** A delivery under lease, with all that its attempt needs. */
export type ClaimedDelivery = ConnectorClaim | (Claim & { readonly customerRef: null; readonly event: FeedKind });

/** The columns of a ClaimedDelivery, of rows named d and s that `messageJoins` has joined. */
export const claimedColumns = (sql: Sql) => sql`
  ${messageColumns(sql)}, ${answerColumn(sql)}, d.endpoint_id as "endpointId", d.owner_id as "ownerId",
  d.attempts + 1 as attempt, s.url, s.secret_key_id as "secretKeyId",
  s.secret_sealed as "secretSealed",
  case when s.old_secret_until > now() then s.old_secret_key_id end as "oldSecretKeyId",
  case when s.old_secret_until > now() then s.old_secret_sealed end as "oldSecretSealed",
  case when s.firm_id is null then connector_is_told(s.integrator_id, d.firm_id)
    when s.integrator_id is null then true else webhook_is_allowed(s.integrator_id, s.firm_id) end as allowed,
  d.begun > ${LIMITS.webhook_begun_max} as "cutOff",
  case when d.position <= s.ending_to then s.ending end as ending, d.customer_ref as "customerRef", d.scenario`;

/** A claim as a statement gives it. */
export type StoredClaim<Row extends ClaimedDelivery> = StoredMessage<Row> & StoredAnswer;

/** A row of claimedColumns with what its document's facts and answer say. @throws Refusal as messageOf does */
export const claimOf = <Row extends Stored & StoredAnswer>(
  sql: Sql,
  row: Row,
): Row & MessageFacts & Pick<Claim, "answer"> => {
  const answer = openedAnswer(sql, row.storedAnswer);
  return Object.assign(messageOf(sql, row), { answer });
};

/**
 * Takes due deliveries under lease: of each endpoint as many as it has places, the oldest first, one of each endpoint
 * before a second of any, and of no owner more than its share, the last LIMITS.webhook_owner_first of which are for
 * endpoints that have nothing under lease. An endpoint that has failed LIMITS.webhook_breaker_failures times in a row
 * has one place, and none while it rests. Processes take turns, so that these bounds hold over all of them. What is
 * taken is read by a second statement: the first sees urls, secrets and consents as they were before it had its turn.
 * What does not open for now is given back.
 * @param places  at most
 */
export async function claimDeliveries(
  sql: Sql,
  owner: string,
  places: number,
  onGivenBack?: OnGivenBack,
): Promise<ClaimedDelivery[]> {
  const taken = await sql<{ readonly id: string }[]>`
    with chosen as materialized (
      select w.id, w.endpoint_id from due_webhooks(
        ${places}, ${LIMITS.webhook_per_endpoint}, ${LIMITS.webhook_per_owner}, ${LIMITS.webhook_owner_first},
        ${LIMITS.webhook_breaker_failures}
      ) as w
    ), held as materialized (
      select h.id from chosen cross join lateral (
        select d.id from webhook_delivery as d
        where d.id = chosen.id and case when d.due_at <= now() then d.endpoint_id = chosen.endpoint_id end
        for update skip locked
      ) as h
    )
    update webhook_delivery as d
    set lease_owner = ${owner}, attempted_at = clock_timestamp(), begun = d.begun + 1,
      due_at = clock_timestamp() + ${LIMITS.webhook_lease_ms}::integer * interval '1 millisecond'
    from held where d.id = held.id
    returning d.id`;
  if (taken.length === 0) return [];
  const unopened: StoredClaim<ClaimedDelivery>[] = [];
  const claimed: ClaimedDelivery[] = [];
  for (const row of await leasedRows(sql, owner, taken)) {
    const claim = unlessAway(() => claimOf(sql, row));
    if (claim === undefined) unopened.push(row);
    else claimed.push(claim);
  }
  await giveBack(sql, owner, unopened, onGivenBack);
  return claimed;
}

/** Those that are still under this lease. As in takenChains, no condition but that on the ids has an index. */
const leasedRows = (sql: Sql, owner: string, taken: readonly { readonly id: string }[]) =>
  sql<StoredClaim<ClaimedDelivery>[]>`
    select ${claimedColumns(sql)}
    from webhook_delivery as d join webhook_subscription as s on s.id = d.subscription_id
    ${messageJoins(sql)}
    where d.id = any (${taken.map(({ id }) => id)}::uuid[]) and case when d.lease_owner = ${owner} then true end
    order by d.place`;

/** What a look at what nobody is at has found. */
interface Freed {
  readonly freed: number;
  /** Whether deliveries are left to end of subscriptions that were switched off or deleted. */
  readonly isMarked: boolean;
}

/** Frees leases that nobody works on: this process's own, but for what it works on, and those of dead processes. */
export async function freeDeliveries(sql: Sql, owner: string, working: readonly string[]): Promise<Freed> {
  const [row] = await sql<Freed[]>`
    select free_webhook_leases(${owner}, ${[...working]}::uuid[], ${LIMITS.lease_young_ms},
      ${LIMITS.dispatcher_dead_ms}) as freed,
      exists (select 1 from webhook_subscription as s where s.ending is not null) as "isMarked"`;
  return row ?? { freed: 0, isMarked: false };
}

/**
 * Ends the next of those deliveries that waited at a subscription when it was switched off or deleted.
 * @returns whether more may be left
 */
export async function endMarkedDeliveries(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ readonly more: boolean }[]>`
    select end_webhooks_further(${LIMITS.webhook_end_batch}) as more`;
  return row?.more === true;
}

/** What an end says of the endpoint: that it answers, that it does not, or nothing. */
export type EndpointHealth = "well" | "ill" | "unknown";

/** What became of one attempt. */
export interface DeliveryEnd {
  readonly id: string;
  readonly owner: string;
  readonly attempt: number;
  readonly status: "SUCCESS" | "RETRYING" | "FAILED";
  /** Until the next attempt; undefined when there is none. */
  readonly wait_ms: number | undefined;
  readonly responseStatus: number | undefined;
  /** The beginning of the answer. */
  readonly responseBody: string | undefined;
  readonly cause: string | undefined;
  readonly health: EndpointHealth;
  /** What is kept of an attempt at a delivery of the Connector; undefined for the others. */
  readonly report?: AttemptReport | undefined;
  /** Whether nothing waits for its place, so that it may be written with ends that come soon. @default false */
  readonly hasTime?: boolean;
}

/** What the ends of a chain of attempts brought about. */
export interface Settled {
  /** Whether the subscription has failed for LIMITS.webhook_failing_ms without a break. */
  readonly failing: boolean;
  /** Whether something that waited behind these deliveries, or behind others of the same statement, is due now. */
  readonly freed: boolean;
}

/**
 * Writes what became of attempts that were made in a row at events of one document, all under the lease of the first.
 * The call returns undefined when that lease was lost: then nothing is written.
 */
export const settleDeliveries = batched<readonly [DeliveryEnd, ...DeliveryEnd[]], Settled | undefined>(
  async (sql, chains) => {
    const ends = chains.flat();
    const column = <K extends keyof DeliveryEnd>(name: K): (Exclude<DeliveryEnd[K], undefined> | null)[] =>
      ends.map((end) => (end[name] ?? null) as Exclude<DeliveryEnd[K], undefined> | null);
    const heads = chains.flatMap((chain) => chain.map(() => chain[0].id));
    const settled = sql`
      select n, failing, freed
      from settle_webhooks(
        ${column("owner")}::text[], ${heads}::uuid[], ${column("id")}::uuid[], ${column("attempt")}::integer[],
        ${column("status")}::text[], ${column("wait_ms")}::bigint[], ${column("responseStatus")}::integer[],
        ${column("responseBody")}::text[], ${column("cause")}::text[], ${column("health")}::text[],
        ${LIMITS.webhook_breaker_failures}, ${LIMITS.webhook_rest_ms}, ${LIMITS.webhook_rest_max_ms},
        ${LIMITS.webhook_failing_ms}
      )`;
    const rows = ends.every(({ report }) => report === undefined)
      ? await sql<SettledRow[]>`${settled}`
      : await sql<SettledRow[]>`
          with settled as materialized (${settled}), ${completeReports(sql, ends)}
          select n, failing, freed from settled`;
    const answers = inOrder(ends, rows, ({ failing, freed }): Settled => ({ failing, freed }));
    const firsts = chains.map((_, at) => chains.slice(0, at).reduce((sum, chain) => sum + chain.length, 0));
    return chains.map((chain, at) => {
      const own = answers.slice(firsts[at], (firsts[at] ?? 0) + chain.length).filter((answer) => answer !== undefined);
      return own.length === 0
        ? undefined
        : { failing: own.some(({ failing }) => failing), freed: own.some(({ freed }) => freed) };
    });
  },
  {
    max: LIMITS.webhook_settle_batch,
    key: ([{ id }]) => id,
    gathering: {
      time_ms: LIMITS.webhook_settle_gather_ms,
      hasTime: (ends) => ends.every(({ hasTime }) => hasTime === true),
    },
  },
);

interface SettledRow extends Settled {
  readonly n: string;
}

/** Gives back what earlier processes of a node have under lease. */
export async function releaseDeliveries(sql: Sql, node: string): Promise<void> {
  await sql`select release_webhooks(${node})`;
}

/**
 * For gauges: how old the oldest event is that has not become deliveries, in seconds. It reads the rows and not the
 * feed, which shows nothing behind a transaction that stays open: what waits for its end is what the gauge is there to
 * tell.
 */
export async function feedLag(sql: Sql): Promise<number> {
  const [row] = await sql<{ readonly lag_s: number }[]>`
    select coalesce(extract(epoch from now() - (
      select min(f.occurred_at) from feed_consumer as c
      cross join lateral (
        (
          select e.occurred_at from document_event as e
          where (e.feed or e.kind = 'document.queued')
            and (e.transaction_id, e.position) > (c.transaction_id, c.position)
          order by e.transaction_id, e.position limit 1
        )
        union all
        (
          select r.received_at from received_document as r
          where r.feed_position is not null
            and (r.feed_transaction_id, r.feed_position) > (c.transaction_id, c.position)
          order by r.feed_transaction_id, r.feed_position limit 1
        )
      ) as f (occurred_at)
      where c.name = 'webhooks' or (c.name = 'connector' and exists (
        select 1 from webhook_subscription as s where s.firm_id is null and s.deleted_at is null and s.active
      ))
    )), 0)::float8 as lag_s`;
  return Math.max(0, row?.lag_s ?? 0);
}

/** For gauges: how long the oldest due delivery waits, in seconds, and how many endpoints rest. */
export async function censusOfDeliveries(
  sql: Sql,
): Promise<{ readonly oldestDue_s: number; readonly resting: number }> {
  const [row] = await sql<{ readonly oldestDue_s: number; readonly resting: number }[]>`
    select coalesce(extract(epoch from now() - (
        select min(d.due_at) from webhook_endpoint as w cross join lateral (
          select due_at from webhook_delivery where endpoint_id = w.id and due_at is not null order by due_at limit 1
        ) as d where (w.rest_until is null or w.rest_until <= now()) and d.due_at <= now()
      )), 0)::float8 as "oldestDue_s",
      (select count(*)::integer from webhook_endpoint where rest_until > now()) as resting`;
  return row ?? { oldestDue_s: 0, resting: 0 };
}
