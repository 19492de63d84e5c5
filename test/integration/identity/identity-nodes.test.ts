/**
 * A change of key, allowlist, consent or token holds on every node from the next request.
 * @source spec/rulings.md, section 4; design/reliability.md, A-03
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { isAddressAllowed } from "../../../engine/identity/allowlist.js";
import { OPERATOR } from "../../../engine/identity/audit.js";
import { bindFirm, registerParticipant } from "../../../engine/identity/firms.js";
import type { Identity } from "../../../engine/identity/identity.js";
import { decideProduction } from "../../../engine/identity/operators/production.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { leaseRate } from "../../../engine/storage/rates.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";
import {
  bind,
  callerOf,
  cutChannel,
  login,
  makeFirm,
  makeIntegrator,
  makeKey,
  newParticipantId,
  participantId,
  refusalOf,
  startNode,
} from "../../support/callers/identity.js";
import type { NodeOptions } from "../../support/callers/identity.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

let db: TestDatabase;
const clock = fakeClock();
const running: Identity[] = [];
const start = async (options: Partial<NodeOptions> = {}): Promise<Identity> => {
  const node = await startNode(db, { clock, ...options });
  running.push(node);
  return node;
};
/** Two nodes that know each other. */
const pair = async (options: Partial<NodeOptions> = {}): Promise<[Identity, Identity]> => {
  const [a, b] = [await start(), await start(options)];
  await a.peers.beat();
  return [a, b];
};

beforeAll(async () => {
  db = await freshDatabase();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((node) => node.stop()));
  await db.sql`delete from node`;
});
afterAll(() => db.drop());

const tokenAnswer = (node: Identity, token: string): Promise<string> => refusalOf(() => callerOf(node, token, clock));

describe("with announcements", () => {
  test("a revoked access token is refused by the other node as soon as the revocation is answered, 200 times in a row", async () => {
    const [a, b] = await pair();
    const { key } = await makeFirm(db, clock);
    for (let i = 0; i < 200; i += 1) {
      const { accessToken } = await login(a, key, clock);
      expect(await tokenAnswer(b, accessToken)).toBe("none");
      await a.revokeToken(accessToken, clock.now());
      expect(await tokenAnswer(b, accessToken)).toBe("TOKEN_INVALID");
      expect(await tokenAnswer(a, accessToken)).toBe("TOKEN_INVALID");
    }
  });

  test("what is known is answered at once, without a statement", async () => {
    const [a] = await pair();
    const firm = await makeFirm(db, clock);
    const { accessToken } = await login(a, firm.key, clock);
    const caller = await callerOf(a, accessToken, clock);
    await eventually("announcements are proven", () => a.isFresh());
    await eventually("the answer is known", () => !(a.authenticate(accessToken, clock.now()) instanceof Promise));
    await a.participantContext(caller, firm.participantId);
    expect(a.participantContext(caller, firm.participantId)).not.toBeInstanceOf(Promise);
  });

  test("a deactivated key's tokens are refused everywhere at once", async () => {
    const [a, b] = await pair();
    const { key } = await makeFirm(db, clock);
    const { accessToken } = await login(b, key, clock);
    expect(await tokenAnswer(b, accessToken)).toBe("none");
    await a.deactivateKey(key.id);
    expect(await tokenAnswer(b, accessToken)).toBe("TOKEN_INVALID");
  });

  test("a new allowlist holds everywhere at once", async () => {
    const [a, b] = await pair();
    const { key } = await makeFirm(db, clock);
    const { accessToken } = await login(b, key, clock);
    expect((await callerOf(b, accessToken, clock)).ipAllowlist).toEqual([]);
    expect(await a.replaceIpAllowlist(key.id, ["198.51.100.0/24"])).toEqual(["198.51.100.0/24"]);
    const { ipAllowlist } = await callerOf(b, accessToken, clock);
    expect(isAddressAllowed(ipAllowlist, "192.0.2.7")).toBe(false);
    expect(isAddressAllowed(ipAllowlist, "198.51.100.7")).toBe(true);
  });

  test("scopes taken from a key by any statement are gone from its living tokens", async () => {
    const [, b] = await pair();
    const { key } = await makeFirm(db, clock);
    const { accessToken } = await login(b, key, clock);
    await callerOf(b, accessToken, clock);
    await db.sql`update api_key set scopes = ${["documents:read"]} where id = ${key.id}`;
    await b.probe();
    await eventually("the change is heard", async () => (await callerOf(b, accessToken, clock)).scopes.size === 1);
  });

  test("what was revoked before a node started is refused by it", async () => {
    const a = await start();
    const { key } = await makeFirm(db, clock);
    const { accessToken } = await login(a, key, clock);
    await a.revokeToken(accessToken, clock.now());
    const late = await start();
    expect(await tokenAnswer(late, accessToken)).toBe("TOKEN_INVALID");
    await eventually("announcements are proven", () => late.isFresh());
    expect(await tokenAnswer(late, accessToken)).toBe("TOKEN_INVALID");
  });

  test("a dead node delays a revocation by a bounded time only", async () => {
    const a = await start();
    await db.sql`insert into node (id, seen_at) values ('00000000-0000-7000-8000-000000000001', clock_timestamp())`;
    await a.peers.beat();
    expect(a.peers.nodes()).toBe(2);
    const { key } = await makeFirm(db, clock);
    const { accessToken } = await login(a, key, clock);
    await a.revokeToken(accessToken, clock.now());
    expect(await tokenAnswer(a, accessToken)).toBe("TOKEN_INVALID");
    await db.sql`update node set seen_at = clock_timestamp() - interval '1 minute'`;
    await a.peers.beat();
    expect(a.peers.nodes()).toBe(1);
  });
});

