/**
 * An engine that starts beside the empty mount point of a store says so, and so does `kurier doctor`: it goes on, since a
 * database that was restored without its evidence could exchange nothing otherwise.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import { createLog, silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { createEvidenceJournal } from "../../../engine/storage/evidence/journal.js";
import { openFileEvidence } from "../../../engine/storage/evidence/store-file.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { CHECKS, judgeCheck } from "../../../gateway/commands/operating/checks.js";
import { gatherInstallation } from "../../../gateway/commands/operating/facts.js";
import { Stack } from "../../../gateway/start/infrastructure.js";
import { startArchive, startPayloadStore } from "../../../gateway/start/work/keeping.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";

let db: TestDatabase;
let folder: string;
beforeEach(async () => {
  db = await freshDatabase();
  folder = mkdtempSync(join(tmpdir(), "kurier-empty-stores-"));
});
afterEach(async () => {
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
});

const environment = () => ({
  DATA_DIR: folder,
  ENVIRONMENT: "sandbox",
  DATABASE_URL: db.url,
  NATS_URL: "embedded",
  EVIDENCE_STORE: `file:${join(folder, "evidence")}`,
  PAYLOAD_STORE: `file:${join(folder, "payloads")}`,
});

/** What a start says of its stores. */
async function told(): Promise<readonly string[]> {
  const said: string[] = [];
  const log = createLog("info", { write: (line) => said.push(line) });
  const stack = new Stack();
  const base = {
    config: loadConfig(environment()),
    clock: systemClock,
    log,
    metrics: createMetrics(),
    stack,
    dataDir: folder,
  };
  await startPayloadStore(base, db.sql);
  await startArchive(base, db.sql, createSealer([Buffer.alloc(32, 7)]));
  await stack.unwind(silentLog);
  return said.map((line) => {
    const { level, event, component } = JSON.parse(line) as Readonly<Record<string, string>>;
    return [level, event, component].join(" ");
  });
}

/** What `kurier doctor` says of them. */
const judged = async () => {
  const check = CHECKS.find(({ name }) => name === "stores");
  return check && judgeCheck(check, await gatherInstallation({ environment: environment(), natsMonitor: undefined }));
};

const EMPTY = (store: string): string =>
  `${store} is an empty folder, or none, and the database says that something lies in it: its file system is not mounted, ${store} was changed, or all of it is lost.`;

test("an empty store in which nothing lies by what the database says is nothing to speak of", async () => {
  expect(await told()).toEqual([]);
  expect((await judged())?.state).toBe("ok");
});

test("a start says of each store that it is empty although something lies in it by what the database says, and goes on", async () => {
  const journal = createEvidenceJournal({
    sql: db.sql,
    store: openFileEvidence(join(folder, "evidence")),
    clock: systemClock,
  });
  const id = randomUUID();
  const at = systemClock.now();
  await journal.store({
    referencesSha256: "0".repeat(64),
    record: {
      facts: {
        ...{ direction: "outbound", id, outcome: "receipt", documentId: id, firmId: id, messageId: id, instanceId: id },
        ...{ sender: "0245:1", receiver: "0245:2", documentTypeId: "type", processId: "process" },
        ...{ requestAt: at, answerAt: at, requestContentType: "multipart/related" },
      },
      parts: [{ name: "request", bytes: Buffer.from("the envelope") }],
    },
  });
  await journal.stop();
  await db.sql`insert into payload_moved values (${id}, 'key', 1, 'object', 0, 1)`;
  mkdirSync(join(folder, "payloads", "2026"), { recursive: true });
  expect(await told()).toEqual([]);

  for (const name of ["evidence", "payloads"]) renameSync(join(folder, name), join(folder, `${name}-away`));
  mkdirSync(join(folder, "payloads"));
  expect(await judged()).toEqual({
    state: "missing",
    words: ["EVIDENCE_STORE", "PAYLOAD_STORE"].map(EMPTY).join(" "),
  });
  expect(await told()).toEqual(
    ["PAYLOAD_STORE", "EVIDENCE_STORE"].map((store) => `error storage.store_empty ${store}`),
  );
});
