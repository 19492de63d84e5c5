/**
 * Hostile documents against a running engine, through both doors: SAPI send and the public validation. Each is refused
 * with a named finding, no worker dies, memory stays flat, and good documents pass meanwhile.
 * @source design/validation.md
 */
import { execFileSync } from "node:child_process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { Clock } from "../../../engine/base/clock.js";
import { accessToken, http, invoiceXml, send, sendParts, startTestEngine } from "../../support/engines/engine.js";
import type { HttpAnswer, Mailbox, TestEngine } from "../../support/engines/engine.js";

type Hostile = readonly [what: string, make: (good: string) => string | Buffer, ruleId: string | number];

const into = (good: string, xml: string): string => good.replace("<cbc:BuyerReference>", `${xml}<cbc:BuyerReference>`);
const withValue = (good: string, name: string, value: string): string =>
  good.replace(new RegExp(`(<cbc:${name}[^>]*>)[^<]*`, "u"), `$1${value}`);
/** Without the declaration, which may stand only at the very start. */
const bare = (good: string): string => good.replace(/^<\?xml.*?\?>\s*/u, "");
const doctype = (good: string, subset: string): string => `<!DOCTYPE Invoice ${subset}>${bare(good)}`;
const LAUGHS = `[<!ENTITY a "ha">${Array.from("bcdefghij", (name, i) => `<!ENTITY ${name} "${`&${"abcdefghi"[i] ?? ""};`.repeat(10)}">`).join("")}]`;
const attributes = (n: number): string => Array.from({ length: n }, (_, i) => `a${i}=""`).join(" ");
const namespaces = (n: number): string => Array.from({ length: n }, (_, i) => `xmlns:n${i}="u"`).join(" ");

/** Documents that a JSON string can hold, with the finding that refuses them; a number is a status that comes before any finding. */
const TEXTS: readonly Hostile[] = [
  ["billion laughs", (good) => into(doctype(good, LAUGHS), "<cbc:Note>&j;</cbc:Note>"), "XML-DOCTYPE"],
  [
    "quadratic entities",
    (good) =>
      into(doctype(good, `[<!ENTITY a "${"x".repeat(100_000)}">]`), `<cbc:Note>${"&a;".repeat(2_000)}</cbc:Note>`),
    "XML-DOCTYPE",
  ],
  [
    "an external entity: a file",
    (good) => into(doctype(good, '[<!ENTITY x SYSTEM "file:///etc/passwd">]'), "<cbc:Note>&x;</cbc:Note>"),
    "XML-DOCTYPE",
  ],
  ["an external entity: a host", (good) => doctype(good, 'SYSTEM "http://169.254.169.254/x.dtd"'), "XML-DOCTYPE"],
  ["an entity that nobody declared", (good) => into(good, "<cbc:Note>&j;</cbc:Note>"), "XML-REFERENCE"],
  ["a declaration that says UTF-16", (good) => `<?xml version="1.0" encoding="UTF-16"?>${bare(good)}`, "XML-ENCODING"],
  ["a declaration that says UTF-7", (good) => `<?xml version="1.0" encoding="UTF-7"?>${bare(good)}`, "XML-ENCODING"],
  ["100,000 deep", (good) => into(good, `${"<a>".repeat(100_000)}${"</a>".repeat(100_000)}`), "XML-LIMIT-DEPTH"],
  ["a million attributes", (good) => into(good, `<cbc:Note ${attributes(1_000_000)}/>`), "XML-LIMIT-ATTRIBUTES"],
  [
    "a million attributes, 100 an element",
    (good) => into(good, `<cbc:Note ${attributes(100)}>x</cbc:Note>`.repeat(10_000)),
    "UBL-GRAMMAR-ATTRIBUTE",
  ],
  ["a million namespaces", (good) => into(good, `<cbc:Note ${namespaces(1_000_000)}/>`), "XML-LIMIT-ATTRIBUTES"],
  [
    "a million namespaces, one an element",
    (good) => into(good, Array.from({ length: 300_000 }, (_, i) => `<a xmlns:n${i}="u"/>`).join("")),
    "XML-LIMIT-NAMESPACES",
  ],
  ["19 MB of text in one element", (good) => withValue(good, "DueDate", "x".repeat(19_000_000)), "UBL-GRAMMAR-VALUE"],
  [
    "a character reference to half of a surrogate pair",
    (good) => into(good, "<cbc:Note>&#xD800;</cbc:Note>"),
    "XML-CHARACTER",
  ],
  ["a character reference to NUL", (good) => into(good, "<cbc:Note>&#0;</cbc:Note>"), "XML-CHARACTER"],
  ["a control character", (good) => into(good, "<cbc:Note>\u0001</cbc:Note>"), "XML-CHARACTER"],
  ["a second byte order mark", (good) => `\ufeff\ufeff${good}`, "XML-"],
  ["a truncated file", (good) => good.slice(0, 2_500), "XML-TRUNCATED"],
  ["two roots", (good) => good + bare(good), "XML-SECOND-ROOT"],
  ["trailing bytes", (good) => `${good}trailing`, "XML-TRAILING"],
  ["a number like 1e999999", (good) => withValue(good, "PayableAmount", "1e999999"), "UBL-GRAMMAR-VALUE"],
  ["a number of 400 digits", (good) => withValue(good, "PayableAmount", "9".repeat(400)), "BR-CO-16"],
  ["a number of a million digits", (good) => withValue(good, "PayableAmount", "9".repeat(1_000_000)), "!err:FORG0001"],
  ["a day that does not exist", (good) => withValue(good, "DueDate", "2026-02-30"), "UBL-GRAMMAR-VALUE"],
  ["a month that does not exist", (good) => withValue(good, "DueDate", "2026-13-01"), "UBL-GRAMMAR-VALUE"],
];

