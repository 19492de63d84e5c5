/** The participant under which a service provider itself is reached belongs to no firm, whoever asks for it. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { parseParticipantId } from "../../../engine/base/ids.js";
import { makeFirm } from "../../../engine/identity/registration.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";
import { OWN } from "../../support/as4/statuses.js";

let db: TestDatabase;
beforeAll(async () => {
  db = await freshDatabase();
});
afterAll(() => db.drop());

test.each([OWN.participant, "0242:000777", "0242:000001-UNIT", "iso6523-actorid-upis::0242:000001"])(
  "rulings §14: a firm cannot be made with %s, and nothing is left of the try",
  async (text) => {
    const participantId = parseParticipantId(text);
    if (participantId === undefined) throw new Error("no participant");
    const ports = { sql: db.sql, clock: fakeClock(), environment: "sandbox" } as const;
    expect(await makeFirm(ports, { name: "The provider", participantId })).toBe("participant_of_provider");
    expect(await db.sql`select id from firm where name = 'The provider'`).toHaveLength(0);
  },
);

test("the database refuses it too, for doors that make participants in other ways", async () => {
  await expect(seedFirm(db.sql, OWN.participant)).rejects.toThrow(/participant_provider_check/);
});
