/** When an engine that starts says that it is ready. */
import { expect, onTestFinished, test } from "vitest";

import { freshDatabase } from "../../support/database/postgres.js";
import { openTransaction } from "../../support/database/transactions.js";
import { startTestEngine } from "../../support/engines/engine.js";
import { freePort } from "../../support/engines/process.js";
import { eventually } from "../../support/eventually.js";

test("an engine that starts is ready once every part of it has started, and not as soon as it listens", async () => {
  const db = await freshDatabase();
  onTestFinished(() => db.drop());
  const [PORT, ADMIN_PORT] = [await freePort(), await freePort()];
  const asked = (port: number, path: string): Promise<number | undefined> =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      ({ status }) => status,
      () => undefined,
    );
  // What an earlier process has left under lease is freed last of all, and waits for this lock.
  const holder = await openTransaction(db.url);
  await holder.run("lock table document in exclusive mode");
  const starting = startTestEngine({ db, config: { PORT, ADMIN_PORT } });
  await eventually("it listens", async () => (await asked(PORT, "/")) === 200);
  const before = await asked(ADMIN_PORT, "/readyz");
  await holder.commit();
  const node = await starting;
  onTestFinished(() => node.stop());
  expect([before, await asked(ADMIN_PORT, "/readyz")]).toEqual([503, 200]);
});
