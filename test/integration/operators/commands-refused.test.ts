/** Commands whose output, or whose database, takes nothing at the moment. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { FirmId } from "../../../engine/base/ids.js";
import { EXIT } from "../../../gateway/commands/command.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";
import { kurier } from "../../unit/commands/kurier.js";

let db: TestDatabase;
let dataDir: string;
let firmId: FirmId;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "kurier-refused-"));
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, "0245:3000000001");
});
afterAll(async () => {
  await db.drop();
  rmSync(dataDir, { recursive: true, force: true });
});

const settings = (): Record<string, string> => ({
  DATA_DIR: dataDir,
  DATABASE_URL: db.url,
  ENVIRONMENT: "sandbox",
  MIGRATE: "by-command",
  NATS_URL: "embedded",
});

test("retention whose log lies on a full disk removes what its time has come for all the same", async () => {
  await db.sql`insert into usage_month (firm_id, month, outbound, inbound) values (${firmId}, '2001-01-01', 1, 1)`;
  const ran = await kurier(["retention"], { env: settings(), full: ["out"] });
  expect(await db.sql`select month from usage_month where firm_id = ${firmId}`).toEqual([]);
  expect(ran).toEqual({
    code: EXIT.failed,
    out: "",
    err: "Standard output takes nothing more (ENOSPC): the command goes on, and what it says is lost.\n",
  });
});

test("each command that writes says in one sentence that its database can only be read, and may be run again", async () => {
  await db.sql.unsafe(`alter database ${new URL(db.url).pathname.slice(1)} set default_transaction_read_only = on`);
  for (const words of [
    "migrate",
    `owner invite --firm ${firmId} --email a@example.com`,
    `keys create --firm ${firmId}`,
    `plan set ${firmId} start`,
    "keys rotate-master",
    "meter rebuild",
  ])
    expect([words, await kurier(words.split(" "), { env: settings() })]).toEqual([
      words,
      {
        code: EXIT.away,
        out: "",
        err: "The database cannot be used: it can only be read now, as a standby can (25006); try again when it is there.\n",
      },
    ]);
});
