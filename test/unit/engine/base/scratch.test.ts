/** Where temporary files of a test run lie: `test/support/scratch.ts`. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { systemClock } from "../../../../engine/base/clock.js";
import { canMountSmall, mountSmall, unmountSmall } from "../../../support/ballast.js";
import { scratchFolder } from "../../../support/scratch.js";

const ROOMY = 64e9;
/** More than any system gives to a process. */
const DEAD = 2 ** 22 + 1;
let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "kurier-scratch-"));
});
afterEach(() => {
  rmSync(place, { recursive: true, force: true });
});
const machine = () => ({ place, memory_bytes: ROOMY, place_bytes: ROOMY, now_ms: systemClock.now() });

test("where there is room a run has a folder of its own, open to programs of other users as /tmp is", () => {
  const [one, other] = [scratchFolder(machine()), scratchFolder(machine())];
  expect(one?.startsWith(join(place, `kurier-run-${process.pid}-`))).toBe(true);
  expect(other).not.toBe(one);
  expect(statSync(one ?? "").mode & 0o7777).toBe(0o1777);
});

test("where memory is short, or there is no such place, the disk has to do", () => {
  expect(scratchFolder({ ...machine(), memory_bytes: 7e9 })).toBeUndefined();
  expect(scratchFolder({ ...machine(), place_bytes: 3e9 })).toBeUndefined();
  expect(scratchFolder({ ...machine(), place: join(place, "nowhere") })).toBeUndefined();
});

/** A folder of a run, as old as one likes. */
function leave(pid: number, age_ms: number, now_ms: number): string {
  const folder = join(place, `kurier-run-${pid}-${age_ms}`);
  mkdirSync(join(folder, "data"), { recursive: true });
  utimesSync(folder, (now_ms - age_ms) / 1_000, (now_ms - age_ms) / 1_000);
  return folder;
}

test("what killed runs have left goes after an hour; what a run still has, or had a moment ago, stays", () => {
  const now_ms = systemClock.now();
  const [old, recent, living] = [
    leave(DEAD, 7_200_000, now_ms),
    leave(DEAD, 60_000, now_ms),
    leave(process.pid, 7_200_000, now_ms),
  ];
  scratchFolder({ ...machine(), now_ms });
  expect([old, recent, living].map((folder) => existsSync(folder))).toEqual([false, true, true]);
});

test.skipIf(!canMountSmall("1m"))(
  "what a killed run has left mounted ends no other run: its folder stays, and the others go",
  () => {
    const now_ms = systemClock.now();
    const [held, free] = [leave(DEAD, 7_200_000, now_ms), leave(DEAD, 7_300_000, now_ms)];
    mountSmall(join(held, "data"), "1m");
    try {
      expect(scratchFolder({ ...machine(), now_ms })).toBeDefined();
      expect([held, free].map((folder) => existsSync(folder))).toEqual([true, false]);
    } finally {
      unmountSmall(join(held, "data"));
    }
  },
);
