/**
 * COUNTRY_C1 from a send over SAPI to what arrives over AS4 and is reported: the country of the party that sends, which
 * is the customer in self-billing. Method: an engine that delivers to itself over AS4, so that the envelope is built,
 * signed, opened and read on the way. @source spec/rulings.md, section 14
 */
import { afterAll, beforeAll, expect, test } from "vitest";

import { bratislavaDay, systemClock } from "../../../engine/base/clock.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { countEndUsers, countTransactions } from "../../../engine/storage/reporting.js";
import { accessToken, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { Mailbox, TestEngine } from "../../support/engines/engine.js";
import { documentSaying, KNOWN_TYPES, typeIdOf } from "../../support/documents/declared-types.js";
import { eventually } from "../../support/eventually.js";

let t: TestEngine;
let sender: Mailbox;
beforeAll(async () => {
  t = await startTestEngine({ transport: "as4" });
  sender = { participantId: t.sandbox.sender.participantId, token: await accessToken(t.sandbox, t.sandbox.sender) };
});
afterAll(() => t.stop());

/** Whether a type sends for its supplier, in Austria, or for its customer, in Slovakia. */
const COUNTRY = { supplier: "AT", customer: "SK" } as const;

test.each(
  KNOWN_TYPES.filter(({ customization, isExtended }) => customization.endsWith("billing:3.0") && !isExtended).map(
    (type) => [type.customization, type.sends, COUNTRY[type.sends], type] as const,
  ),
)(
  "%s with a supplier in Austria and a customer in Slovakia is sent, received and reported as of the %s's country %s",
  async (_, _role, country, type) => {
    const people = {
      sender: sender.participantId as ParticipantId,
      receiver: t.sandbox.receiver.participantId as ParticipantId,
    };
    const number = `C1-${country}`;
    const payload = documentSaying({ ...type, root: "Invoice" }, people, number)
      .toString()
      .replace(/(<cbc:IdentificationCode>)SK/u, "$1AT")
      .replaceAll("2026-11-20", bratislavaDay(systemClock.now()));
    const metadata = { documentTypeId: typeIdOf("Invoice", type.customization), processId: type.process };
    const answer = await send(t.sandbox, sender, sendParts(people.sender, people.receiver, payload, metadata));
    expect(answer.status, answer.text).toBe(202);
    const countries = await eventually("both sides have the exchange", async () => {
      const rows = await t.db.sql<{ direction: string; c1_country: string }[]>`
      select e.direction, e.c1_country from exchange as e where e.id = ${String(answer.json["providerDocumentId"])}
      union all
      select e.direction, e.c1_country from exchange as e
      join received_document as r on r.id = e.id join document as d on d.sbdh_instance_id::text = r.sbdh_instance_id
      where d.id = ${String(answer.json["providerDocumentId"])}`;
      return rows.length === 2 && rows;
    });
    expect(countries.map(({ direction, c1_country }) => `${direction} ${c1_country}`).sort()).toEqual([
      `incoming ${country}`,
      `outgoing ${country}`,
    ]);
    const all = { from: 0, to: systemClock.now() + 1 };
    const { documentTypeId } = metadata;
    const incoming = (await countTransactions(t.db.sql, all)).filter(
      (row) => row.direction === "incoming" && row.documentTypeId === documentTypeId,
    );
    expect(incoming.map(({ c1Country, count }) => [c1Country, count])).toEqual([[country, 1]]);
    const users = (await countEndUsers(t.db.sql, all)).filter(
      (row) => row.documentTypeId === documentTypeId && row.sending > 0 && row.country !== undefined,
    );
    expect(new Set(users.map((row) => row.country))).toEqual(new Set([country]));
  },
);
