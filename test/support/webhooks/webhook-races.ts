/**
 * Two statements about the deliveries of one subscription at the same time, in every order of their locks: the second
 * begins while the first has not committed, or both meet while a third transaction holds a row that one of them wants
 * next. Afterwards whatever is due is taken, and nothing may be lost, stuck, out of order or at a place that its
 * subscription has left.
 */
import { randomUUID } from "node:crypto";

import { systemClock } from "../../../engine/base/clock.js";
import type { FirmId } from "../../../engine/base/ids.js";
import { newId } from "../../../engine/base/ids.js";
import { claimDeliveries, freeDeliveries, settleDeliveries } from "../../../engine/storage/events/dispatch.js";
import type { DeliveryEnd } from "../../../engine/storage/events/dispatch.js";
import { fanOutFeed } from "../../../engine/storage/events/fan-out.js";
import { confirmEvents } from "../../../engine/storage/events/pulls.js";
import { insertTests, repeatDelivery } from "../../../engine/storage/events/repairs.js";
import {
  disableSubscription,
  removeSubscription,
  updateSubscription,
} from "../../../engine/storage/events/subscriptions.js";
import type { AuditStamp } from "../../../engine/storage/identity/audit.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { eventually } from "../eventually.js";
import type { WebhookWorld } from "./webhook-world.js";

const OWNER = "node/1";
const PLACES = 64;
const [HERE, ELSEWHERE] = ["http://127.0.0.1:9", "http://127.0.0.1:10"] as const;
const PLACE = `${HERE}/in`;
const ROUNDS_MAX = 20;

/**
 * A document whose first event is under the lease of a process, whose second waits behind it and whose third is in the
 * feed; and a dead letter of another document.
 */
interface Scene {
  readonly firm: FirmId;
  readonly subscription: string;
  readonly documentId: string;
  /** Events of the document, in their order. */
  readonly events: readonly string[];
  /** Deliveries. */
  readonly head: string;
  readonly behind: string;
  readonly dead: string;
}

type Act = (sql: Sql, scene: Scene) => PromiseLike<unknown>;

const stamp = (): AuditStamp => ({
  id: newId(systemClock),
  at: new Date(systemClock.now()).toISOString(),
  actorType: "system",
  actorId: null,
  ip: null,
  userAgent: null,
});

const namedOf = ({ firm, subscription }: Scene) => ({
  owner: { firmId: firm, integratorId: undefined },
  id: subscription,
});

const endOf = (id: string, change: Partial<DeliveryEnd> = {}): DeliveryEnd => ({
  ...{ id, owner: OWNER, attempt: 1, status: "SUCCESS", wait_ms: undefined, responseStatus: 200 },
  ...{ responseBody: undefined, cause: undefined, health: "well" },
  ...change,
});

const lead =
  (origin: string | null): Act =>
  (sql, scene) =>
    updateSubscription(
      sql,
      namedOf(scene),
      { url: origin === null ? null : `${origin}/in`, origin, events: undefined, isActive: undefined },
      stamp(),
    );

/** What can happen to deliveries, as the engine does it. */
export const ACTS: Readonly<Record<string, Act>> = {
  "the feed is read": (sql) => fanOutFeed(sql, { owner: "node/2", places: PLACES }),
  "the feed is read without places": (sql) => fanOutFeed(sql),
  "one is taken": (sql, { head }) => settleDeliveries(sql, [endOf(head)]),
  "a row of two is taken": (sql, { head, behind }) => settleDeliveries(sql, [endOf(head), endOf(behind)]),
  "one is tried again": (sql, { head }) =>
    settleDeliveries(sql, [endOf(head, { status: "RETRYING", wait_ms: 60_000, responseStatus: 503, health: "ill" })]),
  "one becomes a dead letter": (sql, { head }) =>
    settleDeliveries(sql, [endOf(head, { status: "FAILED", responseStatus: 404 })]),
  "what is due is claimed": (sql) => claimDeliveries(sql, "node/3", PLACES),
  "leases of the dead are freed": (sql) => freeDeliveries(sql, "node/4", []),
  "its receiver moves": lead(ELSEWHERE),
  "it is to be pulled": lead(null),
  "it is switched off": (sql, { subscription }) =>
    disableSubscription(sql, { subscriptionId: subscription, url: PLACE }, "gone", stamp()),
  "it is deleted": (sql, scene) => removeSubscription(sql, namedOf(scene), systemClock.now(), stamp()),
  "a dead letter is repeated": (sql, scene) => repeatDelivery(sql, namedOf(scene).owner, scene.dead),
  "it is tested": (sql, scene) =>
    insertTests(sql, namedOf(scene), {
      ...{ runId: randomUUID(), event: "document.delivered", sender: undefined },
      events: [{ id: randomUUID(), data: { document_id: randomUUID() } }],
    }),
  "what was taken is removed": (sql) => sql`select prune_webhooks(0, ${3_600_000}, 1000)`,
  "events are confirmed": (sql, scene) => confirmEvents(sql, namedOf(scene).owner, scene.events),
};

