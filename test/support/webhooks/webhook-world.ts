/** Subscriptions, events and a deliverer on a database of its own: the parts that deliver, without a gateway. */
import { randomUUID } from "node:crypto";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import type { Metrics } from "../../../engine/base/metrics.js";
import type { AttemptPorts } from "../../../engine/events/webhooks/attempt.js";
import { startDeliverer } from "../../../engine/events/webhooks/deliverer.js";
import type { Deliverer } from "../../../engine/events/webhooks/deliverer.js";
import {
  changeSubscription,
  createSubscription,
  deleteSubscription,
  rotateSubscriptionSecret,
} from "../../../engine/events/webhooks/subscriptions.js";
import type { MadeSubscription } from "../../../engine/events/webhooks/subscriptions.js";
import { OPERATOR } from "../../../engine/identity/audit.js";
import { createFirm } from "../../../engine/identity/firms.js";
import type { FeedKind } from "../../../engine/lifecycle/feed.js";
import { createHttpClient } from "../../../engine/peppol/network/http.js";
import type { Resolve } from "../../../engine/peppol/network/outbound-address.js";
import { fanOutFeed } from "../../../engine/storage/events/fan-out.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { eventually } from "../eventually.js";
import { freshDatabase } from "../database/postgres.js";
import type { TestDatabase } from "../database/postgres.js";

const policy = { allowLoopback: true, ownOrigins: [] };
const sealer = createSealer([Buffer.alloc(32, 7)]);

/** One row of webhook_delivery as tests look at it. */
export interface DeliveryState {
  readonly id: string;
  readonly eventId: string;
  readonly status: string;
  readonly attempts: number;
  readonly cause: string | null;
  readonly responseStatus: number | null;
  readonly wait_s: number | null;
  readonly leased: boolean;
}

/** What a process of a test has of its own. */
type Overridden = "owner" | "sql" | "sealer" | "clock" | "timeout_ms" | "log" | "onGivenBack";

interface WorldPorts extends Partial<Pick<AttemptPorts, Overridden>> {
  readonly resolve?: Resolve;
}

/** A world in which a test makes events happen. */
export interface WebhookWorld {
  readonly db: TestDatabase;
  readonly metrics: Metrics;
  firm(): Promise<FirmId>;
  subscribe(
    firmId: FirmId,
    url: string | null,
    options?: {
      readonly events?: readonly FeedKind[];
      readonly integratorId?: IntegratorId;
      readonly resolve?: Resolve;
    },
  ): Promise<MadeSubscription>;
  /** @returns the new secret */
  rotate(firmId: FirmId, subscriptionId: string): Promise<string>;
  /** Makes an event happen; of a document of its own unless one is named. @returns its id */
  happen(firmId: FirmId, kind?: FeedKind, documentId?: string): Promise<string>;
  /** Makes events of one document happen at once. @returns their ids, in their order */
  happenTogether(firmId: FirmId, kinds: readonly FeedKind[], documentId?: string): Promise<string[]>;
  /** What attempts need, with a client of its own that ends with the world. */
  ports(options?: WorldPorts): AttemptPorts;
  /** Starts one more deliverer, as another process would have. */
  deliver(options?: WorldPorts): Deliverer;
  /** Changes a subscription as its owner does. */
  change(
    firmId: FirmId,
    subscriptionId: string,
    changes: { readonly url?: string | null; readonly isActive?: boolean },
  ): Promise<unknown>;
  /** Ends a subscription as its owner does. */
  remove(firmId: FirmId, subscriptionId: string): Promise<void>;
  /** Makes deliveries of all that has happened. */
  queue(): Promise<void>;
  states(subscriptionId: string): Promise<DeliveryState[]>;
  /** Lets every wait end, as time does. */
  passTime(): Promise<void>;
  end(): Promise<void>;
}

