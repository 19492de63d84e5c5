/** Letters that commands send lead where those of the engine do, which has no PUBLIC_URL in a sandbox. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";
import { kurier } from "../../unit/commands/kurier.js";

let db: TestDatabase;
let firmId: string;
beforeAll(async () => {
  db = await freshDatabase();
  firmId = await seedFirm(db.sql, "0245:3000000002");
});
afterAll(() => db.drop());

test.each([
  ["0.0.0.0", "http://127.0.0.1:8080/sign-in"],
  ["::", "http://127.0.0.1:8080/sign-in"],
  ["::1", "http://[::1]:8080/sign-in"],
])(
  "the letter of an invitation has an address that can be opened where the engine listens on %s",
  async (HOST, link) => {
    const dataDir = mkdtempSync(join(tmpdir(), "kurier-links-"));
    try {
      const env = { DATA_DIR: dataDir, DATABASE_URL: db.url, ENVIRONMENT: "sandbox", NATS_URL: "embedded", HOST };
      const ran = await kurier(["owner", "invite", "--firm", firmId, "--email", `a@${HOST.length}.example.com`], {
        env,
      });
      expect([ran.code, ran.err]).toEqual([0, ""]);
      const mail = join(dataDir, "mail");
      const letters = readdirSync(mail).filter((name) => name.endsWith(".eml"));
      expect(letters.map((name) => readFileSync(join(mail, name), "utf8").includes(link))).toEqual([true]);
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  },
);