/** Documents that only bytes can spell. */
const BYTES: readonly Hostile[] = [
  ["UTF-16, little endian", (good) => Buffer.from(`\ufeff${bare(good)}`, "utf16le"), "XML-ENCODING"],
  ["UTF-16, big endian", (good) => Buffer.from(`\ufeff${bare(good)}`, "utf16le").swap16(), "XML-ENCODING"],
  ["UTF-7 markup", () => Buffer.from("+ADw-Invoice+AD4-"), "XML-"],
  [
    "a lone surrogate as three bytes",
    (good) => Buffer.from(into(good, "<cbc:Note>\u0001</cbc:Note>").replace("\u0001", "\u00ed\u00a0\u0080"), "latin1"),
    "XML-",
  ],
  ["an overlong form of <", (good) => Buffer.from(into(good, "<cbc:Note>\u00c0\u00bc</cbc:Note>"), "latin1"), "XML-"],
  ["NUL", (good) => Buffer.from(into(good, "<cbc:Note>\0</cbc:Note>")), "XML-CHARACTER"],
  ["nothing but NUL", () => Buffer.alloc(1_000_000), "XML-"],
  ["100 MB of text", () => Buffer.alloc(100_000_000, "x"), 413],
];

describe("a running engine takes every kind of hostile document", () => {
  let t: TestEngine;
  let sender: Mailbox;
  let good: string;
  let monotonic = 0;
  const clock: Clock = { now: () => Date.parse("2026-11-20T09:00:00.000Z"), monotonic: () => monotonic };

  beforeAll(async () => {
    t = await startTestEngine({ clock });
    sender = { participantId: t.sandbox.sender.participantId, token: await accessToken(t.sandbox, t.sandbox.sender) };
  });
  beforeEach(() => {
    monotonic += 120_000;
    good = invoiceXml(sender.participantId, t.sandbox.receiver.participantId, { issueDate: "2026-11-20" });
  });
  afterAll(() => t.stop());

  const judge = (body: string | Buffer): Promise<HttpAnswer> =>
    http(
      "POST",
      `${t.engine.publicUrl}/api/validate`,
      { "content-type": "application/xml" },
      typeof body === "string" ? body : Uint8Array.from(body),
    );
  const sendPayload = (payload: string): Promise<HttpAnswer> =>
    send(t.sandbox, sender, sendParts(sender.participantId, t.sandbox.receiver.participantId, payload));
  const restarts = async (): Promise<string[]> =>
    (await http("GET", `${t.engine.adminUrl}/metrics`)).text
      .split("\n")
      .filter((line) => line.startsWith("kurier_worker_restarts_total{") && !line.endsWith(" 0"));

  interface Public {
    valid: boolean;
    xsd: { messages: { ruleId: string }[] };
    en16931: { messages: { ruleId: string }[] };
    peppol: { messages: { ruleId: string }[] };
  }
  const idsOf = ({ json }: HttpAnswer): string[] => {
    const { xsd, en16931, peppol } = json as unknown as Public;
    return [xsd, en16931, peppol].flatMap(({ messages }) => messages.map(({ ruleId }) => ruleId));
  };
  const expectNamed = (ids: readonly (string | undefined)[], ruleId: string): void => {
    expect(
      ids.filter((id) => id === ruleId || (ruleId.endsWith("-") && id?.startsWith(ruleId) === true)),
      ids.slice(0, 5).join(),
    ).not.toEqual([]);
  };
  const expectHealthy = async (): Promise<void> => {
    expect(await restarts()).toEqual([]);
    expect((await judge(good)).json).toMatchObject({ valid: true });
    expect((await http("GET", `${t.engine.adminUrl}/readyz`)).status).toBe(200);
  };

  test.each([...TEXTS, ...BYTES])(
    "public validation answers every kind of hostile document: %s",
    async (_, make, ruleId) => {
      const answer = await judge(make(good));
      if (typeof ruleId === "number") expect(answer.status).toBe(ruleId);
      else {
        expect([answer.status, answer.json["valid"]]).toEqual([200, false]);
        expectNamed(idsOf(answer), ruleId);
      }
      await expectHealthy();
    },
  );

  test.each(TEXTS)("a SAPI send answers every kind of hostile document: %s", async (_, make, ruleId) => {
    const answer = await sendPayload(make(good) as string);
    const { details = [] } = answer.json["error"] as { details?: { ruleId?: string }[] };
    expect(answer.status).toBe(422);
    expectNamed(
      details.map((detail) => detail.ruleId),
      String(ruleId),
    );
    await expectHealthy();
    expect((await sendPayload(good)).status).toBe(202);
  });

  test("half of a surrogate pair and NUL in the JSON of a send are 400 before any worker sees them", async () => {
    expect((await sendPayload(into(good, "<cbc:Note>\ud800</cbc:Note>"))).status).toBe(400);
    expect((await sendPayload(into(good, "<cbc:Note>\0</cbc:Note>"))).status).toBe(400);
    expect((await sendPayload("x".repeat(21_000_000))).status).toBe(413);
    await expectHealthy();
  });

  test("a byte order mark before the document is allowed", async () => {
    expect((await judge(`\ufeff${good}`)).json).toMatchObject({ valid: true });
  });

  test("memory is flat: the same hostile documents again leave no more behind", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const rss = (): number =>
      Number(execFileSync("ps", ["-o", "rss=", "-p", String(process.pid)], { encoding: "utf8" })) * 1_024;
    const round = async (): Promise<number> => {
      monotonic += 120_000;
      const small = [...TEXTS, ...BYTES]
        .map(([, make]) => make(good))
        .filter((document) => document.length < 1_000_000);
      for (const document of small) {
        monotonic += 5_000;
        await judge(document);
      }
      for (const [, make] of TEXTS.filter(([what]) => /million namespaces, one|19 MB|100,000 deep/u.test(what))) {
        monotonic += 5_000;
        await judge(make(good));
      }
      collect();
      // Octets that were handed to a worker are free at the second collection, when their turn is over.
      await new Promise(setImmediate);
      collect();
      return rss();
    };
    const rounds: number[] = [];
    for (let i = 0; i < 9; i += 1) rounds.push(await round());
    // The first rounds fill what is kept on purpose: pools, caches, the heap that the allocator does not give back. What it
    // keeps goes up and down by tens of megabytes from one round to the next; what is left behind only goes up.
    const before = Math.max(...rounds.slice(2, 4));
    const after = Math.min(...rounds.slice(6));
    expect((after - before) / 1e6).toBeLessThan(60);
    await expectHealthy();
  });
});