describe("without announcements", () => {
  test("a node that hears nothing asks Postgres for every request and is never stale", async () => {
    const channel = cutChannel();
    const [a, b] = await pair({ openChannel: channel.open });
    const firm = await makeFirm(db, clock);
    const partner = await makeIntegrator(db, clock);
    await bind(db, clock, partner.integratorId, firm.firmId);
    const [firmToken, partnerToken, revokedToken] = [
      (await login(b, firm.key, clock)).accessToken,
      (await login(b, partner.key, clock)).accessToken,
      (await login(b, firm.key, clock)).accessToken,
    ];
    const partnerCaller = await callerOf(b, partnerToken, clock);
    for (const token of [firmToken, revokedToken]) expect(await tokenAnswer(b, token)).toBe("none");
    await b.participantContext(partnerCaller, firm.participantId);

    channel.cut();
    expect(b.isFresh()).toBe(false);
    await a.revokeToken(revokedToken, clock.now());
    expect(await tokenAnswer(b, revokedToken)).toBe("TOKEN_INVALID");
    expect(await tokenAnswer(b, firmToken)).toBe("none");
    await a.revokeConsent(partner.integratorId, firm.firmId);
    expect(await refusalOf(async () => b.participantContext(partnerCaller, firm.participantId))).toBe(
      "PARTICIPANT_FORBIDDEN",
    );
    await a.deactivateKey(firm.key.id);
    expect(await tokenAnswer(b, firmToken)).toBe("TOKEN_INVALID");

    channel.mend();
    await b.probe();
    await eventually("announcements are proven again", () => b.isFresh());
    expect(await tokenAnswer(b, revokedToken)).toBe("TOKEN_INVALID");
    expect(await tokenAnswer(b, firmToken)).toBe("TOKEN_INVALID");
  });

  test("a connection that is killed is noticed, and a revocation meanwhile is not missed", async () => {
    const [a, b] = await pair();
    const { key } = await makeFirm(db, clock);
    for (let round = 0; round < 2; round += 1) {
      const { accessToken } = await login(b, key, clock);
      expect(await tokenAnswer(b, accessToken)).toBe("none");
      await db.sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'kurier identity' and datname = current_database()`;
      await a.revokeToken(accessToken, clock.now());
      expect(await tokenAnswer(b, accessToken)).toBe("TOKEN_INVALID");
      await eventually("both nodes hear again", async () => {
        await Promise.all([a.probe(), b.probe()]);
        return a.isFresh() && b.isFresh();
      });
    }
  });

  test("with Postgres away too, a token is neither believed nor called invalid: 503", async () => {
    const channel = cutChannel();
    const pool = db.another("ends early");
    const a = await start({ openChannel: channel.open, sql: pool });
    const firm = await makeFirm(db, clock);
    const { accessToken, refreshToken } = await login(a, firm.key, clock);
    const caller = await callerOf(a, accessToken, clock);
    channel.cut();
    await pool.end();
    expect(await tokenAnswer(a, accessToken)).toBe("TEMPORARY");
    expect(await refusalOf(async () => a.participantContext(caller, firm.participantId))).toBe("TEMPORARY");
    expect(await refusalOf(() => login(a, firm.key, clock))).toBe("TEMPORARY");
    expect(await refusalOf(() => a.renewTokens({ refreshToken, address: "192.0.2.7", receivedAt: clock.now() }))).toBe(
      "TEMPORARY",
    );
    expect(await refusalOf(() => a.revokeToken(accessToken, clock.now()))).toBe("TEMPORARY");
    expect(await tokenAnswer(a, "eyJ.forged.x")).toBe("TOKEN_INVALID");
  });

  test("an open but silent connection is believed only for a short time", async () => {
    let deaf = false;
    const a = await start({
      openChannel: (options) => {
        const opened = cutChannel();
        return opened.open({
          ...options,
          onMessage: (payload) => {
            if (!deaf) options.onMessage(payload);
          },
        });
      },
    });
    await eventually("announcements are proven", () => a.isFresh());
    deaf = true;
    clock.advance(LIMITS.change_proof_ms + 1);
    expect(a.isFresh()).toBe(false);
    deaf = false;
    await a.probe();
    await eventually("announcements are proven again", () => a.isFresh());
  });
});

describe("contexts", () => {
  test("a firm key acts for the participants of its firm, in any case of letters, and for no other", async () => {
    const a = await start();
    const [firm, other] = [await makeFirm(db, clock), await makeFirm(db, clock)];
    const mixed = participantId("9915:AbC-123");
    await registerParticipant({ sql: db.sql, clock }, firm.firmId, mixed);
    const caller = await callerOf(a, (await login(a, firm.key, clock)).accessToken, clock);
    expect(await a.participantContext(caller, firm.participantId)).toMatchObject({
      participantId: firm.participantId,
      firmId: firm.firmId,
    });
    expect(await a.participantContext(caller, participantId("9915:aBc-123"))).toMatchObject({ participantId: mixed });
    for (const id of [other.participantId, newParticipantId()]) {
      expect(await refusalOf(async () => a.participantContext(caller, id))).toBe("PARTICIPANT_FORBIDDEN");
    }
    expect(await registerParticipant({ sql: db.sql, clock }, other.firmId, mixed)).toBe(false);
  });

  test("a participant that is registered is served by every node at once, although it was just refused", async () => {
    const [a, b] = await pair();
    const firm = await makeFirm(db, clock);
    const id = newParticipantId();
    const caller = await callerOf(b, (await login(b, firm.key, clock)).accessToken, clock);
    expect(await refusalOf(async () => b.participantContext(caller, id))).toBe("PARTICIPANT_FORBIDDEN");
    await registerParticipant({ sql: db.sql, clock }, firm.firmId, id);
    await a.settled();
    expect(await b.participantContext(caller, id)).toMatchObject({ firmId: firm.firmId });
  });

  // spec/enterprise.md, Authentication, Firm context: "With a central sk_int_* send X-Firm-Id (uuid) on firm-scoped Enterprise calls. With sk_live_* do not send it."
  test("X-Firm-Id: required with a central key, implied by a scoped one, forbidden with a firm key", async () => {
    const a = await start();
    const [firm, other] = [await makeFirm(db, clock), await makeFirm(db, clock)];
    const partner = await makeIntegrator(db, clock);
    await bind(db, clock, partner.integratorId, firm.firmId, ["documents:read"]);
    const scoped = await makeKey(db, clock, {
      owner: { integratorId: partner.integratorId, scopedFirmId: firm.firmId },
      scopes: ["documents:read", "documents:send"],
    });
    const [direct, central, ofFirm] = await Promise.all(
      [firm.key, partner.key, scoped].map(async (key) => callerOf(a, (await login(a, key, clock)).accessToken, clock)),
    );
    if (direct === undefined || central === undefined || ofFirm === undefined) throw new Error("no callers");
    const unknown = "00000000-0000-7000-8000-00000000dead" as typeof firm.firmId;

    expect(await a.firmContext(direct, undefined)).toMatchObject({ firmId: firm.firmId });
    expect(await refusalOf(async () => a.firmContext(direct, firm.firmId))).toBe("FIRM_CONTEXT_FORBIDDEN");
    expect(await refusalOf(async () => a.firmContext(central, undefined))).toBe("FIRM_CONTEXT_REQUIRED");
    expect(await a.firmContext(central, firm.firmId)).toEqual({
      firmId: firm.firmId,
      scopes: new Set(["documents:read"]),
    });
    for (const id of [other.firmId, unknown])
      expect(await refusalOf(async () => a.firmContext(central, id))).toBe("FIRM_FORBIDDEN");
    expect(await a.firmContext(ofFirm, undefined)).toEqual({
      firmId: firm.firmId,
      scopes: new Set(["documents:read"]),
    });
    expect(await a.firmContext(ofFirm, firm.firmId)).toMatchObject({ firmId: firm.firmId });
    for (const id of [other.firmId, unknown])
      expect(await refusalOf(async () => a.firmContext(ofFirm, id))).toBe("FIRM_FORBIDDEN");
  });

  // spec/enterprise.md, Firm and partner binding: "partner access to that firm ends at once; JWTs already issued for that firm
  // stop working; keys for that firm are deactivated; … a new consent does not revive old keys"
  test("a withdrawn consent ends access, keys and tokens on every node; a new one revives none of them", async () => {
    const [a, b] = await pair();
    const [firm, kept] = [await makeFirm(db, clock), await makeFirm(db, clock)];
    const partner = await makeIntegrator(db, clock);
    for (const { firmId } of [firm, kept]) await bind(db, clock, partner.integratorId, firmId);
    const scoped = await makeKey(db, clock, {
      owner: { integratorId: partner.integratorId, scopedFirmId: firm.firmId },
      scopes: ["documents:send"],
    });
    const [central, ofFirm] = [await login(b, partner.key, clock), await login(b, scoped, clock)];
    const caller = await callerOf(b, central.accessToken, clock);
    expect(await b.participantContext(caller, firm.participantId)).toMatchObject({ firmId: firm.firmId });

    expect(await a.revokeConsent(partner.integratorId, firm.firmId)).toBe(true);
    expect(await a.revokeConsent(partner.integratorId, firm.firmId)).toBe(false);
    expect(await refusalOf(async () => b.participantContext(caller, firm.participantId))).toBe("PARTICIPANT_FORBIDDEN");
    expect(await tokenAnswer(b, ofFirm.accessToken)).toBe("TOKEN_INVALID");
    expect(await refusalOf(() => login(b, scoped, clock))).toBe("CREDENTIALS_INVALID");
    expect(
      await refusalOf(() =>
        b.renewTokens({ refreshToken: ofFirm.refreshToken, address: "192.0.2.7", receivedAt: clock.now() }),
      ),
    ).toBe("REFRESH_TOKEN_INVALID");
    expect(await b.participantContext(caller, kept.participantId)).toMatchObject({ firmId: kept.firmId });

    await bind(db, clock, partner.integratorId, firm.firmId);
    await a.settled();
    expect(await refusalOf(async () => b.participantContext(caller, firm.participantId))).toBe("PARTICIPANT_FORBIDDEN");
    expect(await refusalOf(() => login(b, scoped, clock))).toBe("CREDENTIALS_INVALID");
    const fresh = await callerOf(b, (await login(b, partner.key, clock)).accessToken, clock);
    expect(await b.participantContext(fresh, firm.participantId)).toMatchObject({ firmId: firm.firmId });
  });

  test("a consent for the Enterprise API alone opens no SAPI, and the other way round", async () => {
    const a = await start();
    const firm = await makeFirm(db, clock);
    const partner = await makeIntegrator(db, clock);
    const caller = await callerOf(a, (await login(a, partner.key, clock)).accessToken, clock);
    const consent = { integratorId: partner.integratorId, firmId: firm.firmId, scopes: ["documents:send"] } as const;
    await bindFirm({ sql: db.sql, clock }, { ...consent, interfaces: ["enterprise"] });
    await a.settled();
    await a.probe();
    expect(await refusalOf(async () => a.participantContext(caller, firm.participantId))).toBe("PARTICIPANT_FORBIDDEN");
    expect(await a.firmContext(caller, firm.firmId)).toMatchObject({ firmId: firm.firmId });
    await bindFirm({ sql: db.sql, clock }, { ...consent, interfaces: ["sapi"] });
    await eventually(
      "the change is heard",
      async () => (await refusalOf(async () => a.firmContext(caller, firm.firmId))) === "FIRM_FORBIDDEN",
    );
    expect(await a.participantContext(caller, firm.participantId)).toMatchObject({ firmId: firm.firmId });
  });

  test("production asks for the integrator's authorization, live", async () => {
    const a = await start({ environment: "production" });
    const firm = await makeFirm(db, clock);
    const partner = await makeIntegrator(db, clock, false);
    await bind(db, clock, partner.integratorId, firm.firmId);
    const key = await makeKey(
      db,
      clock,
      { owner: { integratorId: partner.integratorId }, scopes: ["documents:send"] },
      "production",
    );
    const { accessToken } = await login(a, key, clock);
    const answer = async () =>
      refusalOf(async () => a.participantContext(await callerOf(a, accessToken, clock), firm.participantId));
    expect(await answer()).toBe("PARTICIPANT_FORBIDDEN");
    await decideProduction({ sql: db.sql, clock }, { id: partner.integratorId, isAuthorized: true }, OPERATOR);
    await eventually("the authorization is heard", async () => (await answer()) === "none");
    const console = await start({ environment: "production" });
    await console.peers.beat();
    for (const [isAuthorized, expected] of [
      [false, "PARTICIPANT_FORBIDDEN"],
      [true, "none"],
    ] as const) {
      const approval = { id: partner.integratorId, isAuthorized };
      expect(await console.decideProduction(approval, OPERATOR)).toBe("changed");
      expect([isAuthorized, await answer()]).toEqual([isAuthorized, expected]);
    }
  });
});

describe("nodes and shared rates", () => {
  test("nodes count each other while they are alive, and stop at once when they stop", async () => {
    const a = await start();
    const nodes = a.peers.nodes();
    const b = await start();
    await a.peers.beat();
    expect(a.peers.nodes()).toBe(nodes + 1);
    await b.stop();
    await a.peers.beat();
    expect(a.peers.nodes()).toBe(nodes);
  });

  test("a hundred leases of several nodes at once grant exactly the limit", async () => {
    const pools = [db.another(), db.another()];
    const request = { bucket: "sapi", key: "k1", limit: 200, window_ms: 60_000, want: 7, unused: 0 };
    const leases = await Promise.all(Array.from({ length: 100 }, (_, i) => leaseRate(pools[i % 2] ?? db.sql, request)));
    expect(leases.reduce((sum, lease) => sum + lease.granted, 0)).toBe(200);
    for (const lease of leases) expect(lease.resetIn_ms).toBeGreaterThan(0);
  });

  test("a clock that was set back forgets no admission", async () => {
    const at = (instant: string, want: number) => db.sql<{ granted: number }[]>`
      select granted from lease_rate('set back', ${want}, 0, 10, 60000, 500, ${instant}::timestamptz)`;
    expect((await at("2026-11-20T09:00:30Z", 6))[0]?.granted).toBe(6);
    expect((await at("2026-11-20T09:00:00Z", 6))[0]?.granted).toBe(4);
    expect((await at("2026-11-20T09:00:31Z", 6))[0]?.granted).toBe(0);
    expect((await at("2026-11-20T09:01:31Z", 6))[0]?.granted).toBe(6);
  });

  test("what is given back can be granted again; another key and another bucket are counted apart", async () => {
    const request = { bucket: "sapi", key: "k2", limit: 10, window_ms: 60_000, want: 10, unused: 0 };
    expect((await leaseRate(db.sql, request)).granted).toBe(10);
    expect((await leaseRate(db.sql, request)).granted).toBe(0);
    expect((await leaseRate(db.sql, { ...request, unused: 4 })).granted).toBe(4);
    expect((await leaseRate(db.sql, { ...request, unused: 1_000 })).granted).toBe(10);
    expect((await leaseRate(db.sql, { ...request, key: "k3" })).granted).toBe(10);
    expect((await leaseRate(db.sql, { ...request, bucket: "enterprise" })).granted).toBe(10);
  });

  test("no window of 60 seconds, wherever it begins, holds more than the limit", async () => {
    const start_ms = Date.parse("2026-11-20T09:00:00Z");
    const grants: { at: number; granted: number }[] = [];
    for (let at = 0; at < 200_000; at += 1_700) {
      const rows = await db.sql<{ granted: number }[]>`
        select granted from lease_rate('sliding', 13, 0, 100, 60000, 500, ${new Date(start_ms + at)})`;
      grants.push({ at, granted: rows[0]?.granted ?? 0 });
    }
    for (const { at: from } of grants) {
      const inWindow = grants
        .filter(({ at }) => at >= from && at < from + 60_000)
        .reduce((sum, { granted }) => sum + granted, 0);
      expect(inWindow).toBeLessThanOrEqual(100);
    }
    expect(grants.reduce((sum, { granted }) => sum + granted, 0)).toBeGreaterThanOrEqual(300);
  });
});
