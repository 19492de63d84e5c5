/**
 * Members of a create body that nobody reads are told of, at every depth, over HTTP on both forms of the server.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { accessToken, http, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, TestEngine } from "../../support/engines/engine.js";
import { serverForms } from "../../support/engines/gateway.js";

type Body = Readonly<Record<string, unknown>>;
const LINE = { description: "Paper", quantity: 3, unitPrice: "23.90", vatRate: 23 };
const PDF = Buffer.from("%PDF-1.7\n%%EOF\n").toString("base64");

describe.each(serverForms)("unread members of a create body over %s", (form) => {
  let t: TestEngine;
  let token: string;
  let recipient: Body;

  beforeAll(async () => {
    t = await startTestEngine({ form });
    token = await accessToken(t.sandbox, t.sandbox.integrator);
    recipient = { country: "SK", name: "Buyer", networkId: t.sandbox.receiver.participantId };
  });
  afterAll(() => t.stop());

  const create = (body: Body): Promise<HttpAnswer> =>
    http(
      "POST",
      `${t.sandbox.baseUrl}/connector/documents`,
      { authorization: `Bearer ${token}`, "content-type": "application/json" },
      JSON.stringify(body),
    );
  const invoice = (changes: Body = {}): Body => {
    const externalId = randomUUID();
    return {
      ...{ customerRef: "demo-sender", externalId, number: externalId, buyerReference: "4100", recipient },
      ...{ lines: [LINE], delivery: "stage", ...changes },
    };
  };

  test("unread members are named by their paths in the create body, in the order in which they came", async () => {
    const answer = await create(
      invoice({
        recipient: { ...recipient, dic: "1", address: { street: "Hlavná 1", city: "Košice", zip: "040 01" } },
        lines: [LINE, { ...LINE, discout: 50 }],
        prepaidAmount: "1.00",
        prepayments: [{ amount: "1.00", invoiceNr: "Z-1" }],
        attachments: [{ fileName: "a.pdf", mimeType: "application/pdf", content: PDF, zľava: 1 }],
        foo: { bar: 1 },
      }),
    );
    expect(answer.status, answer.text).toBe(201);
    expect(answer.json["warning"]).toBe(
      "These members are not read: recipient.dic, recipient.address.zip, lines[1].discout, " +
        "prepayments[0].invoiceNr, attachments[0].zľava, foo.",
    );
  });

  test("a body of which everything is read has no warning, and neither has the document when it is read", async () => {
    const answer = await create(invoice());
    expect([answer.status, Object.hasOwn(answer.json, "warning")]).toEqual([201, false]);
    const warned = await create(invoice({ foo: 1 }));
    const read = await http(
      "GET",
      `${t.sandbox.baseUrl}/connector/documents/${String(warned.json["id"])}?customerRef=demo-sender`,
      { authorization: `Bearer ${token}` },
    );
    expect([warned.json["warning"], read.status, Object.hasOwn(read.json, "warning")]).toEqual([
      "These members are not read: foo.",
      200,
      false,
    ]);
  });

  test("an unread member whose name is no word is told of without its name", async () => {
    const names = { "": 1, "x, y": 2, "lines[0].x": 3, "a\nb": 4, "\u202Ec": 5, "\u001B[31m": 6 };
    const answer = await create(invoice({ lines: [{ ...LINE, "": 1 }], ...names }));
    expect([answer.status, answer.json["warning"]]).toEqual([
      201,
      `These members are not read: lines[0].(unnamed), ${Array(6).fill("(unnamed)").join(", ")}.`,
    ]);
  });

  test("unread members do not tell one body from another: a repeat with others is one, and each is told of its own", async () => {
    const body = invoice();
    const first = await create({ ...body, foo: 1 });
    const again = await create({ ...body, bar: 2 });
    const plain = await create(body);
    expect([first, again, plain].map(({ status, json }) => [status, json["id"], json["replayed"]])).toEqual([
      [201, first.json["id"], false],
      [200, first.json["id"], true],
      [200, first.json["id"], true],
    ]);
    expect([first, again, plain].map(({ json }) => json["warning"])).toEqual([
      "These members are not read: foo.",
      "These members are not read: bar.",
      undefined,
    ]);
  });

  test("a large body, which is read in slices, is told of the same", async () => {
    const content = Buffer.concat([Buffer.from("%PDF-1.7\n"), Buffer.alloc(600_000, 0x20), Buffer.from("\n%%EOF\n")]);
    const answer = await create(
      invoice({
        attachments: [{ fileName: "a.pdf", mimeType: "application/pdf", content: content.toString("base64"), foo: 1 }],
      }),
    );
    expect([answer.status, answer.json["warning"]]).toEqual([201, "These members are not read: attachments[0].foo."]);
  });
});
