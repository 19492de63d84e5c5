/**
 * spec/enterprise.md, Connector, and spec/rulings.md §11: documents that wait until their program sends or cancels
 * them, over HTTP on both forms of the server. Comments quote the rows.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { BUYER, connectorCalls, connectorError, connectorInvoice, SELLER } from "../../support/callers/connector.js";
import type { ConnectorCall } from "../../support/callers/connector.js";
import { accessToken, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { serverForms } from "../../support/engines/gateway.js";
import { bindClient, newClient, newPartner } from "../../support/callers/partners.js";

type Body = Readonly<Record<string, unknown>>;

describe.each(serverForms)("staged documents of the Connector over %s", (form) => {
  let t: TestEngine;
  let call: ConnectorCall;
  let dic: string;

  beforeAll(async () => {
    t = await startTestEngine({ form });
    call = connectorCalls(t.sandbox, await accessToken(t.sandbox, t.sandbox.integrator));
    dic = t.sandbox.receiver.participantId.replace(/^0245:/, "");
  });
  afterAll(() => t.stop());

  const stage = (changes: Body = {}, headers?: Readonly<Record<string, string>>): Promise<HttpAnswer> =>
    call("POST", "/documents", connectorInvoice(dic, { delivery: "stage", ...changes }), headers);
  const staged = async (): Promise<string> => {
    const answer = await stage();
    expect(answer.status, answer.text).toBe(201);
    return String(answer.json["id"]);
  };
  const at = (id: string, step = "", customerRef = SELLER): string =>
    `/documents/${id}${step}?customerRef=${customerRef}`;
  const stateOf = async (id: string): Promise<unknown> => (await call("GET", at(id))).json["state"];
  const refusal = (answer: HttpAnswer): unknown[] => {
    const { code, field } = connectorError(answer);
    return [answer.status, code, field];
  };

  // rulings §11: "A staged document is `queued` with actions ["send","cancel"]; once sending, actions is empty."
  test("delivery stage: 201, queued with the actions send and cancel; it can be read and does not leave by itself", async () => {
    const { status, json } = await stage();
    expect([status, json["state"], json["actions"], json["replayed"]]).toEqual([
      201,
      "queued",
      ["send", "cancel"],
      false,
    ]);
    const id = String(json["id"]);
    expect((await call("GET", at(id, "/ubl"))).text).toContain("<cbc:ID>");
    expect((await call("GET", at(id, "/evidence"))).json).toMatchObject({ documentId: id });
    // Lists end where a transaction is still open, be it another test's on the same server.
    await eventually("it is listed", async () => {
      const { json: list } = await call("GET", `/documents?customerRef=${SELLER}&state=queued`);
      return (list["documents"] as Body[]).some((each) => each["id"] === id);
    });
    // What leaves is due; nobody ever finds what is not.
    const [row] = await t.db.sql`select next_attempt_at, attempts from document where id = ${id}`;
    expect(row).toEqual({ next_attempt_at: null, attempts: 0 });
  });

  // rulings §11: "Same key and body: 200 with replayed:true (201 the first time); other body: 409"
  test("staging twice with the same key is 200 with replayed true; another body, or sending at once under its key, is 409", async () => {
    const [key, externalId] = [{ "idempotency-key": randomUUID() }, randomUUID()];
    const body = { externalId, number: "S-1" };
    const first = await stage(body, key);
    const again = await stage(body, key);
    expect([first.status, again.status, again.json["replayed"], again.json["id"]]).toEqual([
      201,
      200,
      true,
      first.json["id"],
    ]);
    expect(refusal(await stage({ ...body, number: "S-2" }, key))).toEqual([
      409,
      "IDEMPOTENCY_CONFLICT",
      "Idempotency-Key",
    ]);
    const other = await stage({ ...body, delivery: "send" }, { "idempotency-key": randomUUID() });
    expect(refusal(other)).toEqual([409, "EXTERNAL_ID_CONFLICT", "externalId"]);
  });

  test("what the rules refuse is refused when it is staged, with findings in the Connector's own members, and nothing is written", async () => {
    const externalId = randomUUID();
    const lines = [{ description: "x", quantity: 1, unitPrice: 1, vatRate: 17 }];
    const refused = await stage({ externalId, lines });
    expect([refused.status, connectorError(refused)["code"]]).toEqual([422, "VALIDATION_FAILED"]);
    const fields = (connectorError(refused)["details"] as Body[]).map(({ field }) => field);
    expect(fields).toContain("lines[0].vatRate");
    expect((await stage({ externalId })).status).toBe(201);
  });

  // enterprise.md: "POST /connector/documents/{documentId}/send: send a prepared document"
  test("send: it is delivered, its actions are empty, and sending it again is answered with replayed true", async () => {
    const body = connectorInvoice(dic, { delivery: "stage" });
    const id = String((await call("POST", "/documents", body)).json["id"]);
    const sent = await call("POST", at(id, "/send"));
    expect([sent.status, sent.json["replayed"], sent.json["actions"]]).toEqual([200, false, []]);
    await eventually("it is delivered", async () => (await stateOf(id)) === "delivered");
    const again = await call("POST", at(id, "/send"));
    expect([again.status, again.json["replayed"], again.json["state"]]).toEqual([200, true, "delivered"]);
    expect(refusal(await call("POST", at(id, "/cancel")))).toEqual([409, "DOCUMENT_STATE", "documentId"]);
    // A repeat of its create answers what became of it.
    const repeated = await call("POST", "/documents", body);
    expect([repeated.status, repeated.json["id"], repeated.json["state"]]).toEqual([200, id, "delivered"]);
  });

  // enterprise.md: "POST /connector/documents/{documentId}/cancel: cancel a prepared document"
  test("cancel: it is cancelled for good, keeps its names, and tells of it as document.cancelled", async () => {
    const body = connectorInvoice(dic, { delivery: "stage" });
    const id = String((await call("POST", "/documents", body)).json["id"]);
    const cancelled = await call("POST", at(id, "/cancel"));
    expect([cancelled.status, cancelled.json["state"], cancelled.json["actions"], cancelled.json["replayed"]]).toEqual([
      200,
      "cancelled",
      [],
      false,
    ]);
    expect((await call("POST", at(id, "/cancel"))).json["replayed"]).toBe(true);
    // rulings §11: "Evidence: {documentId, state, …}": the state is the document's, and the same in its packet.
    expect((await call("GET", at(id, "/evidence"))).json).toMatchObject({ state: "cancelled" });
    expect((await call("GET", at(id, "/support-packet"))).json).toMatchObject({
      status: "cancelled",
      evidence: { state: "cancelled" },
    });
    expect(refusal(await call("POST", at(id, "/send")))).toEqual([409, "DOCUMENT_STATE", "documentId"]);
    const repeated = await call("POST", "/documents", body);
    expect([repeated.status, repeated.json["id"], repeated.json["state"]]).toEqual([200, id, "cancelled"]);
    const idsOf = async (state: string): Promise<unknown[]> =>
      (
        (await call("GET", `/documents?customerRef=${SELLER}&limit=100&state=${state}`)).json["documents"] as Body[]
      ).map((each) => each["id"]);
    // Lists show nothing that is newer than a transaction which is still open, in another database too.
    await eventually("the list shows it", async () => (await idsOf("cancelled")).includes(id));
    expect(await idsOf("failed")).not.toContain(id);
    const told = async (): Promise<Body[]> => {
      const { json } = await call("GET", `/events?customerRef=${SELLER}&limit=100`);
      return (json["events"] as Body[]).filter(({ documentId }) => documentId === id);
    };
    await eventually("its end is told", async () => (await told()).length > 1);
    expect(await told()).toMatchObject([
      { type: "document.queued", state: "queued" },
      { type: "document.cancelled", state: "cancelled" },
    ]);
  });

  test("what was sent at once, or received, has nothing to send or cancel: 409 that names the document", async () => {
    const body = connectorInvoice(dic);
    const { json } = await call("POST", "/documents", body);
    const received = await eventually("it is received", async () => {
      const page = await call("GET", `/documents?customerRef=${BUYER}&direction=inbound&limit=100`);
      return (page.json["documents"] as Body[]).find((each) => each["number"] === body["number"]);
    });
    const [outbound, inbound] = [String(json["id"]), String(received["id"])];
    for (const step of ["/send", "/cancel"]) {
      expect(refusal(await call("POST", at(outbound, step)))).toEqual([409, "DOCUMENT_STATE", "documentId"]);
      expect(refusal(await call("POST", at(inbound, step, BUYER)))).toEqual([409, "DOCUMENT_STATE", "documentId"]);
    }
  });

  test("a staged document of another integrator, or of another of its customers, is 404 with the words of one that never was", async () => {
    const id = await staged();
    const stranger = await newPartner(t);
    await bindClient(t, stranger, await newClient(t), { customerRef: "theirs" });
    const theirs = connectorCalls(t.sandbox, stranger.key.token);
    const said = ({ status, json }: HttpAnswer) => [status, { ...(json["error"] as Body), requestId: "" }];
    for (const step of ["", "/send", "/cancel", "/ubl"]) {
      const method = step === "/send" || step === "/cancel" ? "POST" : "GET";
      const missing = said(await theirs(method, at(randomUUID(), step, "theirs")));
      expect(missing[0]).toBe(404);
      expect(said(await theirs(method, at(id, step, "theirs")))).toEqual(missing);
      expect(said(await call(method, at(id, step, BUYER)))).toEqual(missing);
    }
    expect(await stateOf(id)).toBe("queued");
  });

  test("what could be staged and cannot be sent any more is 422 with the member and what to do, and stays staged", async () => {
    const id = await staged();
    await t.db.sql`update document set receiver = '0245:2099999999' where id = ${id}`;
    const refused = await call("POST", at(id, "/send"));
    expect(refusal(refused)).toEqual([422, "ENDPOINT_MISMATCH", "recipient.networkId"]);
    expect(connectorError(refused)["nextAction"]).toEqual(expect.any(String));
    expect((await call("GET", at(id))).json["actions"]).toEqual(["send", "cancel"]);

    const partner = await newPartner(t);
    const [client, heir] = [await newClient(t), await newClient(t)];
    await bindClient(t, partner, client, { customerRef: "c" });
    const own = connectorCalls(t.sandbox, partner.key.token);
    const made = await own("POST", "/documents", connectorInvoice(dic, { customerRef: "c", delivery: "stage" }));
    expect(made.status, made.text).toBe(201);
    await t.db.sql`update participant set firm_id = ${heir.firmId} where id = ${client.participantId}`;
    const orphaned = await own("POST", at(String(made.json["id"]), "/send", "c"));
    expect([orphaned.status, connectorError(orphaned)["field"]]).toEqual([422, "documentId"]);
  });

  test("who sent and who cancelled a staged document stands in the audit", async () => {
    const [sent, cancelled] = [await staged(), await staged()];
    await call("POST", at(sent, "/send"));
    await call("POST", at(cancelled, "/cancel"));
    const rows = await t.db.sql`
      select event, target_id, actor_type from audit_entry
      where target_id = any (${[sent, cancelled]}::text[]) order by position`;
    expect(rows).toMatchObject([
      { event: "connector.sent", target_id: sent, actor_type: "api_key" },
      { event: "connector.cancelled", target_id: cancelled, actor_type: "api_key" },
    ]);
  });
});
