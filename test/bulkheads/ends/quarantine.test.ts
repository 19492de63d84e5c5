/** What becomes of the other documents when one that ends workers cannot be kept, as on a full disk. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { invoiceWithLines } from "../../../bench/documents.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { createLog } from "../../../engine/base/log.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { keepQuarantined } from "../../../gateway/start/data-dir.js";
import { quarantine, startQuarantineEnds, untilThreadsWork } from "../../../gateway/start/work/threads.js";
import { createPool } from "../../../validators/pool.js";
import { SCAN_LIMITS } from "../../../validators/xml/limits.js";
import { fakeClock } from "../../support/fake-clock.js";
import { bundleWorker } from "../../support/validators/worker-bundle.js";
import type { WorkerBundle } from "../../support/validators/worker-bundle.js";

const OPTIONS = { limits: SCAN_LIMITS, day: "2026-11-20", fairnessKey: "0245:2020202020" } as const;
const ENDS_ITS_WORKER = Buffer.from('<!--exit--><a n="1"/>');

const SEALER = createSealer([Buffer.alloc(32, 7)]);
const jobOf = (letter: string) =>
  ({
    kind: "validate",
    sha256: letter.repeat(64),
    reason: "exit",
    input: { bytes: Buffer.from("<Invoice/>") },
  }) as const;

let bundle: WorkerBundle;
let folder: string;
beforeAll(async () => {
  bundle = await bundleWorker("fixtures/hostile-worker.ts");
  folder = mkdtempSync(join(tmpdir(), "kurier-quarantine-"));
});
afterAll(async () => {
  await bundle.remove();
  rmSync(folder, { recursive: true, force: true });
});

test("a document that ends workers and cannot be kept ends no engine: it and those beside it are answered, and operators are told", async () => {
  // Stands where the folder is to be made, as nothing can be made on a full disk.
  writeFileSync(join(folder, "quarantine"), "");
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => lines.push(line) });
  const pool = createPool({
    threads: { small: 1, large: 1 },
    queueMax: 100,
    queueBytesMax: 100_000_000,
    jobTimeoutMs: 30_000,
    preload: ["validate"],
    workerFile: bundle.file,
    onQuarantine: quarantine({ log, dataDir: folder }, SEALER),
  });
  const documents = [ENDS_ITS_WORKER, ...[1, 2, 3].map((n) => invoiceWithLines(1, { number: `N-${n}` }))];
  const reports = await Promise.all(documents.map((bytes) => pool.validate(bytes, OPTIONS)));
  expect(reports.map(({ valid }) => valid)).toEqual([false, true, true, true]);
  expect(reports[0]?.findings).toMatchObject([{ ruleId: "ENGINE-QUARANTINED" }]);
  await pool.stop();
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { event: "validator.quarantined", code: reports[0]?.payloadSha256 },
    { event: "validator.not_kept" },
  ]);
  expect(readdirSync(folder)).toEqual(["quarantine"]);
});

test("a document that ended workers is kept for its time and goes then, with what a killed process has half kept; what is not one stays", () => {
  const dataDir = mkdtempSync(join(folder, "ends-"));
  const quarantined = join(dataDir, "quarantine");
  keepQuarantined(dataDir, SEALER, jobOf("a"));
  keepQuarantined(dataDir, SEALER, jobOf("b"));
  const [old = "", young = ""] = readdirSync(quarantined).sort();
  writeFileSync(join(quarantined, `${old}.4711`), "half");
  writeFileSync(join(quarantined, "note.txt"), "an operator's");
  const clock = fakeClock();
  const age = (name: string, age_ms: number): void => {
    const at = new Date(clock.now() - age_ms);
    utimesSync(join(quarantined, name), at, at);
  };
  for (const name of [old, `${old}.4711`, "note.txt"]) age(name, LIMITS.quarantine_kept_ms + 1_000);
  age(young, LIMITS.quarantine_kept_ms - 1_000);
  const log = createLog("silent");
  startQuarantineEnds({ clock, log, dataDir })();
  expect(readdirSync(quarantined).sort()).toEqual([young, "note.txt"].sort());
});

test("an engine ends what was long enough in quarantine, and does not mind where there is none", () => {
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => lines.push(line) });
  startQuarantineEnds({ clock: fakeClock(), log, dataDir: mkdtempSync(join(folder, "none-")) })();
  expect(lines).toEqual([]);
});

test("a folder and a link that leads nowhere, named like documents in quarantine, stay and keep none there beyond its time", () => {
  const dataDir = mkdtempSync(join(folder, "others-"));
  const quarantined = join(dataDir, "quarantine");
  keepQuarantined(dataDir, SEALER, jobOf("c"));
  const [old = ""] = readdirSync(quarantined);
  const [first, second] = ["a", "b"].map((letter) => old.replace(/^c+/, letter.repeat(64)));
  mkdirSync(join(quarantined, String(first)));
  symlinkSync("nowhere", join(quarantined, String(second)));
  const clock = fakeClock();
  const at = new Date(clock.now() - LIMITS.quarantine_kept_ms - 1_000);
  for (const name of [old, String(first)]) utimesSync(join(quarantined, name), at, at);
  startQuarantineEnds({ clock, log: createLog("silent"), dataDir })();
  expect(readdirSync(quarantined).sort()).toEqual([first, second]);
});

test("an engine to which many documents are sent while its threads start waits for its turn, and does not end", async () => {
  const pool = createPool({
    threads: { small: 1, large: 1 },
    queueMax: 8,
    queueBytesMax: 10_000_000,
    jobTimeoutMs: 30_000,
    preload: ["validate"],
    workerFile: bundle.file,
  });
  const sent = Array.from({ length: 40 }, (_, n) =>
    pool.validate(invoiceWithLines(1, { number: `N-${n}` }), { ...OPTIONS, fairnessKey: `0245:${n}` }),
  );
  const outcomes = Promise.allSettled(sent);
  await expect(untilThreadsWork(pool)).resolves.toBeUndefined();
  const refused = (await outcomes).filter(({ status }) => status === "rejected");
  await pool.stop();
  expect(refused.length).toBeGreaterThan(0);
});
