/**
 * Goal: whatever is done to a message, a receipt or an SMP answer, reading it neither crashes nor accepts a byte that
 * was changed. Bounded and seeded: `SEED=… RUNS=…` repeats or extends a run; the seed is part of each failure.
 */
import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { buildReceipt, readAnswer } from "../../engine/peppol/as4/messages.js";
import type { BuiltMessage, OpenedMessage } from "../../engine/peppol/as4/messages.js";
import { readMultipart } from "../../engine/peppol/as4/mime.js";
import { canonicalize } from "../../validators/xml/c14n.js";
import { parseXml } from "../../validators/xml/tree.js";
import { signEnveloped, verifyEnveloped } from "../../validators/wss/enveloped.js";
import { build, inThread, invoiceBytes, open } from "../support/as4/as4.js";
import { accessPoint } from "../support/as4/as4-keys.js";
import type { AccessPoint } from "../support/as4/as4-keys.js";

const seed = Number(process.env["SEED"] ?? 20_261_120);
const runs = Number(process.env["RUNS"] ?? 1);
const parameters = (numRuns: number): { seed: number; numRuns: number } => ({ seed, numRuns: numRuns * runs });

type Mutation =
  | { kind: "flip"; at: number; bit: number }
  | { kind: "cut"; at: number; length: number }
  | { kind: "repeat"; at: number; length: number }
  | { kind: "insert"; at: number; text: string }
  | { kind: "swap"; at: number; other: number; length: number };

const place = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const PIECES = [
  "<",
  ">",
  "/>",
  '"',
  "&",
  "&amp;",
  "<!---->",
  "<![CDATA[x]]>",
  "<?x?>",
  "<!DOCTYPE x>",
  "\0",
  "\r\n",
  "\r\n\r\n",
  "--",
  "-->",
  "]]>",
  ' Id="x"',
  " ",
  "é",
  "\xff",
  "<ds:Object/>",
  '<ds:Transform Algorithm="x"/>',
  'xmlns:ds="urn:x"',
  "=",
  "#",
  "cid:",
];
const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.record({ kind: fc.constant("flip" as const), at: place, bit: fc.integer({ min: 0, max: 7 }) }),
  fc.record({ kind: fc.constant("cut" as const), at: place, length: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ kind: fc.constant("repeat" as const), at: place, length: fc.integer({ min: 1, max: 2_000 }) }),
  fc.record({ kind: fc.constant("insert" as const), at: place, text: fc.constantFrom(...PIECES) }),
  fc.record({ kind: fc.constant("swap" as const), at: place, other: place, length: fc.integer({ min: 1, max: 300 }) }),
);

function mutate(source: Buffer, step: Mutation): Buffer {
  const at = Math.floor(step.at * source.length);
  switch (step.kind) {
    case "flip": {
      const copy = Buffer.from(source);
      copy.writeUInt8(copy.readUInt8(at) ^ (1 << step.bit), at);
      return copy;
    }
    case "cut":
      return Buffer.concat([source.subarray(0, at), source.subarray(at + step.length)]);
    case "repeat":
      return Buffer.concat([source.subarray(0, at + step.length), source.subarray(at)]);
    case "insert":
      return Buffer.concat([source.subarray(0, at), Buffer.from(step.text, "latin1"), source.subarray(at)]);
    case "swap": {
      const [first, second] = [at, Math.floor(step.other * source.length)].sort((left, right) => left - right) as [
        number,
        number,
      ];
      const length = Math.min(step.length, second - first);
      return Buffer.concat([
        source.subarray(0, first),
        source.subarray(second, second + length),
        source.subarray(first + length, second),
        source.subarray(first, first + length),
        source.subarray(second + length),
      ]);
    }
  }
}

const mutations = fc.array(mutation, { minLength: 1, maxLength: 3 });
const mutated = (source: Buffer, steps: readonly Mutation[]): Buffer => steps.reduce(mutate, source);

let alice: AccessPoint;
let bob: AccessPoint;
let message: BuiltMessage;
let opened: OpenedMessage;
let receipt: Buffer;
let smp: Buffer;

beforeAll(async () => {
  alice = accessPoint("PSK000001");
  bob = accessPoint("PSK000002");
  message = await build(alice, bob);
  const result = await open(bob, message);
  if (result.kind === "refused") throw new Error(result.reason);
  opened = result;
  const signal = {
    id: randomUUID(),
    signer: bob,
    messageId: "r@kurier.test",
    timestamp: "2026-11-20T10:00:00Z",
    refToMessageId: opened.message.messageId,
  };
  receipt = Buffer.from((await buildReceipt(signal, opened.references, inThread)).body);
  smp = signEnveloped(
    Buffer.from(
      '<s:M xmlns:s="urn:s" xmlns:i="urn:i"><i:P scheme="x">0245:1</i:P><s:E>https://example.org/as4</s:E></s:M>',
    ),
    bob,
  );
});

