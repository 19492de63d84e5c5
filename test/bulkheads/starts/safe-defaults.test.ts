/** What nobody may have chosen by leaving it out: a sandbox on real data, revocation in production, one id for all the world. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { ConfigError, loadConfig } from "../../../engine/base/config.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import type { InboundExchange } from "../../../engine/peppol/transport.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";
import { PEER_SEAT, statusBench, STRANGER_SEAT } from "../../support/as4/statuses.js";
import type { StatusBench } from "../../support/as4/statuses.js";

const sentences = (environment: NodeJS.ProcessEnv): readonly string[] => {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.sentences;
    throw error;
  }
};

describe("a start that may meet real data", () => {
  const real = { DATABASE_URL: "postgres://db/kurier", AS4_KEYSTORE: "/keys/ap.p12" };

  test.each(Object.entries(real))("with %s asks for ENVIRONMENT in one sentence", (name, value) => {
    expect(sentences({ [name]: value })).toEqual([
      expect.stringMatching(new RegExp(`^ENVIRONMENT must be set when ${name} is: .*\\.$`)),
    ]);
    expect(sentences({ [name]: value, ENVIRONMENT: "" })).toHaveLength(1);
  });

  test("with ENVIRONMENT=sandbox has said yes", () => {
    expect(sentences({ ...real, ENVIRONMENT: "sandbox" })).toEqual([]);
    expect(loadConfig({ ...real, ENVIRONMENT: "sandbox" }).REVOCATION).toBe("soft");
  });

  test("in production asks for REVOCATION, and takes each of its values", () => {
    const production = {
      ...real,
      ENVIRONMENT: "production",
      MASTER_KEY: Buffer.alloc(32, 1).toString("base64"),
      PEPPOL_TRUST_DIR: "/trust",
      PUBLIC_URL: "https://kurier.example",
    };
    expect(sentences(production)).toEqual([
      expect.stringMatching(/^REVOCATION must be set when ENVIRONMENT is production: .*\.$/),
    ]);
    for (const value of ["off", "soft", "hard"]) expect(sentences({ ...production, REVOCATION: value })).toEqual([]);
  });
});

describe("the ids of a message", () => {
  const BUYER = "0245:2020202020" as ParticipantId;
  const SELLER = "0245:1010101010" as ParticipantId;
  const clock = fakeClock();
  let db: TestDatabase;
  let bench: StatusBench;

  beforeAll(async () => {
    db = await freshDatabase();
    await seedFirm(db.sql, BUYER);
    bench = statusBench(db, clock);
  });
  afterAll(() => db.drop());

  const from = (peerSeat: string, changes: Partial<InboundExchange> = {}): InboundExchange => ({
    sender: SELLER,
    receiver: BUYER,
    ...(BILLING_CAPABILITIES[0] ?? { documentTypeId: "", processId: "" }),
    as4MessageId: `${randomUUID()}@peer`,
    sbdhInstanceId: randomUUID(),
    createdAt: clock.now(),
    payload: Buffer.from(
      sampleInvoice({
        ...{ sender: SELLER, receiver: BUYER, senderName: "Seller", receiverName: "Buyer" },
        ...{ number: `N-${randomUUID()}`, issueDate: "2026-11-20", lines: 1 },
      }),
    ),
    envelope: { mls: { type: "FAILURE_ONLY", to: undefined }, countryC1: "AT", peerSeat },
    ...changes,
  });

  test.each(["as4MessageId", "sbdhInstanceId"] as const)(
    "a stranger who uses an %s first takes nothing from the access point that uses it later",
    async (name) => {
      const stranger = from(STRANGER_SEAT);
      const later = from(PEER_SEAT, { [name]: stranger[name] });
      expect([(await bench.receive(stranger)).kind, (await bench.receive(later)).kind]).toEqual(["stored", "stored"]);
      expect([(await bench.receive(stranger)).kind, (await bench.receive(later)).kind]).toEqual([
        "duplicate",
        "duplicate",
      ]);
      const another = from(PEER_SEAT, { [name]: stranger[name] });
      expect((await bench.receive(another)).kind).toBe("conflict");
    },
  );

  test("messages of two access points with one id that come at once are both stored, also in one statement", async () => {
    const as4MessageId = `${randomUUID()}@both`;
    const seats = [STRANGER_SEAT, PEER_SEAT, STRANGER_SEAT, PEER_SEAT];
    const outcomes = await Promise.all(seats.map((seat) => bench.receive(from(seat, { as4MessageId }))));
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["conflict", "conflict", "stored", "stored"]);
  });

  test("ids that were stored before seats were kept stay taken for everybody", async () => {
    const old = from(PEER_SEAT);
    await bench.receive(old);
    await db.sql`update received_document set peer_seat = '' where as4_message_id = ${old.as4MessageId}`;
    expect((await bench.receive(old)).kind).toBe("duplicate");
    for (const name of ["as4MessageId", "sbdhInstanceId"] as const)
      expect((await bench.receive(from(STRANGER_SEAT, { [name]: old[name] }))).kind).toBe("conflict");
  });
});
