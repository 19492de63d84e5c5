/** Packs that an operator activates count while the engine runs. */
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LIMITS } from "../../../../engine/base/limits.js";
import { createLog } from "../../../../engine/base/log.js";
import { watchPacks } from "../../../../gateway/start/rule-packs.js";
import { invoiceWithLines } from "../../../../bench/documents.js";
import { createPool } from "../../../../validators/pool.js";
import type { ValidatorPool } from "../../../../validators/pool.js";
import { importRules } from "../../../../validators/schematron/release/import.js";
import { setActive } from "../../../../validators/schematron/release/load.js";
import { ActivePacks } from "../../../../validators/selection/active-packs.js";
import { NS } from "../../../../validators/xml/names.js";
import { SCAN_LIMITS } from "../../../../validators/xml/limits.js";
import { buildIfNeeded } from "../../../../deploy/build.mjs";

let folder: string;
let rulesDir: string;
let pool: ValidatorPool | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "active-packs-"));
  rulesDir = mkdtempSync(join(folder, "rules-"));
});
afterEach(async () => {
  await pool?.stop();
  pool = undefined;
  rmSync(folder, { recursive: true, force: true });
});

/** A release that refuses every invoice. */
function importStrict(id: string): void {
  const source = mkdtempSync(join(folder, "release-"));
  writeFileSync(
    join(source, "own.sch"),
    `<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2"><title>${id}</title>
    <ns prefix="i" uri="${NS.Invoice}"/>
    <pattern><rule context="/i:Invoice"><assert id="${id}-1" test="false()" flag="fatal">never</assert></rule></pattern></schema>`,
  );
  importRules({ source, rulesDir, id, layers: { "own.sch": `pack:${id}` } });
}

const idsOf = async (active: ActivePacks): Promise<string[]> => (await active.current()).rules.map(({ pack }) => pack);

test("a pack judges from its activation to its deactivation, and others come and go beside it", async () => {
  const active = new ActivePacks(rulesDir, 0);
  importStrict("a");
  expect(await idsOf(active)).toEqual([]);
  setActive(rulesDir, "a", true);
  expect(await idsOf(active)).toEqual(["pack:a"]);
  importStrict("b");
  setActive(rulesDir, "b", true);
  expect(await idsOf(active)).toEqual(["pack:a", "pack:b"]);
  setActive(rulesDir, "a", false);
  expect(await idsOf(active)).toEqual(["pack:b"]);
  rmSync(join(rulesDir, "b"), { recursive: true });
  expect(await idsOf(active)).toEqual([]);
});

test("packs are loaded once for as long as nothing changes", async () => {
  const active = new ActivePacks(rulesDir, 0);
  importStrict("a");
  setActive(rulesDir, "a", true);
  expect(await active.current()).toBe(await active.current());
});

test("within the time between two looks the folder is not read", async () => {
  const active = new ActivePacks(rulesDir, 60_000);
  expect(await idsOf(active)).toEqual([]);
  importStrict("a");
  setActive(rulesDir, "a", true);
  expect(await idsOf(active)).toEqual([]);
});

test("a pack that was damaged leaves in force what was loaded before, until it is whole again", async () => {
  const active = new ActivePacks(rulesDir, 0);
  importStrict("a");
  setActive(rulesDir, "a", true);
  const before = await active.current();
  const manifest = join(rulesDir, "a", "manifest.json");
  const whole = readFileSync(manifest);
  appendFileSync(manifest, "damaged");
  expect(await active.current()).toBe(before);
  await expect(new ActivePacks(rulesDir, 0).current()).rejects.toThrow("the rule pack a is not loaded");
  writeFileSync(manifest, whole);
  setActive(rulesDir, "a", false);
  expect(await idsOf(active)).toEqual([]);
});

test("a worker that has judged documents takes up a pack that is activated then", async () => {
  await buildIfNeeded();
  const workers = createPool({
    threads: { small: 1, large: 1 },
    queueMax: 10,
    queueBytesMax: 1_000_000,
    jobTimeoutMs: 20_000,
  });
  pool = workers;
  const judge = async (): Promise<readonly string[]> => {
    const options = { limits: SCAN_LIMITS, day: "2026-11-20", rulesDir, fairnessKey: "f" };
    return (await workers.validate(invoiceWithLines(1), options)).findings.map(({ ruleId }) => ruleId);
  };
  importStrict("a");
  expect(await judge()).toEqual([]);
  setActive(rulesDir, "a", true);
  await vi.waitFor(async () => expect(await judge()).toEqual(["a-1"]), { timeout: 20_000, interval: 100 });
});

test("the log of a running engine tells of packs that come and of one that cannot be used", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const lines: string[] = [];
  const end = watchPacks(rulesDir, createLog("info", { write: (line) => lines.push(line) }));
  const told = async (text: string): Promise<void> => {
    await vi.waitFor(() => {
      vi.advanceTimersByTime(LIMITS.rule_packs_look_ms);
      expect(lines.join("")).toContain(text);
    });
  };
  try {
    await vi.waitFor(() => {
      importStrict("a");
      setActive(rulesDir, "a", true);
      vi.advanceTimersByTime(LIMITS.rule_packs_look_ms);
      expect(lines.join("")).toContain("rules.packs_changed");
    });
    appendFileSync(join(rulesDir, "a", "manifest.json"), "damaged");
    await told("rules.pack_refused");
  } finally {
    end();
    vi.useRealTimers();
  }
});
