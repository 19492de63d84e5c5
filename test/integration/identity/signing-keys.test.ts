/**
 * A key that signs access tokens, and leaked, is ended by an operator: nothing that it signed is believed by any node,
 * and nobody has to do more than ask for another token.
 * @source design/reliability.md, A-15; D-524
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { Identity } from "../../../engine/identity/identity.js";
import type { CreatedKey } from "../../../engine/identity/keys.js";
import { openChannel } from "../../../engine/storage/channel.js";
import type { Channel } from "../../../engine/storage/channel.js";
import { EXIT } from "../../../gateway/commands/command.js";
import { signingKeyCommands } from "../../../gateway/commands/keys/signing.js";
import {
  ADDRESS,
  callerOf,
  cutChannel,
  login,
  makeFirm,
  refusalOf,
  startNode,
} from "../../support/callers/identity.js";
import type { NodeOptions } from "../../support/callers/identity.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { hearCommand } from "../../support/engines/heard-command.js";
import { eventually } from "../../support/eventually.js";
import { fakeClock } from "../../support/fake-clock.js";

/** Of today: commands have the time of day. */
const clock = fakeClock(systemClock.now());
let db: TestDatabase;
let key: CreatedKey;
const running: Identity[] = []; // Bounded by the nodes of one test.

beforeAll(async () => {
  db = await freshDatabase();
  ({ key } = await makeFirm(db, clock));
});
beforeEach(async () => {
  await db.sql`delete from signing_key`;
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((node) => node.stop()));
  // Of one whose pool has ended, too, or the next command waits for it.
  await db.sql`delete from node`;
});
afterAll(() => db.drop());

const start = async (options: Partial<NodeOptions> = {}): Promise<Identity> => {
  const node = await startNode(db, { clock, ...options });
  running.push(node);
  return node;
};
const kidOf = (token: string): string =>
  (JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()) as { readonly kid: string }).kid;
const tokenOf = async (node: Identity): Promise<string> => (await login(node, key, clock)).accessToken;
const answer = (node: Identity, token: string): Promise<string> => refusalOf(() => callerOf(node, token, clock));
const keys = (name: string, ...args: readonly string[]) =>
  hearCommand({ commands: signingKeyCommands, name: `keys ${name}`, databaseUrl: db.url, args });
const retire = (...meant: readonly string[]) => keys("retire-signing", ...meant, "--reason", "a copy was stolen");

test("when the command ends no node believes a token of the retired key, and each signs with another at once", async () => {
  const [one, other] = [await start(), await start()];
  const pair = await login(one, key, clock);
  const leaked = kidOf(pair.accessToken);
  for (const node of [one, other]) expect(await answer(node, pair.accessToken)).toBe("none");
  const { code, said } = await retire(leaked);
  expect([code, said]).toEqual([EXIT.ok, expect.stringMatching(new RegExp(`^${leaked} {2}retired\n.+ refused `, "u"))]);
  for (const node of [one, other]) expect(await answer(node, pair.accessToken)).toBe("TOKEN_INVALID");
  const fresh = [await tokenOf(one), await tokenOf(other)];
  const renewed = await one.renewTokens({
    refreshToken: pair.refreshToken,
    address: ADDRESS,
    receivedAt: clock.now(),
  });
  for (const token of [...fresh, renewed.accessToken]) {
    expect(kidOf(token)).not.toBe(leaked);
    for (const node of [one, other]) expect(await answer(node, token)).toBe("none");
  }
  expect(one.jwks().keys.map(({ kid }) => kid)).not.toContain(leaked);
});

test("a node that hears no announcement neither believes a retired key nor signs with it, from the next request on", async () => {
  const channel = cutChannel();
  const deaf = await start({ openChannel: channel.open });
  const token = await tokenOf(deaf);
  await eventually("it hears at first", () => deaf.isFresh());
  expect(await answer(deaf, token)).toBe("none");
  channel.cut();
  // What it read when it noticed that it hears nothing is behind it.
  expect(await answer(deaf, token)).toBe("none");
  expect((await retire(kidOf(token))).code).toBe(EXIT.ok);
  expect(await answer(deaf, token)).toBe("TOKEN_INVALID");
  expect(kidOf(await tokenOf(deaf))).not.toBe(kidOf(token));
});

test("tokens of strangers cost a node that hears no announcement no statement", async () => {
  const channel = cutChannel();
  const pool = db.another("ends early");
  const deaf = await start({ openChannel: channel.open, sql: pool });
  const token = await tokenOf(deaf);
  channel.cut();
  // The look of the moment in which it noticed is behind it.
  expect(await answer(deaf, token)).toBe("none");
  await pool.end();
  const [header = "", claims = "", signature = ""] = token.split(".");
  // Any statement would be a 503 now; this one has the id of a key of ours, which everybody may read.
  const forged = `${header}.${claims}.${signature.replace(/^./u, (first) => (first === "A" ? "B" : "A"))}`;
  expect(await answer(deaf, forged)).toBe("TOKEN_INVALID");
});

