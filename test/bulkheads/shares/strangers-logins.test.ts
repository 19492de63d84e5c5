/**
 * Who guesses waits with those who guess: a valid secret is looked at before it takes a turn, logins have connections
 * of their own, and an address is counted whatever client it names.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";

import { credentialKind, tokensThroughActors } from "../../../actors/credential.js";
import { startActors } from "../../../actors/system.js";
import type { ActorSystem } from "../../../actors/system.js";
import { systemClock } from "../../../engine/base/clock.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import type { Identity } from "../../../engine/identity/identity.js";
import { newSecret } from "../../../engine/identity/tokens/secrets.js";
import { openSql } from "../../../engine/storage/sql.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { route } from "../../../gateway/contract/route.js";
import { createRateLimiter } from "../../../gateway/request/rate-limit.js";
import { fakeClock } from "../../support/fake-clock.js";
import { startGateway } from "../../support/engines/gateway.js";
import { ADDRESS, makeFirm, refusalOf, startNode } from "../../support/callers/identity.js";
import type { TestFirm } from "../../support/callers/identity.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { openTransaction } from "../../support/database/transactions.js";

let db: TestDatabase;
let sql: Sql;
let loginSql: Sql;
let node: Identity;
let actors: ActorSystem;
let firm: TestFirm;
const clock = fakeClock();

beforeAll(async () => {
  db = await freshDatabase();
  sql = openSql({ url: db.url, name: "calls", connections: 1 });
  loginSql = openSql({ url: db.url, name: "logins", connections: 4 });
  node = await startNode(db, { clock, sql, loginSql });
  actors = startActors({ log: silentLog, metrics: createMetrics(), monotonic: () => systemClock.monotonic() });
  firm = await makeFirm(db, clock);
});
afterAll(async () => {
  await actors.stop();
  await node.stop();
  await Promise.all([sql.end({ timeout: 1 }), loginSql.end({ timeout: 1 })]);
  await db.drop();
});

const logIn = (clientId: string, clientSecret: string): Promise<string> =>
  refusalOf(() =>
    tokensThroughActors(actors, credentialKind(node), node).issueTokens({
      ...{ clientId, clientSecret, scope: undefined, door: "sapi", address: ADDRESS },
      receivedAt: clock.now(),
    }),
  );
const guess = (clientId: string = firm.key.id): Promise<string> => logIn(clientId, newSecret("sk_live", "sandbox"));

/** Takes a lock that others wait for; the answer gives it back. */
async function holding(lock: string): Promise<() => Promise<void>> {
  const transaction = await openTransaction(db.url);
  await transaction.run(lock);
  return transaction.commit;
}

test("behind a thousand guesses of a stranger the owner's secret is answered at once", async () => {
  const release = await holding("lock table failed_credential in access exclusive mode");
  const guesses = Array.from({ length: LIMITS.mailbox_max + 10 }, () => guess());
  // Beyond the mailbox a guess is turned away: from now on the line of guesses is full.
  expect(await Promise.race(guesses)).toBe("TEMPORARY");
  expect(await logIn(firm.key.id, firm.key.secret)).toBe("none");
  expect(await logIn(firm.key.prefix, firm.key.secret)).toBe("none");
  await release();
  expect(await Promise.all(guesses)).not.toContain("none");
});

test("while every connection of the calls is busy logins are answered", async () => {
  const release = await holding("select pg_advisory_xact_lock(1)");
  const call = sql`select pg_advisory_xact_lock(1)`.execute();
  expect(await logIn(firm.key.id, firm.key.secret)).toBe("none");
  expect(await guess("nobody")).toBe("CREDENTIALS_INVALID");
  await release();
  await call;
});

test("while every connection of the logins is busy calls are answered", async () => {
  const { accessToken } = await node.issueTokens({
    ...{ clientId: firm.key.id, clientSecret: firm.key.secret, scope: undefined, door: "sapi", address: ADDRESS },
    receivedAt: clock.now(),
  });
  const release = await holding("select pg_advisory_xact_lock(2)");
  const logins = Array.from({ length: 4 }, () => loginSql`select pg_advisory_xact_lock(2)`.execute());
  const late = logIn(firm.key.id, firm.key.secret);
  expect((await node.authenticate(accessToken, clock.now())).keyId).toBe(firm.key.id);
  await release();
  await Promise.all(logins);
  expect(await late).toBe("none");
});

test("an address that names a fresh client with each login is refused after as many as an address may make, unread", async () => {
  const limiter = createRateLimiter({ clock: fakeClock() });
  // All but the last ten were made before: only the count is the address's.
  for (let n = 10; n < LIMITS.rate_token_address; n++) void limiter.admit("token_address", "127.0.0.1");
  let handled = 0;
  const gateway = await startGateway(
    "node",
    [
      route({
        operation: "login",
        method: "POST",
        path: "/auth/token",
        mounts: ["/api/v1"],
        family: "auth",
        credential: "none",
        rate: "token",
        summary: "Logs in",
        request: { body: z.object({ client_id: z.string() }), accepts: ["json"] },
        responses: { 200: { description: "Tokens." } },
        errors: [],
        handler: () => {
          handled++;
          return { status: 200 };
        },
      }),
    ],
    { ports: { admit: (row, key) => limiter.admit(row, key) } },
  );
  const answers: (readonly [status: number, limit: string | null])[] = [];
  for (let n = 0; n <= 10; n++) {
    const answer = await fetch(`${gateway.origin}/api/v1/auth/token`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_id: `client ${n}` }),
    });
    answers.push([answer.status, answer.headers.get("x-ratelimit-limit")]);
  }
  expect(answers.slice(0, 10)).toEqual(Array.from({ length: 10 }, () => [200, String(LIMITS.rate_token)]));
  expect(answers[10]).toEqual([429, String(LIMITS.rate_token_address)]);
  expect(handled).toBe(10);
  await gateway.stop();
});
