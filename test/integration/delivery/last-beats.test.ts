/**
 * A node is heard whatever its statements wait for, and one that stops is heard by the others until its actors have ended: whom they do not hear they take for dead, and
 * do again what it is still doing. Method: a whole engine, in which somebody listens when its actors have ended.
 */
import { expect, onTestFinished, test, vi } from "vitest";

import { Stack } from "../../../gateway/start/infrastructure.js";
import { startTestEngine } from "../../support/engines/engine.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";
import { openTransaction } from "../../support/database/transactions.js";

test("a node that stops says that it is alive until its actors have ended, and no longer", async () => {
  onTestFinished(shortenLimits({ dispatcher_beat_ms: 5 }));
  const db = await freshDatabase();
  onTestFinished(() => db.drop());
  const lastHeard = async (): Promise<string | undefined> =>
    (await db.sql<{ at: string }[]>`select max(seen_at)::text as at from dispatcher`)[0]?.at;
  const stopped: string[] = [];
  let heard = 0;
  const listen = async (): Promise<void> => {
    for (const _beat of [1, 2, 3]) {
      const before = await lastHeard();
      await eventually("it is heard", async () => (await lastHeard()) !== before);
      heard += 1;
    }
  };
  const { add } = Stack.prototype;
  const spy = vi.spyOn(Stack.prototype, "add").mockImplementation(function (this: Stack, name, end) {
    add.call(this, name, async () => {
      await end();
      if (name === "actors") await listen();
      stopped.push(name);
    });
  });
  onTestFinished(() => {
    spy.mockRestore();
  });
  const node = await startTestEngine({ db });
  await node.stop();
  expect(heard).toBe(3);
  expect(
    stopped.filter((name) => ["dispatcher", "actors", "beats", "connections to the database"].includes(name)),
  ).toEqual(["dispatcher", "actors", "beats", "connections to the database"]);
});

test("a process whose connections all wait for a lock is heard all the same", async () => {
  onTestFinished(
    shortenLimits({
      dispatcher_beat_ms: 5,
      db_connections: 2,
      db_lock_timeout_ms: 60_000,
      db_statement_timeout_ms: 60_000,
    }),
  );
  const db = await freshDatabase();
  onTestFinished(() => db.drop());
  const node = await startTestEngine({ db });
  onTestFinished(() => node.stop());
  const lastHeard = async (): Promise<string | undefined> =>
    (await db.sql<{ at: string }[]>`select max(seen_at)::text as at from dispatcher`)[0]?.at;
  const holder = await openTransaction(db.url);
  await holder.run("lock table document in access exclusive mode");
  await eventually("all connections of the pool wait for the lock", async () => {
    const [row] = await db.sql<{ waiting: number }[]>`
      select count(*)::integer as waiting from pg_stat_activity
      where datname = current_database() and application_name = 'kurier' and wait_event_type = 'Lock'`;
    return row?.waiting === 2;
  });
  for (const _beat of [1, 2, 3]) {
    const before = await lastHeard();
    await eventually("it is heard", async () => (await lastHeard()) !== before);
  }
  await holder.commit();
});
