/** What is said about documents between an engine of ours and phase4: Message Level Status and Invoice Response, both ways. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { ParticipantId } from "../../engine/base/ids.js";
import {
  buildInvoiceResponse,
  INVOICE_RESPONSE_DOCUMENT_TYPE,
  INVOICE_RESPONSE_PROFILE,
} from "../../engine/peppol/responses/invoice-response.js";
import { buildMls } from "../../engine/peppol/responses/mls-builder.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../../engine/peppol/responses/mls.js";
import type { Mls, MlsCode } from "../../engine/peppol/responses/mls.js";
import { readSbd } from "../../engine/peppol/envelope/read.js";
import { accessToken, http, invoiceXml, sapi } from "../support/engines/engine.js";
import type { HttpAnswer } from "../support/engines/engine.js";
import { eventually } from "../support/eventually.js";
import { OUR_PROVIDER, payloadIn, startPair, STATUS_PLACE, THEIR_PROVIDER, THEIRS } from "./peers/pair.js";
import type { Pair } from "./peers/pair.js";
import type { SendResult, Taken } from "./peers/phase4.js";
import { invoiceResponseIn, mlsIn } from "../support/as4/responses.js";

let pair: Pair;

beforeAll(async () => {
  pair = await startPair();
});
afterAll(async () => {
  await pair.stop();
});

const digits = (provider: string): string => provider.slice("0242:".length);

/** What phase4 took of a document type, once `holds` is true of one. */
const phase4Has = (doctype: string, holds: (payload: string) => boolean): Promise<Taken> =>
  eventually(`phase4 has what it waits for of ${doctype}`, async () =>
    (await pair.phase4.inbox()).find((taken) => taken.doctype === doctype && holds(payloadIn(taken.file))),
  );

/** The status that phase4 has about a document that it sent. */
async function statusAt(sent: SendResult): Promise<{ readonly mls: Mls; readonly taken: Taken }> {
  const about = (payload: string): Mls | undefined => {
    const mls = mlsIn(Buffer.from(payload));
    return typeof mls !== "string" && mls.reference === sent.instanceId ? mls : undefined;
  };
  const taken = await phase4Has(MLS_DOCUMENT_TYPE, (payload) => about(payload) !== undefined);
  const mls = about(payloadIn(taken.file));
  if (mls === undefined) throw new Error("no status");
  return { mls, taken };
}

const received = async ({
  messageId,
}: SendResult): Promise<{ readonly id: string; readonly status: string } | undefined> =>
  (
    await pair.us.db.sql<
      { id: string; status: string }[]
    >`select id, status from received_document where as4_message_id = ${messageId}`
  )[0];

/** Waits until our firm sees a document. @returns its id there */
const seen = (sent: SendResult): Promise<string> =>
  eventually("our firm sees the document", async () => {
    const row = await received(sent);
    return row?.status === "RECEIVED" ? row.id : undefined;
  });

const invoice = (changes: Parameters<typeof invoiceXml>[2] = {}): string =>
  invoiceXml(THEIRS, pair.firm.participantId, changes);
const wrongTotal = (): string => invoice().replace(/<cbc:PayableAmount([^>]*)>[^<]*</u, "<cbc:PayableAmount$1>1.00<");

describe("phase4 sends a document", () => {
  test("that breaks our rules: receipt, a rejection that names the rule to phase4's provider, and our firm never sees it", async () => {
    const sent = await pair.theySend(wrongTotal());
    expect(sent).toMatchObject({ result: "SUCCESS", receipt: ["matches"] });
    const { mls, taken } = await statusAt(sent);
    expect(mls).toMatchObject({ code: "RE", sender: digits(OUR_PROVIDER), receiver: digits(THEIR_PROVIDER) });
    expect(mls.issues.some(({ reason, description }) => reason === "BV" && description.startsWith("[BR-CO-16]"))).toBe(
      true,
    );
    expect(taken).toMatchObject({
      sender: `iso6523-actorid-upis::${OUR_PROVIDER}`,
      receiver: `iso6523-actorid-upis::${THEIR_PROVIDER}`,
    });
    const { id, status } = (await received(sent)) ?? { id: "", status: "" };
    expect(status).toBe("REFUSED");
    expect((await sapi(pair.us.sandbox, pair.firm, "GET", `/document/receive/${id}`)).status).toBe(404);
  });

  test("that keeps our rules and asks for failures only: no status", async () => {
    const sent = await pair.theySend(invoice());
    await seen(sent);
    expect(
      await pair.us.db
        .sql`select code from mls_duty as d join received_document as r on d.id = r.id where r.as4_message_id = ${sent.messageId} and (d.code is not null or d.next_at is not null)`,
    ).toEqual([]);
  });

  test.each([
    ["confirms it", "AP"],
    ["says nothing in time", "AB"],
  ] as const)("that asks for every status, to a place of its own; our firm %s: %s", async (_, code) => {
    const sent = await pair.theySend(invoice(), { mlsType: "ALWAYS_SEND", mlsTo: STATUS_PLACE });
    const id = await seen(sent);
    if (code === "AP")
      expect((await sapi(pair.us.sandbox, pair.firm, "POST", `/document/receive/${id}/acknowledge`)).status).toBe(200);
    // The status waits twelve minutes for the firm: for this document they have passed.
    await pair.us.db
      .sql`update mls_duty set received_at = received_at - interval '1 hour', next_at = clock_timestamp() where id = ${id}`;
    const { mls, taken } = await statusAt(sent);
    expect(mls).toMatchObject({ code, issues: [], receiver: digits(STATUS_PLACE) });
    expect(taken.receiver).toBe(`iso6523-actorid-upis::${STATUS_PLACE}`);
  });
});