describe("the command line", () => {
  test("each key is listed with what it does: published, signs, verifies, retired", async () => {
    const node = await start();
    const states = async (): Promise<readonly (string | undefined)[]> =>
      (await keys("list-signing")).said.split("\n").map((row) => row.split("  ")[1]);
    const move = (days: number) => db.sql`
      update signing_key set signs_from = now() + ${days} * interval '1 day',
        signs_until = now() + ${days + 30} * interval '1 day'`;
    await tokenOf(node);
    // It would publish another in the place of one that is moved.
    for (const each of running.splice(0)) await each.stop();
    await move(-1);
    expect(await states()).toEqual(["signs", undefined]);
    await move(1);
    expect(await states()).toEqual(["published", undefined]);
    await db.sql`update signing_key set signs_from = now() - interval '2 minutes', signs_until = now() - interval '1 minute'`;
    expect(await states()).toEqual(["verifies", undefined]);
    await db.sql`update signing_key set retired_at = now()`;
    expect(await states()).toEqual(["retired", undefined]);
  });

  test("a key that is retired twice keeps the time of the first, is announced again, and stands twice in the operators' record with the reason", async () => {
    const node = await start();
    const kid = kidOf(await tokenOf(node));
    const retiredAt = async (): Promise<unknown> =>
      (await db.sql`select retired_at as at from signing_key where kid = ${kid}`)[0]?.["at"];
    expect((await retire(kid)).code).toBe(EXIT.ok);
    const first = await retiredAt();
    const announced = vi.fn();
    const channel = await new Promise<Channel>((resolve) => {
      const opened = openChannel({
        ...{ url: db.url, name: "test-retired", channel: "kurier_identity", onMessage: announced },
        onUp: () => {
          resolve(opened);
        },
        onDown: () => undefined,
      });
    });
    expect((await retire(kid)).code).toBe(EXIT.ok);
    expect(await retiredAt()).toEqual(first);
    await eventually("the second is announced", () => announced.mock.calls.flat().includes(`signing_key:${kid}`));
    await channel.close();
    const noted = await db.sql`
      select event, target_type, metadata ->> 'reason' as reason from audit_entry where target_id = ${kid}`;
    expect(noted).toEqual(
      Array.from({ length: 2 }, () => ({
        ...{ event: "operator.signing_key_retired", target_type: "signing_key", reason: "a copy was stolen" },
      })),
    );
  });

  test("all keys end with --all, also one that is published and has signed nothing yet", async () => {
    const node = await start();
    const token = await tokenOf(node);
    await db.sql`
      insert into signing_key (kid, seq, alg, public_jwk, private_sealed, master_key_id, published_at, signs_from, signs_until)
      select 'next', seq + 1, alg, public_jwk, private_sealed, master_key_id, published_at, signs_until,
        signs_until + interval '30 days' from signing_key`;
    const { code, said } = await retire("--all");
    expect([code, said.match(/ {2}retired$/gmu)?.length]).toEqual([EXIT.ok, 2]);
    expect(await answer(node, token)).toBe("TOKEN_INVALID");
    const fresh = await tokenOf(node);
    expect(await answer(node, fresh)).toBe("none");
    // What was made since is one of all.
    expect((await retire("--all")).code).toBe(EXIT.ok);
    expect(await answer(node, fresh)).toBe("TOKEN_INVALID");
  });

  test("keys retire-signing ends no key where its id is none, which the operators' record says, where nobody says which or why", async () => {
    await start();
    // One of 64 ids begins with a dash, as an option does.
    const unknown = "x".repeat(43);
    for (const none of [unknown, `-${"x".repeat(42)}`])
      expect([none, await retire(none)]).toEqual([
        none,
        { code: EXIT.failed, said: "There is no signing key of this id; kurier keys list-signing lists them.\n" },
      ]);
    const noted = await db.sql`
      select event, metadata ->> 'refusal' as refusal from audit_entry where target_id = ${unknown} order by position`;
    expect(noted).toEqual([
      { event: "operator.signing_key_retired", refusal: null },
      { event: "operator.failed", refusal: "NOT_FOUND" },
    ]);
    for (const args of [[], ["none"], [unknown, "--all"]])
      await expect(retire(...args)).rejects.toThrow(/^Name one key by its id, or all with --all;/u);
    await expect(keys("retire-signing", "--all")).rejects.toThrow(/^--reason must say why, /u);
  });
});
