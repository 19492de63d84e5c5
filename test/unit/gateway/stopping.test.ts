/** How the parts of a node stop: in the opposite order of their start, and all of them, whichever hangs. */
import { expect, test } from "vitest";

import { createLog } from "../../../engine/base/log.js";
import { Stack } from "../../../gateway/start/infrastructure.js";

test("a part that hangs and one that fails keep no other from stopping, and both are told of by their names", async () => {
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => void lines.push(line) });
  const stopped: string[] = [];
  const stack = new Stack(20);
  stack.add("first", () => void stopped.push("first"));
  stack.add("broken", () => Promise.reject(new Error("broken")));
  stack.add("hanging", () => new Promise<void>(() => undefined));
  stack.add("last", () => void stopped.push("last"));
  await Promise.all([stack.unwind(log), stack.unwind(log)]);
  expect(stopped).toEqual(["last", "first"]);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { event: "engine.stop_late", component: "hanging" },
    { event: "engine.stop_failed", component: "broken" },
  ]);
});
