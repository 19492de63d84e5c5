/**
 * What two nodes on one database make of partners' commands that come at once: each race has one outcome, and what one
 * node has ended the other refuses at the next request.
 * @source design/reliability.md, A-03, A-04, A-12, C-12, C-13, F-11
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { FirmId } from "../../../engine/base/ids.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import type { Actor } from "../../../engine/identity/audit.js";
import type { Caller } from "../../../engine/identity/caller.js";
import { createFirm } from "../../../engine/identity/firms.js";
import type { Identity } from "../../../engine/identity/identity.js";
import type { CreatedKey } from "../../../engine/identity/keys.js";
import { openSql } from "../../../engine/storage/sql.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import {
  ADDRESS,
  bind,
  callerOf,
  login,
  makeFirm,
  makeIntegrator,
  makeKey,
  refusalOf,
  startNode,
} from "../../support/callers/identity.js";
import { overlap } from "../../support/database/overlap.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

const ACTOR: Actor = { type: "api_key", id: null, address: ADDRESS, userAgent: null };
const OWNER: Actor = { type: "user", id: "018f6a3e-0000-7000-8000-00000000aaaa", address: ADDRESS, userAgent: null };
const ANY_KEY = { name: undefined, scopes: undefined, ipAllowlist: undefined, scopedFirmId: undefined };

describe("two nodes", () => {
  let db: TestDatabase;
  let nodes: readonly [Identity, Identity];
  const clock = fakeClock();
  beforeAll(async () => {
    db = await freshDatabase();
    nodes = [await startNode(db, { clock }), await startNode(db, { clock })];
  });
  afterAll(async () => {
    for (const node of nodes) await node.stop();
    await db.drop();
  });

  const on = (turn: number): Identity => nodes[turn % 2 === 0 ? 0 : 1];
  const tokenFor = async (key: CreatedKey): Promise<string> => (await login(nodes[0], key, clock)).accessToken;
  const callerFor = async (key: CreatedKey): Promise<Caller> => callerOf(nodes[0], await tokenFor(key), clock);
  /** How often each outcome came: the name of a refusal, or "none". */
  const tally = async (works: readonly (() => Promise<unknown>)[]): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const outcome of await Promise.all(works.map(refusalOf))) counts[outcome] = (counts[outcome] ?? 0) + 1;
    return counts;
  };
  const times = (count: number, work: (turn: number) => Promise<unknown>): (() => Promise<unknown>)[] =>
    Array.from({ length: count }, (_, turn) => () => work(turn));

  test("fifty keys asked for at once where one has a place make exactly one", async () => {
    const { integratorId, key } = await makeIntegrator(db, clock);
    for (let i = 0; i < 3; i += 1) await makeKey(db, clock, { owner: { integratorId }, scopes: SCOPES });
    const caller = await callerFor(key);
    expect(await tally(times(50, (turn) => on(turn).issueKey(caller, ANY_KEY, ACTOR)))).toEqual({
      none: 1,
      KEY_LIMIT_REACHED: 49,
    });
  });

  test("two main keys that delete each other at once leave one", async () => {
    for (let round = 0; round < 10; round += 1) {
      const { integratorId, key } = await makeIntegrator(db, clock);
      const other = await makeKey(db, clock, { owner: { integratorId }, scopes: SCOPES });
      const [one, two] = [await callerFor(key), await callerFor(other)];
      const counts = await tally([
        () => nodes[0].endKey(one, { keyId: other.id, prefix: undefined }, ACTOR),
        () => nodes[1].endKey(two, { keyId: key.id, prefix: undefined }, ACTOR),
      ]);
      expect(counts).toEqual({ none: 1, KEY_CHANGED: 1 });
      expect(await db.sql`select 1 from api_key where integrator_id = ${integratorId} and active`).toHaveLength(1);
    }
  });

  test("a deleted key is refused by every node at its next request", async () => {
    const { integratorId, key } = await makeIntegrator(db, clock);
    const other = await makeKey(db, clock, { owner: { integratorId }, scopes: SCOPES });
    const token = await tokenFor(other);
    for (const node of nodes) expect((await callerOf(node, token, clock)).keyId).toBe(other.id);
    await nodes[0].endKey(await callerFor(key), { keyId: other.id, prefix: undefined }, ACTOR);
    for (const node of nodes) expect(await refusalOf(() => callerOf(node, token, clock))).toBe("TOKEN_INVALID");
  });

  test("one of ten rotations at once wins, among a hundred uses, and the old key is dead on every node when it is answered", async () => {
    const firm = await makeFirm(db, clock);
    const token = await tokenFor(firm.key);
    const caller = await callerFor(firm.key);
    const [rotations, uses] = await Promise.all([
      tally(times(10, (turn) => on(turn).rotateSecret(caller, ACTOR))),
      tally(times(100, (turn) => callerOf(on(turn), token, clock))),
    ]);
    expect(rotations).toEqual({ none: 1, KEY_CHANGED: 9 });
    expect(Object.keys(uses).filter((outcome) => outcome !== "none" && outcome !== "TOKEN_INVALID")).toEqual([]);
    for (const node of nodes) expect(await refusalOf(() => callerOf(node, token, clock))).toBe("TOKEN_INVALID");
    expect(await db.sql`select 1 from api_key where firm_id = ${firm.firmId} and active`).toHaveLength(1);
    expect(await refusalOf(() => login(nodes[1], firm.key, clock))).toBe("CREDENTIALS_INVALID");
  });

  test("a refresh token that comes a thousand times at once is renewed once, and its family is dead afterwards", async () => {
    const firm = await makeFirm(db, clock);
    const { refreshToken } = await login(nodes[0], firm.key, clock);
    const won: string[] = [];
    const renew = async (turn: number): Promise<void> => {
      const request = { refreshToken, address: ADDRESS, receivedAt: clock.now() };
      won.push((await on(turn).renewTokens(request)).refreshToken);
    };
    expect(await tally(times(1_000, renew))).toEqual({ none: 1, REFRESH_TOKEN_INVALID: 999 });
    const next = { refreshToken: won[0] ?? "", address: ADDRESS, receivedAt: clock.now() };
    expect(await refusalOf(() => nodes[0].renewTokens(next))).toBe("REFRESH_TOKEN_INVALID");
    const events = await db.sql`select event, count(*)::int as count from audit_entry
      where firm_id = ${firm.firmId} and event in ('jwt.renewed', 'refresh.reused') group by event order by event`;
    expect(events.map(({ event, count }) => [event, count] as unknown)).toEqual([
      ["jwt.renewed", 1],
      ["refresh.reused", 1],
    ]);
  });

  describe("consent", () => {
    let digits = 10_000_000;
    /** An offer of a key of its own to a company that is assigned to its integrator. */
    const offered = async () => {
      const { integratorId, key: main } = await makeIntegrator(db, clock);
      const key = await makeKey(db, clock, { owner: { integratorId }, scopes: SCOPES });
      const ico = String((digits += 1));
      const firmId: FirmId = await createFirm({ sql: db.sql, clock }, { name: "Client", ico, sandbox: true });
      await bind(db, clock, integratorId, firmId, []);
      await db.sql`update firm_binding set state = 'required' where firm_id = ${firmId}`;
      const wish = {
        targetIdentifier: ico,
        customerReference: undefined,
        relationshipMode: "technical_delegation",
        requestedInterface: "enterprise_api",
        requestedScopes: ["documents:read"],
      } as const;
      const offer = await nodes[0].offerConsent(await callerFor(key), wish, ACTOR);
      const answer = { offerId: offer.id, firmId, personId: OWNER.id ?? "", actor: OWNER };
      return { integratorId, main, key, firmId, offer, answer };
    };
    const stateOf = async (firmId: FirmId): Promise<unknown> =>
      (await db.sql`select state from firm_binding where firm_id = ${firmId}`)[0]?.["state"];

    test("an acceptance and the deletion of the issuing key have one outcome: accepted before it, or not at all", async () => {
      const seen = new Set<string>();
      for (let round = 0; round < 20; round += 1) {
        const { main, key, firmId, answer } = await offered();
        const caller = await callerFor(main);
        const accept = () => nodes[0].acceptConsentOffer(answer);
        const end = () => nodes[1].endKey(caller, { keyId: key.id, prefix: undefined }, ACTOR);
        const [outcome] =
          round % 2 === 0 ? await Promise.all([accept(), end()]) : (await Promise.all([end(), accept()])).reverse();
        expect(["accepted", "withdrawn"]).toContain(outcome);
        expect(await stateOf(firmId)).toBe(outcome === "accepted" ? "active" : "required");
        seen.add(String(outcome));
      }
      expect(seen.size).toBeGreaterThan(0);
    });

    test.each([
      ["an acceptance that is not committed yet counts, and the key ends after it", true, ["accepted", "deactivated"]],
      ["a key whose end is not committed yet takes its offer along", false, ["deactivated", "withdrawn"]],
    ])("an offer and the end of its key wait for each other: %s", async (_, acceptsFirst, outcomes) => {
      const { integratorId, key, firmId, answer } = await offered();
      const now = "'2026-11-20T09:00:00Z'::timestamptz";
      const accept = `decide_consent_offer('${answer.offerId}', '${firmId}', true, true, 'x', ${now}, null)`;
      const end = `deactivate_api_key('${key.id}', '${integratorId}', ${now})`;
      expect(await (acceptsFirst ? overlap(db, accept, end) : overlap(db, end, accept))).toEqual(outcomes);
    });

    test("twenty who accept one offer at once make one consent, one entry, and access on every node", async () => {
      const { main, firmId, answer } = await offered();
      const answers = await Promise.all(Array.from({ length: 20 }, (_, turn) => on(turn).acceptConsentOffer(answer)));
      expect(answers.filter((one) => one === "accepted")).toHaveLength(1);
      expect(answers.filter((one) => one === "already")).toHaveLength(19);
      expect(
        await db.sql`select 1 from audit_entry where firm_id = ${firmId} and event = 'consent.accepted'`,
      ).toHaveLength(1);
      const caller = await callerFor(main);
      for (const node of nodes) expect((await node.firmContext(caller, firmId)).firmId).toBe(firmId);
    });

    test("an acceptance and a refusal at once have one outcome", async () => {
      const { firmId, answer } = await offered();
      const [yes, no] = await Promise.all([nodes[0].acceptConsentOffer(answer), nodes[1].declineConsentOffer(answer)]);
      expect([
        ["accepted", "accepted"],
        ["declined", "declined"],
      ]).toContainEqual([yes, no]);
      expect(await stateOf(firmId)).toBe(yes === "accepted" ? "active" : "required");
    });

    test("a withdrawal ends a firm's keys on every node, also one that is being made meanwhile", async () => {
      const { integratorId, main, firmId, answer } = await offered();
      await nodes[0].acceptConsentOffer(answer);
      const caller = await callerFor(main);
      const wish = { ...ANY_KEY, scopedFirmId: firmId };
      const made = await Promise.all([
        ...times(4, (turn) => on(turn).issueKey(caller, wish, ACTOR)).map(refusalOf),
        nodes[1].revokeConsent(integratorId, firmId, OWNER),
      ]);
      expect(made.filter((one) => one !== "none" && one !== "FIRM_FORBIDDEN" && one !== true)).toEqual([]);
      expect(await db.sql`select 1 from api_key where scoped_firm_id = ${firmId} and active`).toEqual([]);
      for (const node of nodes) expect(await refusalOf(() => node.firmContext(caller, firmId))).toBe("FIRM_FORBIDDEN");
    });
  });

  test("an entry of the audit is not seen before one that has the earlier place and is not committed yet", async () => {
    const tenant = randomUUID();
    const write = (event: string): string =>
      `select append_audit('{"id": "${randomUUID()}", "at": "2026-11-20T09:00:00Z", "actorType": "system"}', '${event}', null, '${tenant}', 'x', 'x', '{}')`;
    const seen = async (): Promise<string[]> => {
      const rows = await db.sql`select event from audit_entry where integrator_id = ${tenant} order by position`;
      return rows.map(({ event }) => String(event));
    };
    const [early, late] = [1, 2].map((n) => openSql({ url: db.url, name: `writer ${n}`, connections: 1 }));
    if (early === undefined || late === undefined) throw new Error("two connections");
    await early.unsafe("begin");
    await early.unsafe(write("first.one"));
    let ended = false;
    const second = late.unsafe(write("second.one")).then(() => {
      ended = true;
    });
    await eventually("the second writer has ended or waits for the first", async () => {
      const [row] = await db.sql`select wait_event_type = 'Lock' as waits from pg_stat_activity
        where application_name = 'writer 2' and datname = current_database()`;
      return ended || row?.["waits"] === true;
    });
    expect(await seen()).toEqual([]);
    await early.unsafe("commit");
    await second;
    expect(await seen()).toEqual(["first.one", "second.one"]);
    await Promise.all([early.end(), late.end()]);
  });
});