/** Events behind the place of the deliveries, whether a reader may see them yet or not. */
async function unread(sql: Sql): Promise<number> {
  const [row] = await sql<{ readonly n: number }[]>`
    select count(*)::integer as n from document_event as e join feed_consumer as c on c.name = 'webhooks'
    where e.feed and (e.transaction_id, e.position) > (c.transaction_id, c.position)`;
  return row?.n ?? 0;
}

/** Makes a world on a fresh database. */
export async function webhookWorld(): Promise<WebhookWorld> {
  const db = await freshDatabase();
  const metrics = createMetrics();
  const undo: (() => Promise<unknown>)[] = [];
  const { sql } = db;
  const ports = ({ resolve, ...options }: WorldPorts = {}): AttemptPorts => {
    const client = createHttpClient({ policy, ...(resolve === undefined ? {} : { resolve }) });
    undo.push(() => Promise.resolve(client.close()));
    const own = { sql, sealer, http: client.request, clock: systemClock, log: silentLog, metrics, owner: "node/1" };
    return { ...own, ...options };
  };
  return {
    db,
    metrics,
    firm: () => createFirm({ sql, clock: systemClock }, { name: "Pekáreň s. r. o.", sandbox: true }),
    subscribe: (firmId, url, { events, integratorId, resolve } = {}) =>
      createSubscription(
        { sql, sealer, clock: systemClock, addresses: { policy, ...(resolve === undefined ? {} : { resolve }) } },
        { firmId, integratorId },
        { url, events: events ?? ["document.sent", "document.delivered"], isActive: undefined },
        OPERATOR,
      ),
    rotate: async (firmId, id) => {
      const named = { owner: { firmId, integratorId: undefined }, id };
      return (await rotateSubscriptionSecret({ sql, sealer, clock: systemClock }, named, OPERATOR)).secret;
    },
    happen: async (firmId, kind = "document.delivered", documentId = randomUUID()) => {
      const id = randomUUID();
      await sql`
        insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
        values (${id}, ${documentId}, ${firmId}, ${kind}, 'system', true, now())`;
      return id;
    },
    happenTogether: async (firmId, kinds, documentId = randomUUID()) => {
      const ids = kinds.map(() => randomUUID());
      await sql`
        insert into document_event (id, document_id, firm_id, kind, actor, feed, occurred_at)
        select e.id, ${documentId}, ${firmId}, e.kind, 'system', true, now()
        from unnest(${ids}::uuid[], ${[...kinds]}::text[]) with ordinality as e (id, kind, n) order by e.n`;
      return ids;
    },
    change: (firmId, id, { url, isActive }) =>
      changeSubscription(
        { sql, sealer, clock: systemClock, addresses: { policy } },
        { owner: { firmId, integratorId: undefined }, id },
        { url, events: undefined, isActive },
        OPERATOR,
      ),
    remove: (firmId, id) =>
      deleteSubscription({ sql, clock: systemClock }, { owner: { firmId, integratorId: undefined }, id }, OPERATOR),
    // Tests share a server, where a transaction of another database holds the feed back for a moment.
    queue: async () => {
      await eventually("all that happened is queued", async () => {
        await fanOutFeed(sql);
        return (await unread(sql)) === 0;
      });
    },
    ports,
    deliver: (options) => {
      const deliverer = startDeliverer(ports(options));
      undo.push(() => deliverer.stop());
      return deliverer;
    },
    states: (id) => sql<DeliveryState[]>`
      select id, event_id as "eventId", status, attempts, cause, response_status as "responseStatus",
        lease_owner is not null as leased,
        case when isfinite(due_at) then extract(epoch from due_at - attempted_at)::float8 end as "wait_s"
      from webhook_delivery where subscription_id = ${id} order by position`,
    passTime: async () => {
      await sql`update webhook_endpoint set rest_until = null`;
      await sql`update webhook_delivery set due_at = now()
        where lease_owner is null and due_at is not null and isfinite(due_at)`;
    },
    end: async () => {
      for (const step of undo.splice(0).reverse()) await step();
      await db.drop();
    },
  };
}