describe("we send a document, phase4's provider sends its status", () => {
  const say = (code: MlsCode, reference: string, envelopeSender = THEIR_PROVIDER): Promise<SendResult> =>
    pair.theySend(
      buildMls({
        id: randomUUID(),
        issuedAt: Date.parse("2026-11-20T10:00:00Z"),
        sender: digits(THEIR_PROVIDER),
        receiver: digits(OUR_PROVIDER),
        code,
        reference,
        description: code === "RE" ? "The total is wrong." : undefined,
        issues: code === "RE" ? [{ location: "NA", reason: "BV", description: "The total is wrong." }] : [],
      }),
      { doctype: MLS_DOCUMENT_TYPE, process: MLS_PROCESS, sender: envelopeSender, receiver: OUR_PROVIDER },
    );
  const delivered = async (): Promise<{ readonly id: string; readonly instanceId: string }> => {
    const { id } = await pair.weSend(THEIRS);
    return { id, instanceId: (await pair.reaches(id, "delivered")).sbdh_instance_id };
  };

  const whatBecameOf = ({ messageId }: SendResult): Promise<string> =>
    eventually(
      "the status is handled",
      async () =>
        (
          await pair.us.db.sql<
            { outcome: string | null }[]
          >`select outcome from inbound_status where as4_message_id = ${messageId}`
        )[0]?.outcome ?? undefined,
    );

  test("what phase4 received says that we want failures only", async () => {
    const { id } = await pair.weSend(THEIRS);
    const [taken] = await pair.takenAs((await pair.reaches(id, "delivered")).as4_message_id);
    const read = readSbd(readFileSync(taken?.file ?? ""), { mode: "strict" });
    expect(read).toMatchObject({ header: { mls: { type: "FAILURE_ONLY" } } });
  });

  test("RE: the document is rejected, and its record holds the reason", async () => {
    const { id, instanceId } = await delivered();
    expect(await say("RE", instanceId)).toMatchObject({ result: "SUCCESS", receipt: ["matches"] });
    await pair.reaches(id, "rejected");
    const { json } = await sapiStatus(id);
    expect(json).toMatchObject({ status: "rejected", statusReason: "The total is wrong." });
  });

  test("AP: the document stays delivered, and a later RE does not take it back", async () => {
    const { id, instanceId } = await delivered();
    expect(await whatBecameOf(await say("AP", instanceId))).toBe("applied");
    expect(await whatBecameOf(await say("RE", instanceId))).toBe("contradicting");
    expect((await pair.rowOf(id)).status).toBe("delivered");
  });

  test("in an envelope of another provider: receipt, and the document stays as it is", async () => {
    const { id, instanceId } = await delivered();
    const said = await say("RE", instanceId, STATUS_PLACE);
    expect(said.result).toBe("SUCCESS");
    expect(await whatBecameOf(said)).toBe("foreign");
    expect((await pair.rowOf(id)).status).toBe("delivered");
  });
});

const sapiStatus = (id: string): Promise<HttpAnswer> =>
  http("GET", `${pair.us.sandbox.baseUrl}/documents/${id}/status`, { authorization: `Bearer ${pair.firm.token}` });

describe("Invoice Response", () => {
  test("phase4's customer answers our invoice: its record says so", async () => {
    const number = `IR-${randomUUID()}`;
    const { id } = await pair.weSend(
      THEIRS,
      invoiceXml(pair.firm.participantId, THEIRS, { number, issueDate: "2026-11-20" }),
    );
    await pair.reaches(id, "delivered");
    const response = buildInvoiceResponse({
      id: randomUUID(),
      issuedAt: Date.parse("2026-11-20T12:00:00Z"),
      code: "UQ",
      note: "Which order is it?",
      sender: { participant: THEIRS as ParticipantId, name: "Buyer" },
      receiver: { participant: pair.firm.participantId as ParticipantId, name: "Seller" },
      invoice: { number, issueDate: "2026-11-20", typeCode: "380" },
    });
    expect(
      await pair.theySend(response, { doctype: INVOICE_RESPONSE_DOCUMENT_TYPE, process: INVOICE_RESPONSE_PROFILE }),
    ).toMatchObject({ result: "SUCCESS", receipt: ["matches"] });
    await eventually(
      "the response is in the record",
      async () => (await sapiStatus(id)).json["invoiceResponseStatus"] === "UQ",
    );
    expect((await pair.rowOf(id)).status).toBe("delivered");
  });

  test("our firm answers an invoice of phase4: the answer arrives there and names the invoice", async () => {
    const number = `IR-${randomUUID()}`;
    const id = await seen(await pair.theySend(invoice({ number })));
    const token = await accessToken(pair.us.sandbox, pair.us.sandbox.integrator);
    const answer = await http(
      "POST",
      `${pair.us.sandbox.baseUrl}/connector/documents/${id}/respond?customerRef=${pair.us.sandbox.integrator.customerRefs.sender}`,
      { authorization: `Bearer ${token}`, "content-type": "application/json" },
      JSON.stringify({ status: "rejected", note: "Not ours." }),
    );
    expect([answer.status, answer.json["response"]]).toMatchObject([200, { status: "rejected", direction: "sent" }]);
    const taken = await phase4Has(INVOICE_RESPONSE_DOCUMENT_TYPE, (payload) => payload.includes(number));
    expect(invoiceResponseIn(Buffer.from(payloadIn(taken.file)))).toMatchObject({
      code: "RE",
      sender: pair.firm.participantId,
      receiver: THEIRS,
      invoice: { number },
    });
  });
});
