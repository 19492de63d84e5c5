/**
 * An engine that was frozen for so long that another one took its DATA_DIR. Method: the program as users start it, and a
 * lock as an engine of another container writes and touches it; a second engine is not started.
 */
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import { EXIT } from "../../../gateway/commands/command.js";
import { isRunning } from "../../../engine/embedded/child.js";
import { killEverythingOn, startEngineProcess } from "../../support/engines/process.js";
import { eventually } from "../../support/eventually.js";

const OF_ANOTHER = "1\nsome-boot/1\nsome-boot/pid:[1]\n";
let dataDir: string;
beforeAll(async () => {
  await buildIfNeeded();
  dataDir = mkdtempSync(join(tmpdir(), "kurier-taken-over-"));
});
afterEach(() => {
  killEverythingOn(dataDir);
  rmSync(dataDir, { recursive: true, force: true });
});

test("an engine whose DATA_DIR another one has taken, and touches, says so, drains with its children, and ends with the code of what passes", async () => {
  const engine = await startEngineProcess({ dataDir });
  const postmaster = Number(readFileSync(join(dataDir, "postgres/postmaster.pid"), "latin1").split("\n")[0]);
  process.kill(engine.pid, "SIGSTOP");
  const lock = join(dataDir, "engine.lock");
  writeFileSync(lock, OF_ANOTHER);
  process.kill(engine.pid, "SIGCONT");
  let touched_s = 0;
  await eventually("it has ended", () => {
    touched_s += 1;
    utimesSync(lock, touched_s, touched_s);
    return engine.ended();
  });
  expect(await engine.stop()).toBe(EXIT.away);
  expect(engine.output()).toContain('"event":"engine.data_dir_lost"');
  expect(engine.output()).toMatch(/^Another engine has taken DATA_DIR, .+ may be started again\.$/m);
  expect([isRunning(postmaster), readFileSync(lock, "utf8")]).toEqual([false, OF_ANOTHER]);
});
