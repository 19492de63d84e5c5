/** vitest globalSetup: temporary files of the run lie in memory where there is plenty, unless TMPDIR says where. */
import { existsSync, rmSync, statfsSync } from "node:fs";

import { systemClock } from "../../engine/base/clock.js";
import { scratchFolder } from "./scratch.js";

const PLACE = "/dev/shm";

function placeBytes(): number {
  if (!existsSync(PLACE)) return 0;
  const { bavail, bsize } = statfsSync(PLACE);
  return bavail * bsize;
}

export default function setup(): (() => void) | undefined {
  if (process.env["TMPDIR"] !== undefined) return undefined;
  const folder = scratchFolder({
    place: PLACE,
    place_bytes: placeBytes(),
    memory_bytes: process.availableMemory(),
    now_ms: systemClock.now(),
  });
  if (folder === undefined) return undefined;
  // Workers take the environment of this process when they start, and os.tmpdir() looks at it each time.
  process.env["TMPDIR"] = folder;
  return () => {
    delete process.env["TMPDIR"];
    rmSync(folder, { recursive: true, force: true });
  };
}
