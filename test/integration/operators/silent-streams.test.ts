/** What operators see while NATS is away: all that Postgres knows, and that nobody knows of the streams. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { HEARTBEAT } from "../../../gateway/web/console/heartbeat.js";
import { http, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { shortenLimits } from "../../support/engines/limits.js";
import { freePort } from "../../support/engines/process.js";
import { formOf, Visitor } from "../../support/callers/visitor.js";

let node: TestEngine;
let restore: () => void;

beforeAll(async () => {
  restore = shortenLimits({ metrics_timeout_ms: 200, stop_timeout_ms: 2_000 });
  node = await startTestEngine({ config: { NATS_URL: `nats://127.0.0.1:${await freePort()}` } });
});
afterAll(async () => {
  await node.stop();
  restore();
});

const UNKNOWN = ["dispatch", "events"].map((stream) => ({ stream, pending: null, oldestAge_s: null }));

const asked = (path: string) =>
  http("GET", `${node.engine.adminUrl}${path}`, { authorization: `Bearer ${node.sandbox.admin.token}` });

test("the heartbeat is there while NATS is away, as JSON and as the console's first page, and says that of the streams nobody knows", async () => {
  const beat = HEARTBEAT.parse((await asked("/admin/heartbeat")).json);
  expect(beat.streams).toEqual(UNKNOWN);
  expect(beat.documents.length).toBeGreaterThan(0);
  const visitor = new Visitor(node.engine.adminUrl);
  await visitor.submit(formOf(await visitor.get("/console/sign-in"), "/console/sign-in"), {
    token: node.sandbox.admin.token,
  });
  const page = await visitor.get("/console");
  expect([page.status, /dispatch.*unknown/s.test(page.text)]).toEqual([200, true]);
});

test("the list of streams is answered while NATS is away, with the age of the oldest due dispatch", async () => {
  const { status, json } = await asked("/admin/streams");
  expect([status, json]).toEqual([200, { streams: UNKNOWN, oldestDueDispatchSeconds: 0 }]);
});
