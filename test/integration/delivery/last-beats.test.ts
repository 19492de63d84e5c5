/**
 * A node that stops is heard by the others until its actors have ended: whom they do not hear they take for dead, and
 * do again what it is still doing. Method: a whole engine, in which somebody listens when its actors have ended.
 */
import { expect, onTestFinished, test, vi } from "vitest";

import { Stack } from "../../../gateway/start/infrastructure.js";
import { startTestEngine } from "../../support/engines/engine.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { eventually } from "../../support/eventually.js";
import { freshDatabase } from "../../support/database/postgres.js";

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
