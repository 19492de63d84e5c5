/**
 * Two engines as processes exchange documents: a DNS server names the SMP of each, signed metadata the access point, AS4
 * does the rest, both ways. What is kept of an exchange proves it.
 */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import { smlName } from "../../engine/peppol/discovery/sml.js";
import { buildIfNeeded } from "../../deploy/build.mjs";
import { accessToken, http } from "../support/engine.js";
import { createOracle } from "../support/oracle-facts.js";
import type { Oracle } from "../support/oracle-facts.js";
import { arrivedAs, enterprise, inbox, settled, startSide } from "../support/side.js";
import type { Side } from "../support/side.js";
import { evidenceFaults, keptMetadata } from "../support/side-evidence.js";
import { prepareTwo, ZONE } from "../support/two-engines.js";
import type { TwoHomes } from "../support/two-engines.js";

let homes: TwoHomes;
let a: Side;
let b: Side;
let oracle: Oracle;

beforeAll(async () => {
  await buildIfNeeded();
  homes = await prepareTwo();
  [a, b] = await Promise.all([startSide(homes.a), startSide(homes.b)]);
  oracle = createOracle(a, b);
}, 120_000);
afterAll(async () => {
  await Promise.all([a.kill(), b.kill()]);
  await homes.remove();
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

test(
  "after twenty exchanges each way at once all invariants hold, and the evidence of both sides is whole",
  { timeout: 120_000 },
  async () => {
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
  },
);