/** Rows that statements wait for, and the turn in which leases are given out. */
export const LOCKS: Readonly<Record<string, (sql: Sql, scene: Scene) => PromiseLike<unknown>>> = {
  "the subscription": (sql, { subscription }) =>
    sql`select 1 from webhook_subscription where id = ${subscription} for update`,
  "what is being sent": (sql, { head }) => sql`select 1 from webhook_delivery where id = ${head} for update`,
  "what waits behind": (sql, { behind }) => sql`select 1 from webhook_delivery where id = ${behind} for update`,
  "the dead letter": (sql, { dead }) => sql`select 1 from webhook_delivery where id = ${dead} for update`,
  "the endpoint": (sql, { subscription }) =>
    sql`select 1 from webhook_endpoint where id = (
      select endpoint_id from webhook_subscription where id = ${subscription}) for update`,
  "the turn": (sql) => sql`select begin_webhook_leases()`,
};

/** What a race is: the second act meets the first, which has not committed, or both meet at a lock. */
export interface Race {
  readonly first: string;
  readonly second: string;
  /** Undefined where the first is held before its commit. */
  readonly lock: string | undefined;
}

/** Every race there is. */
export const RACES: readonly Race[] = Object.keys(ACTS).flatMap((first) =>
  Object.keys(ACTS).flatMap((second) =>
    [undefined, ...Object.keys(LOCKS)].map((lock): Race => ({ first, second, lock })),
  ),
);

/** One connection, and what it is doing. */
interface Line {
  readonly sql: Sql;
  readonly pid: number;
}

async function openLine(url: string): Promise<Line> {
  const sql = openSql({ url, name: "test-race", connections: 1 });
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return { sql, pid: row?.pid ?? 0 };
}

/** A statement under way. */
interface Running {
  readonly line: Line;
  readonly done: Promise<unknown>;
  isDone: boolean;
}

function start(line: Line, act: () => PromiseLike<unknown>): Running {
  const running: Running = { line, isDone: false, done: Promise.resolve(act()) };
  const end = (): void => {
    running.isDone = true;
  };
  running.done.then(end, end);
  return running;
}

interface StoredRow {
  readonly eventId: string;
  readonly status: string;
  readonly isDue: boolean;
  readonly isLeased: boolean;
  readonly endpointId: string | null;
  readonly isRepeat: boolean;
  readonly isTest: boolean;
  readonly isSettled: boolean;
}

/** A world of races on one database; its connections end with `close`. */
export class Races {
  readonly #world: WebhookWorld;
  readonly #lines: readonly [Line, Line, Line];

  private constructor(world: WebhookWorld, lines: readonly [Line, Line, Line]) {
    this.#world = world;
    this.#lines = lines;
  }

  static async open(world: WebhookWorld): Promise<Races> {
    const { url } = world.db;
    return new Races(world, [await openLine(url), await openLine(url), await openLine(url)]);
  }