describe("after any mutation", () => {
  /**
   * The signature does not cover the token that carries the certificate: octets that do not change its key may be
   * changed, and the certificate's own signature breaks. The trust decision, here equality, refuses what is left.
   */
  const trusted = (result: OpenedMessage): boolean => alice.certificate.equals(result.signer);

  /** The facts of a message that reach the rest of the engine. */
  const facts = (result: OpenedMessage): string =>
    JSON.stringify([
      result.message,
      result.testService,
      Buffer.from(result.payload ?? []).toString("base64"),
      Buffer.from(result.signer).toString("base64"),
      result.references,
    ]);

  test("a user message is refused, or says exactly what was signed", async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(mutations, async (steps) => {
        const body = mutated(message.body, steps);
        const result = await open(bob, { ...message, body });
        if (result.kind === "refused" || !trusted(result)) return;
        accepted += 1;
        expect(facts(result)).toBe(facts(opened));
        expect(Buffer.from(result.payload ?? []).equals(invoiceBytes)).toBe(true);
      }),
      parameters(1_500),
    );
    // Octets outside the signature (MIME headers, the last line) may change; were it many, something would be unread.
    expect(accepted).toBeLessThan(150 * runs);
  });

  test("the SOAP part alone, mutated inside an intact MIME message, is refused or says what was signed", async () => {
    const start = message.body.indexOf("<S12:Envelope");
    const end = message.body.indexOf("</S12:Envelope>");
    await fc.assert(
      fc.asyncProperty(mutations, async (steps) => {
        const soap = mutated(message.body.subarray(start, end), steps);
        const body = Buffer.concat([message.body.subarray(0, start), soap, message.body.subarray(end)]);
        const result = await open(bob, { ...message, body });
        if (result.kind === "message" && trusted(result)) expect(facts(result)).toBe(facts(opened));
      }),
      parameters(1_500),
    );
  });

  test("one flipped bit in the encrypted part is always a decryption error", async () => {
    const start = message.body.indexOf("\r\n\r\n", message.body.indexOf("application/octet-stream")) + 4;
    const end = message.body.lastIndexOf("\r\n--");
    await fc.assert(
      fc.asyncProperty(place, fc.integer({ min: 0, max: 7 }), async (at, bit) => {
        const part = mutate(message.body.subarray(start, end), { kind: "flip", at, bit });
        // A flip may make up a delimiter; that is a MIME fault and no decryption.
        const body = Buffer.concat([message.body.subarray(0, start), part, message.body.subarray(end)]);
        expect(await open(bob, { ...message, body })).toMatchObject({ kind: "refused", error: "EBMS:0102" });
      }),
      parameters(200),
    );
  });

  test("a receipt is no receipt, or the one that was signed", async () => {
    const sent = { messageId: opened.message.messageId, references: message.references, recipient: bob.certificate };
    const original = await readAnswer(receipt, "application/soap+xml", sent, inThread);
    expect(original.kind).toBe("receipt");
    await fc.assert(
      fc.asyncProperty(mutations, async (steps) => {
        const answer = await readAnswer(mutated(receipt, steps), "application/soap+xml", sent, inThread);
        // Another certificate of the same seat is reported, and not believed before the PKI has seen it.
        if (answer.kind === "receipt" && answer.sameCertificate) expect(answer).toEqual(original);
      }),
      parameters(1_500),
    );
  });

  test("a signed SMP answer is refused, or its canonical form is unchanged", () => {
    const canonicalOf = (bytes: Uint8Array): string => {
      const result = verifyEnveloped(bytes);
      if (result.kind === "refused") return result.reason;
      const signature = result.root.children.find((node) => node.kind === "element" && node.local === "Signature");
      return canonicalize([result.root], {
        method: "inclusive",
        ...(signature?.kind === "element" ? { omit: signature } : {}),
      });
    };
    const original = canonicalOf(smp);
    expect(original).toContain("0245:1");
    fc.assert(
      fc.property(mutations, (steps) => {
        const bytes = mutated(smp, steps);
        const result = verifyEnveloped(bytes);
        if (result.kind === "verified") expect(canonicalOf(bytes)).toBe(original);
      }),
      parameters(1_500),
    );
  });
});

describe("over any octets", () => {
  const octets = fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc
      .array(fc.constantFrom(...PIECES, "<a>", "</a>", "<a b='c'>", "--b\r\n", "--b--"), { maxLength: 40 })
      .map((pieces) => Buffer.from(pieces.join(""), "latin1")),
  );

  test("the XML parser answers with a tree or a fault, and what it takes it also writes and takes again", () => {
    fc.assert(
      fc.property(octets, (bytes) => {
        const tree = parseXml(bytes);
        if (tree.kind === "refused") return;
        const canonical = canonicalize([tree.root], { method: "inclusive", comments: true });
        const again = parseXml(Buffer.from(canonical));
        expect(again.kind === "document" && canonicalize([again.root], { method: "inclusive", comments: true })).toBe(
          canonical,
        );
      }),
      parameters(3_000),
    );
  });

  test("the MIME reader answers with parts or a fault", () => {
    fc.assert(
      fc.property(octets, (bytes) => {
        expect(["multipart", "refused"]).toContain(
          readMultipart(Buffer.from(bytes), 'multipart/related; boundary="b"').kind,
        );
      }),
      parameters(3_000),
    );
  });

  test("opening, checking and verifying answer, never throw", async () => {
    await fc.assert(
      fc.asyncProperty(octets, async (bytes) => {
        const body = Buffer.from(bytes);
        for (const contentType of ['multipart/related; boundary="b"', "application/soap+xml", ""])
          expect((await open(bob, { body, contentType })).kind).toBe("refused");
        expect(verifyEnveloped(body).kind).toBe("refused");
      }),
      parameters(500),
    );
  });
});
