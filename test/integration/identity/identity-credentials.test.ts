/** Secrets, throttling and refresh tokens on a real Postgres, on two nodes where it matters. @source design/reliability.md, 3.5 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { failureSlot } from "../../../engine/identity/tokens/credentials.js";
import type { TokenDoor } from "../../../engine/identity/tokens/credentials.js";
import type { Identity } from "../../../engine/identity/identity.js";
import type { CreatedKey } from "../../../engine/identity/keys.js";
import { newSecret } from "../../../engine/identity/tokens/secrets.js";
import { Refusal } from "../../../engine/base/errors.js";
import { LIMITS } from "../../../engine/base/limits.js";
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
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

let db: TestDatabase;
let a: Identity;
let b: Identity;
const clock = fakeClock();

beforeAll(async () => {
  db = await freshDatabase();
  a = await startNode(db, { clock });
  b = await startNode(db, { clock });
});
afterAll(async () => {
  await Promise.all([a.stop(), b.stop()]);
  await db.drop();
});

const attempt = (node: Identity, clientId: string, clientSecret: string, door: TokenDoor = "sapi", address = ADDRESS) =>
  node.issueTokens({ clientId, clientSecret, scope: undefined, door, address, receivedAt: clock.now() });
const wrong = (): string => newSecret("sk_live", "sandbox");
const fail = (node: Identity, clientId: string, door: TokenDoor = "sapi"): Promise<string> =>
  refusalOf(() => attempt(node, clientId, wrong(), door));

describe("a secret becomes tokens", () => {
  test("a secret becomes tokens by the key's id and by its displayed prefix, never by another's", async () => {
    const { key } = await makeFirm(db, clock);
    const other = await makeFirm(db, clock);
    expect((await attempt(a, key.id, key.secret)).expiresIn).toBe(900);
    expect((await attempt(a, key.id.toUpperCase(), key.secret)).expiresIn).toBe(900);
    expect((await attempt(a, key.prefix, key.secret)).refreshToken).toMatch(/^rt_/);
    expect(await refusalOf(() => attempt(a, other.key.id, key.secret))).toBe("CREDENTIALS_INVALID");
    expect(await refusalOf(() => attempt(a, key.secret, key.secret))).toBe("CREDENTIALS_INVALID");
  });

  // spec/rulings.md §1: "a secret of the wrong environment is 401 invalid credentials"
  test("a sandbox secret is worth nothing in production, even when the row is there", async () => {
    const { key } = await makeFirm(db, clock);
    const production = await startNode(db, { clock, environment: "production" });
    expect(await refusalOf(() => attempt(production, key.id, key.secret))).toBe("CREDENTIALS_INVALID");
    const { accessToken } = await login(a, key, clock);
    expect(await refusalOf(() => callerOf(production, accessToken, clock))).toBe("TOKEN_INVALID");
    await production.stop();
  });

  test("an inactive key is an unknown one", async () => {
    const { key } = await makeFirm(db, clock);
    expect(await a.deactivateKey(key.id)).toBe("deactivated");
    expect(await refusalOf(() => attempt(a, key.id, key.secret))).toBe("CREDENTIALS_INVALID");
  });

  test("only the scopes that were asked for are in the token", async () => {
    const { key } = await makeFirm(db, clock);
    const pair = await login(a, key, clock, "documents:read account:read");
    expect(pair.scopes).toEqual(["documents:read", "account:read"]);
    expect([...(await callerOf(a, pair.accessToken, clock)).scopes].sort()).toEqual(["account:read", "documents:read"]);
    expect(await refusalOf(() => login(a, key, clock, "documents:read keys:manage"))).toBe("SCOPE_NOT_ALLOWED");
  });

  // spec/sapi.md, Authentication: "403 on token means the IP is not allowed"
  test("a key with an allowlist gives tokens to its addresses only", async () => {
    const { key } = await makeFirm(db, clock, { ipAllowlist: ["192.0.2.0/24"] });
    expect((await attempt(a, key.id, key.secret)).expiresIn).toBe(900);
    expect(await refusalOf(() => attempt(a, key.id, key.secret, "sapi", "198.51.100.1"))).toBe("IP_NOT_ALLOWED");
    expect(await refusalOf(() => attempt(a, key.id, wrong(), "sapi", "198.51.100.1"))).toBe("CREDENTIALS_INVALID");
  });

  test("neither the secret nor a refresh token is anywhere in the database", async () => {
    const { key } = await makeFirm(db, clock);
    const pair = await login(a, key, clock);
    const tables = ["api_key", "refresh_family", "signing_key", "failed_credential", "revoked_token"];
    for (const table of tables) {
      const rows = await db.sql.unsafe(`select t::text as row from ${table} t`);
      const text = rows.map((row) => String(row["row"])).join("\n");
      for (const secret of [key.secret, pair.refreshToken, pair.accessToken]) {
        expect(text).not.toContain(secret);
        expect(text).not.toContain(secret.slice(-40));
        expect(text).not.toContain(Buffer.from(secret).toString("hex"));
      }
    }
  });
});

describe("failed credentials (A-06)", () => {
  // spec/sapi.md, Limits: "Failed credential attempts | 5 within 10 minutes, then 423"
  // spec/enterprise.md, Limits: "Failed credential attempts before throttling | 5 within 15 minutes (then 423)"
  test.each([
    ["sapi", 10 * 60_000],
    ["enterprise", 15 * 60_000],
  ] as const)(
    "%s: five failures on any node are 401, then 423 until the first is %d ms old",
    async (door, window_ms) => {
      const { key } = await makeFirm(db, clock);
      const nodes = [a, b, a, b, a];
      for (const node of nodes) {
        expect(await fail(node, key.id, door)).toBe("CREDENTIALS_INVALID");
        clock.advance(1_000);
      }
      for (const node of [a, b]) {
        const refusal = await attempt(node, key.id, wrong(), door).catch((error: unknown) => error);
        expect(refusal).toBeInstanceOf(Refusal);
        if (refusal instanceof Refusal)
          expect([refusal.reason, refusal.extras.retryAfter_s]).toEqual(["CREDENTIALS_LOCKED", window_ms / 1000 - 5]);
      }
      clock.advance(window_ms - 5_001);
      expect(await fail(b, key.id, door)).toBe("CREDENTIALS_LOCKED");
      clock.advance(1);
      expect(await fail(b, key.id, door)).toBe("CREDENTIALS_INVALID");
      expect(await fail(a, key.id, door)).toBe("CREDENTIALS_LOCKED");
    },
  );

  test("the window is that of the prefix used: after 12 minutes SAPI asks again, Enterprise still waits", async () => {
    const { key } = await makeFirm(db, clock);
    for (let i = 0; i < 5; i += 1) await fail(a, key.id);
    clock.advance(12 * 60_000);
    expect(await fail(a, key.id, "enterprise")).toBe("CREDENTIALS_LOCKED");
    expect(await fail(a, key.id, "sapi")).toBe("CREDENTIALS_INVALID");
  });

  // spec/sapi.md, Authentication: "A valid secret stays usable during blocking."
  test("a valid secret stays usable while its client is locked, and unlocks nothing", async () => {
    const { key } = await makeFirm(db, clock);
    for (let i = 0; i < 6; i += 1) await fail(a, key.id);
    expect((await attempt(b, key.id, key.secret)).expiresIn).toBe(900);
    expect(await fail(a, key.id)).toBe("CREDENTIALS_LOCKED");
  });

  test("id and prefix of one key are one client", async () => {
    const { key } = await makeFirm(db, clock);
    for (const name of [key.id, key.prefix, key.id, key.prefix, key.id])
      expect(await fail(a, name)).toBe("CREDENTIALS_INVALID");
    expect(await fail(a, key.prefix)).toBe("CREDENTIALS_LOCKED");
  });

  test("an unknown client is told exactly what a known one is told", async () => {
    const { key } = await makeFirm(db, clock);
    const unknown = "00000000-0000-7000-8000-0000000000ff";
    for (let i = 0; i < 7; i += 1) expect(await fail(a, unknown)).toBe(await fail(a, key.id));
  });

  test("a hundred guesses at once on two nodes: five are 401, the rest 423", async () => {
    const { key } = await makeFirm(db, clock);
    const answers = await Promise.all(Array.from({ length: 100 }, (_, i) => fail(i % 2 === 0 ? a : b, key.id)));
    expect(answers.filter((answer) => answer === "CREDENTIALS_INVALID")).toHaveLength(5);
    expect(answers.filter((answer) => answer === "CREDENTIALS_LOCKED")).toHaveLength(95);
  });

  test("clients nobody has heard of fill a bounded number of slots, which are emptied when their time is over", async () => {
    for (let i = 0; i < 50; i += 1) await fail(a, `guess-${i}`);
    const slots = new Set(Array.from({ length: 10_000 }, (_, i) => failureSlot(`guess-${i}`)));
    expect(Math.max(...slots)).toBeLessThan(LIMITS.credential_slots);
    clock.advance(LIMITS.credential_window_enterprise_ms + 1);
    await a.maintain();
    expect((await db.sql`select count(*)::int as count from failed_credential`)[0]?.["count"]).toBe(0);
  });

  test("a node whose clock runs behind counts what others have recorded", async () => {
    const { key } = await makeFirm(db, clock);
    for (let i = 0; i < 5; i += 1) await fail(a, key.id);
    clock.setNow(clock.now() - 30_000);
    expect(await fail(b, key.id)).toBe("CREDENTIALS_LOCKED");
    clock.setNow(clock.now() + 30_000);
  });
});

describe("refresh tokens (A-04)", () => {
  const renew = (node: Identity, refreshToken: string, address = ADDRESS) =>
    node.renewTokens({ refreshToken, address, receivedAt: clock.now() });
  const loggedIn = async (key?: CreatedKey) => login(a, key ?? (await makeFirm(db, clock)).key, clock);

  test("each refresh token is good once; the second use is 401 and ends the family", async () => {
    const first = await loggedIn();
    const second = await renew(a, first.refreshToken);
    expect((await callerOf(b, second.accessToken, clock)).kind).toBe("firm");
    const third = await renew(b, second.refreshToken);
    expect(await refusalOf(() => renew(b, first.refreshToken))).toBe("REFRESH_TOKEN_INVALID");
    expect(await refusalOf(() => renew(a, third.refreshToken))).toBe("REFRESH_TOKEN_INVALID");
  });

  test("a thousand renewals at once have one success", async () => {
    const { refreshToken } = await loggedIn();
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => refusalOf(() => renew(i % 2 === 0 ? a : b, refreshToken))),
    );
    expect(answers.filter((answer) => answer === "none")).toHaveLength(1);
    expect(answers.filter((answer) => answer === "REFRESH_TOKEN_INVALID")).toHaveLength(999);
  });

  test("a repeat after a lost response is a reuse: there is no grace", async () => {
    const { refreshToken } = await loggedIn();
    const lost = await renew(a, refreshToken);
    expect(await refusalOf(() => renew(a, refreshToken))).toBe("REFRESH_TOKEN_INVALID");
    expect(await refusalOf(() => renew(a, lost.refreshToken))).toBe("REFRESH_TOKEN_INVALID");
  });

  test("the families of one key are independent", async () => {
    const { key } = await makeFirm(db, clock);
    const [one, two] = [await loggedIn(key), await loggedIn(key)];
    await renew(a, one.refreshToken);
    await refusalOf(() => renew(a, one.refreshToken));
    expect((await renew(a, two.refreshToken)).expiresIn).toBe(900);
  });

  // spec/sapi.md, Limits: "Refresh token lifetime | 30 days"
  test("a refresh token lives 30 days, and its successor 30 days again", async () => {
    const day = 86_400_000;
    const first = await loggedIn();
    clock.advance(30 * day - 1);
    const second = await renew(a, first.refreshToken);
    clock.advance(30 * day - 1);
    const third = await renew(a, second.refreshToken);
    clock.advance(30 * day);
    expect(await refusalOf(() => renew(a, third.refreshToken))).toBe("REFRESH_TOKEN_INVALID");
  });

  test("after revocation, also by an older token of the family, no refresh token is left", async () => {
    const first = await loggedIn();
    const second = await renew(a, first.refreshToken);
    await b.revokeToken(first.refreshToken, clock.now());
    expect(await refusalOf(() => renew(a, second.refreshToken))).toBe("REFRESH_TOKEN_INVALID");
  });

  test("a deactivated key renews nothing; scopes taken from a key are gone with the next pair", async () => {
    const { key } = await makeFirm(db, clock);
    const pair = await loggedIn(key);
    await db.sql`update api_key set scopes = array['documents:read', 'evidence:read'] where id = ${key.id}`;
    const next = await renew(a, pair.refreshToken);
    expect(next.scopes).toEqual(["documents:read"]);
    await a.deactivateKey(key.id);
    expect(await refusalOf(() => renew(a, next.refreshToken))).toBe("REFRESH_TOKEN_INVALID");
  });

  test("from a forbidden address the newest token is refused and stays good", async () => {
    const { key } = await makeFirm(db, clock, { ipAllowlist: ["192.0.2.7"] });
    const pair = await loggedIn(key);
    expect(await refusalOf(() => renew(a, pair.refreshToken, "198.51.100.1"))).toBe("IP_NOT_ALLOWED");
    expect((await renew(a, pair.refreshToken)).expiresIn).toBe(900);
    expect(await refusalOf(() => renew(a, pair.refreshToken, "198.51.100.1"))).toBe("REFRESH_TOKEN_INVALID");
  });

  test.each(["", "rt_", `rt_${"a".repeat(65)}`, "eyJhbGciOiJFZERTQSJ9.e30.AA", "' or 1=1 --"])(
    "a refresh token %j is 401",
    async (token) => {
      expect(await refusalOf(() => renew(a, token))).toBe("REFRESH_TOKEN_INVALID");
    },
  );

  test("a key keeps a bounded number of families: the oldest ends", async () => {
    const { key } = await makeFirm(db, clock);
    const oldest = await loggedIn(key);
    clock.advance(1);
    const second = await loggedIn(key);
    clock.advance(1);
    for (let i = 2; i <= LIMITS.refresh_families_per_key_max; i += 1) await loggedIn(key);
    expect(await refusalOf(() => renew(a, oldest.refreshToken))).toBe("REFRESH_TOKEN_INVALID");
    expect((await renew(a, second.refreshToken)).expiresIn).toBe(900);
  });

  test("expired families are deleted", async () => {
    const { key } = await makeFirm(db, clock);
    await loggedIn(key);
    const count = async () =>
      (await db.sql`select count(*)::int as count from refresh_family where key_id = ${key.id}`)[0]?.["count"];
    clock.advance(30 * 86_400_000);
    await a.maintain();
    expect(await count()).toBe(1);
    clock.advance(1);
    await a.maintain();
    expect(await count()).toBe(0);
  });
});

describe("key limits", () => {
  // spec/enterprise.md: "Limit: 5 active unrestricted keys per integrator and 5 scoped keys per integrator and firm."
  test("fifty creations at once with one of five places left make one key (C-12)", async () => {
    const { integratorId } = await makeIntegrator(db, clock);
    for (let i = 0; i < 3; i += 1) await makeKey(db, clock, { owner: { integratorId }, scopes: ["keys:manage"] });
    const made = await Promise.all(
      Array.from({ length: 50 }, () =>
        refusalOfKey(() => makeKey(db, clock, { owner: { integratorId }, scopes: ["keys:manage"] })),
      ),
    );
    expect(made.filter((answer) => answer === "made")).toHaveLength(1);
    expect(made.filter((answer) => answer === "no key: limit_reached")).toHaveLength(49);
  });

  test("scoped keys have places of their own, need an active binding, and never manage keys", async () => {
    const { integratorId } = await makeIntegrator(db, clock);
    const firm = await makeFirm(db, clock);
    const owner = { integratorId, scopedFirmId: firm.firmId };
    expect(await refusalOfKey(() => makeKey(db, clock, { owner, scopes: ["documents:send"] }))).toBe(
      "no key: not_bound",
    );
    await bind(db, clock, integratorId, firm.firmId);
    for (let i = 0; i < 5; i += 1) await makeKey(db, clock, { owner, scopes: ["documents:send"] });
    expect(await refusalOfKey(() => makeKey(db, clock, { owner, scopes: ["documents:send"] }))).toBe(
      "no key: limit_reached",
    );
    await expect(
      makeKey(db, clock, { owner: { integratorId, scopedFirmId: await bound(integratorId) }, scopes: ["keys:manage"] }),
    ).rejects.toThrow();
  });

  test("the last two main keys, ended at once, leave one (C-13)", async () => {
    const { integratorId, key } = await makeIntegrator(db, clock);
    const second = await makeKey(db, clock, { owner: { integratorId }, scopes: ["keys:manage"] });
    const outcomes = await Promise.all([
      a.deactivateKey(key.id, integratorId),
      b.deactivateKey(second.id, integratorId),
    ]);
    expect([...outcomes].sort()).toEqual(["deactivated", "last_main_key"]);
  });

  const bound = async (integratorId: Parameters<typeof bind>[2]) => {
    const firm = await makeFirm(db, clock);
    await bind(db, clock, integratorId, firm.firmId);
    return firm.firmId;
  };
  const refusalOfKey = async (work: () => Promise<unknown>): Promise<string> => {
    try {
      await work();
      return "made";
    } catch (error) {
      return error instanceof Error ? error.message : "?";
    }
  };
});
