/** The sandbox's participants with a fate exist in the sandbox alone: production has neither their rows nor their names. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../engine/base/clock.js";
import { loadConfig } from "../../engine/base/config.js";
import { ensureDevelopmentPki } from "../../engine/peppol/pki/development.js";
import { FATES } from "../../engine/sandbox/fates.js";
import { buildIfNeeded } from "../../deploy/build.mjs";
import { startEngine } from "../../gateway/main.js";
import type { Engine } from "../../gateway/main.js";
import { freshDatabase } from "../support/postgres.js";
import type { TestDatabase } from "../support/postgres.js";

const TOKEN = "an-operators-token-of-at-least-32-characters";
const place = mkdtempSync(join(tmpdir(), "kurier-test-"));
const dataDir = join(place, "data");
let db: TestDatabase;
let engine: Engine;

beforeAll(async () => {
  await buildIfNeeded();
  db = await freshDatabase();
  const folder = join(place, "pki");
  await ensureDevelopmentPki({ folder, clock: systemClock });
  const store = join(place, "ap.p12");
  execFileSync("openssl", [
    ...["pkcs12", "-export", "-in", join(folder, "ap.pem"), "-out", store, "-passout", "pass:secret"],
  ]);
  engine = await startEngine(
    {
      ...loadConfig({}),
      ENVIRONMENT: "production",
      PORT: 0,
      ADMIN_PORT: 0,
      DATA_DIR: dataDir,
      DATABASE_URL: db.url,
      NATS_URL: "embedded",
      MASTER_KEY: Buffer.alloc(32, 7),
      VALIDATOR_THREADS: 1,
      ADMIN_TOKEN: TOKEN,
      AS4_KEYSTORE: store,
      AS4_KEYSTORE_PASSWORD: "secret",
      PEPPOL_TRUST_DIR: join(folder, "trust"),
    },
    { transport: "as4", logTo: { write: () => undefined } },
  );
});
afterAll(async () => {
  await engine.stop();
  await db.drop();
  rmSync(place, { recursive: true, force: true });
});

test("production has none of the rows of the sandbox", async () => {
  const authorization = `Bearer ${TOKEN}`;
  const statuses = await Promise.all([
    fetch(`${engine.adminUrl}/admin/sandbox/participants`, { headers: { authorization } }),
    fetch(`${engine.adminUrl}/admin/sandbox/receive`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ to: "0245:2120000025" }),
    }),
    fetch(`${engine.publicUrl}/sandbox/as4/0245%3A2199000001`, { method: "POST", body: "<a/>" }),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([404, 404, 404]);
  // The listener and the token are right: another row of operators answers.
  expect((await fetch(`${engine.adminUrl}/admin/firms`, { headers: { authorization } })).status).toBe(200);
});

test("production publishes none of the participants, names none of them in its reference, and makes no key for them", async () => {
  for (const path of ["/docs", "/docs/sapi", "/openapi/enterprise.json"]) {
    const text = await (await fetch(engine.publicUrl + path)).text();
    for (const id of FATES.keys()) expect([path, text.includes(id)]).toEqual([path, false]);
  }
  for (const id of FATES.keys()) {
    const group = await fetch(`${engine.publicUrl}/smp/${encodeURIComponent(`iso6523-actorid-upis::${id}`)}`);
    expect([id, group.status]).toEqual([id, 404]);
  }
  expect(readdirSync(dataDir, { recursive: true }).filter((name) => String(name).includes("peer"))).toEqual([]);
});
