/** Who may learn, or hold up others by, how large a document is: its own firm, and operators. Method: rows of two firms. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { acceptDocuments } from "../../../engine/storage/documents/documents.js";
import { findPayloadBytes } from "../../../engine/storage/payloads/find.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { newDocumentRow, seedFirm } from "../../support/database/seed.js";

const LARGE = 20_000_000;

let db: TestDatabase;
beforeAll(async () => {
  db = await freshDatabase();
});
afterAll(() => db.drop());

test("a large document is large for its firm and for operators, and not there for another firm, in whatever letters its id is written", async () => {
  const [firmId, other] = [await seedFirm(db.sql, "0245:1111111111"), await seedFirm(db.sql, "0245:2222222222")];
  const large = newDocumentRow(firmId, "0245:1111111111", { payloadBytes: LARGE });
  const small = newDocumentRow(firmId, "0245:1111111111");
  expect(await acceptDocuments(db.sql, [large, small])).toMatchObject([{ kind: "accepted" }, { kind: "accepted" }]);
  const asked = [
    { id: large.id, firmId },
    { id: large.id.toUpperCase(), firmId },
    { id: large.id },
    { id: large.id, firmId: other },
    { id: small.id, firmId },
  ];
  expect(await Promise.all(asked.map((one) => findPayloadBytes(db.sql, one)))).toEqual([
    ...[LARGE, LARGE, LARGE],
    undefined,
    small.payloadBytes,
  ]);
});
