/**
 * Two engines as processes exchange documents: a DNS server names the SMP of each, signed metadata the access point, AS4
 * does the rest, both ways. What is kept of an exchange proves it.
 */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import { smlName } from "../../../engine/peppol/discovery/sml.js";
import { buildIfNeeded } from "../../../deploy/build.mjs";
import { startCollector } from "../../support/network/collector.js";
import type { CollectedSpan, Collector } from "../../support/network/collector.js";
import { accessToken, http } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { createOracle } from "../../support/truth/oracle-facts.js";
import type { Oracle } from "../../support/truth/oracle-facts.js";
import { arrivedAs, enterprise, inbox, settled, startSide } from "../../support/engines/side.js";
import type { Side } from "../../support/engines/side.js";
import { evidenceFaults, keptMetadata } from "../../support/engines/side-evidence.js";
import { prepareTwo, ZONE } from "../../support/engines/two-engines.js";
import type { TwoHomes } from "../../support/engines/two-engines.js";

let homes: TwoHomes;
let a: Side;
let b: Side;
let oracle: Oracle;
/** Both send their traces there. */
let collector: Collector;

beforeAll(async () => {
  await buildIfNeeded();
  collector = await startCollector();
  homes = await prepareTwo({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  [a, b] = await Promise.all([startSide(homes.a), startSide(homes.b)]);
  oracle = createOracle(a, b);
});
afterAll(async () => {
  await Promise.all([a.kill(), b.kill()]);
  await homes.remove();
  await collector.close();
});

test("a document goes from A to B and another from B to A, byte for byte", async () => {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    const sent = await from.send(to);
    await settled(a, b);
    expect(await from.statusOf(sent.id)).toBe("delivered");
    expect((await inbox(to, "GET", await arrivedAs(from, to, sent))).json["payload"]).toBe(sent.payload);
  }
  // Good news is told to those who ask for it, and nobody did.
  for (const side of [a, b]) expect(await side.home.db.sql`select 1 from service_message`).toHaveLength(0);
  await oracle.hold();
});

test("each finds the other by the name that the locator has for its participant, and keeps the signed answer", async () => {
  expect(new Set(homes.dns.asked)).toEqual(
    new Set([a.sandbox.sender, a.sandbox.receiver].map(({ participantId }) => smlName(participantId, ZONE))),
  );
  for (const side of [a, b]) {
    const kept = await keptMetadata(side);
    expect(kept.length).toBeGreaterThan(0);
    for (const text of kept) expect(text).toMatch(/<(\w+:)?SignedServiceMetadata[ >][^]*SignatureValue/);
  }
});

test("the evidence names the envelope, the receipt and the place in the chain; the envelope is given out as it was sent", async () => {
  const { id } = await a.send(b);
  await settled(a, b);
  const headers = await a.integrator();
  const evidence = await http("GET", `${a.sandbox.baseUrl}/documents/${id}/evidence`, headers);
  expect(evidence.json).toMatchObject({
    documentId: id,
    state: "delivered",
    receipt: { receivedAt: expect.any(String) as string },
    chain: { index: expect.any(Number) as number },
  });
  const response = await fetch(`${a.sandbox.baseUrl}/documents/${id}/envelope`, { headers });
  expect(response.headers.get("content-type")).toMatch(/^multipart\/related; boundary=/);
  const { sha256 } = evidence.json["envelope"] as { sha256: string };
  expect(
    createHash("sha256")
      .update(Buffer.from(await response.arrayBuffer()))
      .digest("hex"),
  ).toBe(sha256);
  expect((await enterprise(a, `/documents/${id}/evidence`, "receiver")).status).toBe(404);
  const own = await http("GET", `${a.sandbox.baseUrl}/documents/${id}/evidence`, {
    authorization: `Bearer ${await accessToken(a.sandbox, a.sandbox.sender)}`,
  });
  expect([own.status, own.json]).toEqual([200, evidence.json]);
});

test("after twenty exchanges each way at once all invariants hold, and the evidence of both sides is whole", async () => {
  await Promise.all(
    [
      [a, b],
      [b, a],
    ].flatMap(([from, to]) =>
      from === undefined || to === undefined ? [] : Array.from({ length: 20 }, () => from.send(to)),
    ),
  );
  await oracle.hold();
  for (const side of [a, b]) expect(await evidenceFaults(side)).toEqual([]);
});

test("one trace leads from the request over checks, actors, workers and statements to the other side and its receipt, and no text of the document is in it", async () => {
  const sent = await a.send(b);
  await settled(a, b);
  const ofDocument = (): readonly CollectedSpan[] => {
    const { traceId } = collector.spans.find((span) => span.attributes["kurier.document.id"] === sent.id) ?? {};
    return collector.spans.filter((span) => span.traceId === traceId);
  };
  const [send, attempt, arrival] = ["POST /sapi/v1/document/send", "attempt", "POST /as4"];
  await eventually("both sides have told all of it", () => {
    const told = ofDocument();
    const ids = new Set(told.map(({ spanId }) => spanId));
    return (
      [send, attempt, arrival].every((name) => told.some((span) => span.name === name)) &&
      told.every(({ parentSpanId }) => parentSpanId === undefined || ids.has(parentSpanId))
    );
  });
  const spans = ofDocument();
  const named = (name: string | undefined): CollectedSpan | undefined => spans.find((span) => span.name === name);
  const root = named(send);
  expect(root?.attributes).toMatchObject({ "http.route": "/sapi/v1/document/send", "http.response.status_code": 202 });
  expect([named(attempt)?.parentSpanId, named(arrival)?.parentSpanId]).toEqual([root?.spanId, root?.spanId]);
  expect(named(arrival)?.resource["service.instance.id"]).not.toBe(root?.resource["service.instance.id"]);
  /** The names from a span up to the first one. */
  const above = (span: CollectedSpan | undefined): readonly string[] =>
    span === undefined ? [] : [span.name, ...above(spans.find(({ spanId }) => spanId === span.parentSpanId))];
  const underRequest = ["handle sapiSend", send];
  expect(above(named("actor document.Accept"))).toEqual([
    "actor document.Accept",
    "actor participant.ClaimSend",
    ...underRequest,
  ]);
  expect(above(named("worker validate"))).toEqual(["worker validate", ...above(named("actor document.Accept"))]);
  expect(above(named("as4 exchange"))).toEqual(["as4 exchange", "actor document.Attempt", attempt, send]);
  expect(named("judge the receipt")?.attributes["kurier.outcome"]).toBe("receipt");
  const statements = spans.filter(({ name }) => /^sql [a-z]/.test(name));
  for (const part of [underRequest[0], attempt, arrival])
    expect(statements.map((span) => above(span).at(-2))).toContain(part);
  expect(spans.filter((span) => above(span).at(-1) !== send).map(({ name }) => name)).toEqual([]);
  const told = collector.texts.join();
  for (const text of [a.sandbox.sender.clientSecret, a.sandbox.sender.participantId, "Bearer", "select ", "<cbc:"])
    expect(told, text).not.toContain(text);
});

test("a request is part of the trace that its caller names once he is believed, and its answer says so; a stranger's header, or one that is no such name, changes nothing, and /as4 neither takes nor gives one", async () => {
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const caller = `00-${traceId}-b7ad6b7169203331-01`;
  const authorization = `Bearer ${await accessToken(a.sandbox, a.sandbox.sender)}`;
  const answered = async (url: string, traceparent: string, body?: string): Promise<string | null> => {
    const method = body === undefined ? "GET" : "POST";
    return (await http(method, url, { traceparent, authorization }, body)).headers.get("traceresponse");
  };
  const read = `${a.sandbox.baseUrl}/connector/documents`;
  expect(await answered(read, caller)).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
  for (const hostile of [caller.toUpperCase(), `${caller}, ${caller}`, `ff${caller.slice(2)}`, "0".repeat(8_000)]) {
    const named = await answered(read, hostile);
    expect(named, hostile).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(named).not.toContain(traceId);
  }
  for (const flags of ["00", "01"]) {
    const { headers } = await http("GET", read, { traceparent: caller.replace(/01$/, flags) });
    expect(headers.get("traceresponse")).toMatch(new RegExp(`^00-(?!${traceId})[0-9a-f]{32}-[0-9a-f]{16}-01$`));
  }
  expect(await answered(`http://127.0.0.1:${homes.a.port}/as4`, caller, "no message")).toBeNull();
  await eventually("the request of the caller has come", () =>
    collector.spans.some((span) => span.traceId === traceId),
  );
  const [span, ...others] = collector.spans.filter(
    (one) => one.traceId === traceId && one.parentSpanId === "b7ad6b7169203331",
  );
  expect([span?.name, others]).toEqual(["GET /api/v1/connector/documents", []]);
});