  async close(): Promise<void> {
    await Promise.all(this.#lines.map(({ sql }) => sql.end({ timeout: 1 })));
  }

  /** Lets a race happen. @returns what is wrong afterwards; nothing when all is well */
  async run(race: Race): Promise<string[]> {
    const scene = await this.#scene();
    const [{ sql: third }, firstLine, secondLine] = this.#lines;
    const act = (line: Line, name: string): Running => start(line, () => ACTS[name]?.(line.sql, scene) ?? never(name));
    const holder = race.lock === undefined ? firstLine.sql : third;
    await holder.unsafe("begin");
    if (race.lock !== undefined) await LOCKS[race.lock]?.(third, scene);
    const first = act(firstLine, race.first);
    await this.#untilItStands(first);
    const second = act(secondLine, race.second);
    await this.#untilItStands(second);
    await holder.unsafe("commit");
    const outcomes = await Promise.allSettled([first.done, second.done]);
    const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [String(outcome.reason)] : []));
    const wrong = await this.#wrong(scene, race);
    await this.#world.db.sql`delete from webhook_delivery`;
    await this.#world.db.sql`update webhook_subscription set active = false`;
    return [...refused, ...wrong];
  }

  async #scene(): Promise<Scene> {
    const { db, firm: makeFirm, subscribe, happenTogether } = this.#world;
    const firm = await makeFirm();
    const { id: subscription } = await subscribe(firm, PLACE);
    const documentId = randomUUID();
    const [given = ""] = await happenTogether(firm, ["document.sent"]);
    const two = await happenTogether(firm, ["document.sent", "document.delivered"], documentId);
    await this.#readable();
    await fanOutFeed(db.sql, { owner: OWNER, places: PLACES });
    const rows = await db.sql<{ id: string; eventId: string }[]>`
      update webhook_delivery set attempted_at = attempted_at - interval '1 hour' where subscription_id = ${subscription}
      returning id, event_id as "eventId"`;
    const deliveryOf = (eventId: string | undefined): string => rows.find((row) => row.eventId === eventId)?.id ?? "";
    const dead = deliveryOf(given);
    await settleDeliveries(db.sql, [endOf(dead, { status: "FAILED", responseStatus: 404 })]);
    const last = await happenTogether(firm, ["document.delivered"], documentId);
    await this.#readable();
    return {
      ...{ firm, subscription, documentId, dead, events: [...two, ...last] },
      ...{ head: deliveryOf(two[0]), behind: deliveryOf(two[1]) },
    };
  }

  /** Waits until a reader of the feed may see everything; other databases of the server hold it up for a moment. */
  async #readable(): Promise<void> {
    const { sql } = this.#world.db;
    await eventually("the feed may be read", async () => {
      const [row] = await sql<{ isSo: boolean }[]>`
        select coalesce(max(transaction_id) < pg_snapshot_xmin(pg_current_snapshot()), true) as "isSo"
        from document_event`;
      return row?.isSo === true;
    });
  }

  /** Waits until a statement has ended, or waits for a lock. */
  async #untilItStands(running: Running): Promise<void> {
    await eventually("it ends or waits", async () => {
      if (running.isDone) return true;
      const rows = await this.#world.db.sql`
        select 1 from pg_stat_activity where pid = ${running.line.pid} and wait_event_type = 'Lock'`;
      return rows.length > 0;
    });
  }

  /** Takes whatever is due, until nothing is. @returns the events of the document in the order in which they were sent */
  async #drain(scene: Scene): Promise<string[]> {
    const { sql } = this.#world.db;
    const sent: string[] = [];
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      await this.#readable();
      const { read } = await fanOutFeed(sql);
      await sql`update webhook_endpoint set rest_until = null`;
      await sql`update webhook_delivery set due_at = now() where due_at is not null and isfinite(due_at)`;
      const claimed = await claimDeliveries(sql, "drain/1", PLACES);
      const own = claimed.filter(({ documentId }) => documentId === scene.documentId);
      sent.push(...own.map(({ eventId }) => eventId));
      await Promise.all(
        claimed.map(({ deliveryId, attempt }) =>
          settleDeliveries(sql, [endOf(deliveryId, { owner: "drain/1", attempt })]),
        ),
      );
      if (read === 0 && claimed.length === 0) return sent;
    }
    return [...sent, "without end"];
  }

  #rows(scene: Scene): PromiseLike<StoredRow[]> {
    return this.#world.db.sql<StoredRow[]>`
      select event_id as "eventId", status, due_at is not null as "isDue", lease_owner is not null as "isLeased",
        endpoint_id as "endpointId", replay_of is not null as "isRepeat",
        test_run_id is not null as "isTest", settled_at is not null as "isSettled"
      from webhook_delivery where subscription_id = ${scene.subscription}`;
  }

  async #wrong(scene: Scene, race: Race): Promise<string[]> {
    const [subscription] = await this.#world.db.sql<{ isActive: boolean; endpointId: string | null }[]>`
      select active as "isActive", endpoint_id as "endpointId" from webhook_subscription where id = ${scene.subscription}`;
    const { isActive = false, endpointId = null } = subscription ?? {};
    const before = (await this.#rows(scene)).filter(({ isSettled }) => !isSettled);
    // A subscription that is switched off may still be tested.
    const stale = before.filter((row) => (!isActive && row.isDue && !row.isTest) || row.endpointId !== endpointId);
    const leased = before.filter((row) => row.isLeased && !row.isRepeat && scene.events.includes(row.eventId));
    const sent = [...sentBy(race, scene), ...(await this.#drain(scene))];
    const after = await this.#rows(scene);
    const isThere = (eventId: string): boolean =>
      sent.includes(eventId) ||
      after.some((row) => row.eventId === eventId && (row.isSettled || row.endpointId === null));
    const firsts = [...new Set(sent)].filter((id) => scene.events.includes(id));
    return [
      ...stale.map(({ eventId }) => `${eventId} is where its subscription is not`),
      ...(leased.length > 1 ? ["two events of a document are under lease"] : []),
      ...after.filter(({ isDue }) => isDue).map(({ eventId }) => `${eventId} waits for ever`),
      ...(isActive ? scene.events.filter((id) => !isThere(id)).map((id) => `${id} is lost`) : []),
      ...(firsts.join() === scene.events.filter((id) => firsts.includes(id)).join() ? [] : ["out of order"]),
      ...(sent.includes("without end") ? ["there is always something due"] : []),
    ];
  }
}

const never = (name: string): never => {
  throw new Error(`there is no act ${name}`);
};

/** Events that were sent before what came of it was written. */
const sentBy = ({ first, second }: Race, { events }: Scene): readonly string[] =>
  [first, second].includes("a row of two is taken")
    ? events.slice(0, 2)
    : [first, second].some((act) => act.startsWith("one "))
      ? events.slice(0, 1)
      : [];
