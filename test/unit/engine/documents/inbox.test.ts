/** Goal: however many ask at once for their inbox, what waits in memory is bounded, and who is one too many is told so. */
import { expect, test } from "vitest";

import { systemClock } from "../../../../engine/base/clock.js";
import { createCursors } from "../../../../engine/base/cursors.js";
import { Refusal } from "../../../../engine/base/errors.js";
import type { FirmId, ParticipantId } from "../../../../engine/base/ids.js";
import { LIMITS } from "../../../../engine/base/limits.js";
import { createInbox } from "../../../../engine/documents/inbound/inbox.js";
import { createSealer } from "../../../../engine/storage/sealer.js";
import { fakeSql } from "../../../support/fake-sql.js";

const READER = {
  firmId: "0197b2f0-0000-7000-8000-000000000001" as FirmId,
  participantId: "0245:1111111111" as ParticipantId,
};

test("the last of more questions for the inbox at one moment than may wait is refused for now", async () => {
  const silent = fakeSql(() => new Promise(() => undefined));
  const key = Buffer.alloc(32, 1);
  const inbox = createInbox({
    sql: silent,
    sealer: createSealer([key]),
    cursors: createCursors(key),
    clock: systemClock,
  });
  const ask = (): Promise<unknown> =>
    inbox.list({ reader: READER, status: "RECEIVED", limit: 1, pageToken: undefined });
  const waiting = Array.from({ length: LIMITS.statement_waiting_max }, ask);
  const refused = await ask().then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(refused instanceof Refusal ? refused.reason : refused).toBe("TEMPORARY");
  const settled = await Promise.race([...waiting, Promise.resolve("none of them is settled")]);
  expect(settled).toBe("none of them is settled");
});
