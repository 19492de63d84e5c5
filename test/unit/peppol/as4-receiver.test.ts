/**
 * What arrives at /as4: taken once and receipted, or refused with the right error and nothing else. After every refusal
 * nothing is stored, nothing is archived, and the next good message is taken.
 * @source design/reliability.md, X-08, X-09; design/as4.md, sections 2, 6, 18, 20
 */
import { randomUUID } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { buildUserMessage, readAnswer } from "../../../engine/peppol/as4/messages.js";
import type { As4Crypto, Answer, BuiltMessage } from "../../../engine/peppol/as4/messages.js";
import { createAs4Receiver } from "../../../engine/peppol/as4/receive.js";
import type { As4Receiver, As4Reply } from "../../../engine/peppol/as4/receive.js";
import { TEST_ACTION, TEST_SERVICE } from "../../../engine/peppol/as4/user-message.js";
import { BILLING_CAPABILITIES, BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import { writeMultipart } from "../../../engine/peppol/as4/mime.js";
import { wrapDocument } from "../../../engine/peppol/envelope/byte-exact.js";
import { inThread, plainOf, userMessage } from "../../support/as4/as4.js";
import { forge } from "../../support/as4/as4-forge.js";
import type { Edits } from "../../support/as4/as4-forge.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../support/as4/as4-keys.js";
import { memoryInbox, ownOf, trustIn } from "../../support/as4/as4-peer.js";
import type { MemoryInbox } from "../../support/as4/as4-peer.js";
import { memoryArchive } from "../../support/as4/evidence.js";
import type { MemoryArchive } from "../../support/as4/evidence.js";
import { invoiceOf } from "../../support/as4/outgoing.js";
import { JobQuarantined } from "../../../validators/pool.js";

const sender = "0245:2020202020" as ParticipantId;
const receiver = "0245:1234567890" as ParticipantId;
const TYPE = BILLING_CAPABILITIES[0]?.documentTypeId ?? "";

let us: AccessPoint;
let them: AccessPoint;
let stranger: AccessPoint;
let inbox: MemoryInbox;
let archive: MemoryArchive;
let trust: ReturnType<typeof trustIn>;
let receive: As4Receiver;

beforeAll(() => {
  us = accessPoint("PSK000001");
  them = accessPoint("PSK000002");
  stranger = accessPoint("PSK000003");
});

function start(crypto: As4Crypto = inThread): void {
  receive = createAs4Receiver({
    own: ownOf(us),
    trust,
    crypto,
    receive: (exchange) => inbox.receive(exchange),
    evidence: archive,
    clock: systemClock,
    metrics: createMetrics(),
    log: silentLog,
  });
}
beforeEach(() => {
  inbox = memoryInbox((exchange) => exchange.receiver === receiver && exchange.documentTypeId === TYPE);
  archive = memoryArchive();
  trust = trustIn(them);
  start();
});
afterEach(async () => {
  // Whatever came before, the process takes the next good message.
  trust = trustIn(them);
  inbox.failing = 0;
  archive.failing = 0;
  start();
  const one = await good();
  expect(await verdict(one, await receive(one.body, one.contentType))).toBe("receipt");
});

interface Choices {
  readonly messageId: string;
  readonly instanceId: string;
  readonly payload: Buffer;
  /** Changes the standard business document. */
  readonly sbd: (text: string) => string;
  readonly header: Parameters<typeof userMessage>[2];
}

interface Sent extends BuiltMessage {
  readonly messageId: string;
}

async function good(choices: Partial<Choices> = {}): Promise<Sent> {
  const wrapped = wrapDocument({
    sender,
    receiver,
    documentType: TYPE,
    process: BILLING_PROCESS,
    instanceId: choices.instanceId ?? randomUUID(),
    createdAt: Date.parse("2026-11-20T10:00:00Z"),
    countryC1: "SK",
    payload: choices.payload ?? invoiceOf(),
  });
  if (wrapped.kind === "refused") throw new Error(wrapped.fault);
  const messageId = choices.messageId ?? `${randomUUID()}@peer`;
  const payload = Buffer.from((choices.sbd ?? ((text: string) => text))(wrapped.bytes.toString()));
  const message = userMessage(them, us, { messageId, action: `busdox-docid-qns::${TYPE}`, ...choices.header });
  return {
    messageId,
    ...(await buildUserMessage(
      { message, payload, id: randomUUID(), signer: them, recipient: us.certificate },
      inThread,
    )),
  };
}

const read = (
  sent: { readonly messageId: string; readonly references: BuiltMessage["references"] },
  reply: As4Reply,
): Promise<Answer> =>
  readAnswer(
    Buffer.from(reply.body),
    reply.contentType,
    { messageId: sent.messageId, references: sent.references, recipient: us.certificate },
    inThread,
  );

/** `receipt`, or the code of the signed error. */
async function verdict(sent: Sent, reply: As4Reply): Promise<string> {
  const answer = await read(sent, reply);
  if (answer.kind === "error" || answer.kind === "already_handed_over")
    return answer.sameCertificate
      ? `${answer.errors[0]?.code ?? ""}${answer.errors[0]?.detail === undefined ? "" : ` ${answer.errors[0].detail}`}`
      : "unsigned error";
  return answer.kind === "unconfirmed" ? answer.reason : answer.kind;
}

/** The error code in an answer to something whose MessageId may have been unreadable. */
const codeIn = (reply: As4Reply): string =>
  /errorCode="([^"]+)"/.exec(Buffer.from(reply.body).toString())?.[1] ?? `none (${reply.status})`;

const nothingStored = (): void => {
  expect(inbox.received).toEqual([]);
  expect(archive.stored).toEqual([]);
};

describe("taken", () => {
  test("a message that is taken is stored, archived and receipted: the receipt proves exactly what was sent, and the payload is byte for byte what the sender had", async () => {
    const payload = invoiceOf();
    const sent = await good({ payload });
    const reply = await receive(sent.body, sent.contentType);
    expect([reply.status, await verdict(sent, reply)]).toEqual([200, "receipt"]);
    expect(inbox.received.map((one) => plainOf(one.payload).equals(payload))).toEqual([true]);
    expect(archive.last("request")?.equals(sent.body)).toBe(true);
    expect(archive.last("payload")?.equals(Buffer.from(sent.compressed))).toBe(true);
    expect(archive.last("answer")?.equals(Buffer.from(reply.body))).toBe(true);
    expect(archive.last("signer")?.equals(them.certificate)).toBe(true);
  });

  test("the same bytes again get the very same receipt, and nothing is stored twice", async () => {
    const sent = await good();
    const first = await receive(sent.body, sent.contentType);
    const again = await receive(sent.body, sent.contentType);
    expect(Buffer.from(again.body).equals(Buffer.from(first.body))).toBe(true);
    expect([inbox.received.length, archive.stored.length]).toEqual([1, 1]);
  });

  test("the same document packed anew gets a receipt for its new signature, and is stored once", async () => {
    const ids = { messageId: "same@peer", instanceId: randomUUID() };
    for (let i = 0; i < 3; i += 1) {
      const sent = await good(ids);
      expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("receipt");
    }
    expect([inbox.received.length, archive.stored.map(({ record }) => record.facts.outcome)]).toEqual([
      1,
      ["stored", "duplicate", "duplicate"],
    ]);
  });

  test("under a new MessageId with the same InstanceIdentifier it is the same document", async () => {
    const instanceId = randomUUID();
    for (const messageId of ["a@peer", "b@peer"]) {
      const sent = await good({ messageId, instanceId });
      expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("receipt");
    }
    expect(inbox.received).toHaveLength(1);
  });

  test.each([
    ["MessageId", { messageId: "used@peer" }],
    ["InstanceIdentifier", { instanceId: "0b8a1e9c-0000-4000-8000-000000000001" }],
  ])("another document under a used %s is refused, not swallowed", async (_, ids) => {
    const first = await good(ids);
    await receive(first.body, first.contentType);
    const second = await good({ ...ids, payload: invoiceOf({ number: "2" }) });
    expect(await verdict(second, await receive(second.body, second.contentType))).toBe("EBMS:0003");
    expect([inbox.received.length, archive.stored.length]).toEqual([1, 1]);
  });

  test("the test service is receipted and delivers nothing", async () => {
    const sent = await good({ header: { service: TEST_SERVICE, serviceType: undefined, action: TEST_ACTION } });
    expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("receipt");
    nothingStored();
  });
});

describe("no receipt before commit and archive", () => {
  test("the database is away: EBMS:0202 with 503, and the repeat is taken", async () => {
    inbox.failing = 1;
    const sent = await good();
    const reply = await receive(sent.body, sent.contentType);
    expect([reply.status, await verdict(sent, reply)]).toEqual([503, "EBMS:0202"]);
    nothingStored();
    expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("receipt");
  });

  test("the archive is away after the commit: no receipt, and the repeat is archived and receipted, once stored", async () => {
    archive.failing = 1;
    const sent = await good();
    const reply = await receive(sent.body, sent.contentType);
    expect([reply.status, await verdict(sent, reply)]).toEqual([503, "EBMS:0202"]);
    expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("receipt");
    expect([inbox.received.length, archive.stored.length]).toEqual([1, 1]);
  });

  test("the workers take no more: 503, and the process stays", async () => {
    start(async () => {
      throw new Error("the small lane takes no more jobs");
    });
    const sent = await good();
    expect((await receive(sent.body, sent.contentType)).status).toBe(503);
    nothingStored();
  });
});

describe("not for us", () => {
  test("a recipient we do not serve: EBMS:0004 with exactly PEPPOL:NOT_SERVICED", async () => {
    const other = "0245:9999999999";
    const sent = await good({
      header: { finalRecipient: other },
      sbd: (text) => text.replace(`>${receiver}<`, `>${other}<`),
    });
    expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("EBMS:0004 PEPPOL:NOT_SERVICED");
    nothingStored();
  });

  test("a document type that the recipient does not take is not for us", async () => {
    const other = TYPE.replace("billing:3.0", "other:3.0");
    const sent = await good({
      header: { action: `busdox-docid-qns::${other}` },
      sbd: (text) => text.replace(TYPE, other),
    });
    expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("EBMS:0004 PEPPOL:NOT_SERVICED");
    nothingStored();
  });

  test("a message to another seat is not for us", async () => {
    const sent = await good({ header: { toParty: "PSK000009" } });
    expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("EBMS:0003");
    nothingStored();
  });
});

describe("X-08: certificates", () => {
  test.each(["wrong_ca", "unknown_issuer", "expired", "not_yet_valid", "revoked", "signature", "seat_id"])(
    "%s: EBMS:0101 and no word why",
    async (fault) => {
      trust.refusing = { fault, passing: false };
      const sent = await good();
      const reply = await receive(sent.body, sent.contentType);
      expect(await verdict(sent, reply)).toBe("EBMS:0101");
      expect(Buffer.from(reply.body).toString()).not.toContain(fault);
      nothingStored();
    },
  );

  test("nobody can say whether it is revoked and the policy is hard: EBMS:0202, which the sender repeats", async () => {
    trust.refusing = { fault: "revocation_unknown", passing: true };
    const sent = await good();
    expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("EBMS:0202");
    nothingStored();
  });

  test("a certificate whose name is not the sender's PartyId is refused", async () => {
    const sent = await good({ header: { fromParty: "PSK000003" } });
    expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("EBMS:0101");
    nothingStored();
  });

  test("a self-made certificate with the right name is refused", async () => {
    const message = await forge(accessPoint("PSK000002"), us);
    expect(codeIn(await receive(message.body, message.contentType))).toBe("EBMS:0101");
    nothingStored();
  });
});

describe("X-09: parts, encryption, compression", () => {
  const payload = (bytes: Buffer): Edits => ({ signedPayload: bytes });
  const sbd = (): Buffer => {
    const wrapped = wrapDocument({
      sender,
      receiver,
      documentType: TYPE,
      process: BILLING_PROCESS,
      instanceId: randomUUID(),
      createdAt: 0,
      countryC1: "SK",
      payload: invoiceOf(),
    });
    return wrapped.kind === "built" ? wrapped.bytes : Buffer.alloc(0);
  };
  const cases: readonly [name: string, edits: () => Edits, code: string][] = [
    [
      "the header names another part",
      () => ({ messaging: (xml) => xml.replace(/href="cid:[^"]+"/, 'href="cid:other@peer"') }),
      "EBMS:0007",
    ],
    ["the part is missing", () => ({ parts: (parts) => parts.slice(0, 1) }), "EBMS:0101"],
    ["two parts of one id", () => ({ parts: (parts) => [...parts, ...parts.slice(1)] }), "EBMS:0007"],
    [
      "one part too many",
      () => ({
        parts: (parts) => [...parts, { cid: "extra@peer", contentType: "text/plain", body: Buffer.from("x") }],
      }),
      "EBMS:0103",
    ],
    [
      "one octet of the ciphertext changed",
      () => ({
        parts: (parts) =>
          parts.map((part, i) =>
            i === 1 ? { ...part, body: part.body.map((octet, at) => (at === 40 ? ~octet : octet)) } : part,
          ),
      }),
      "EBMS:0102",
    ],
    ["a broken gzip", () => payload(Buffer.concat([gzipSync(sbd()).subarray(0, -20), Buffer.alloc(20)])), "EBMS:0303"],
    [
      "a gzip with something behind it",
      () => payload(Buffer.concat([gzipSync(sbd()), Buffer.from("more")])),
      "EBMS:0303",
    ],
    ["a gzip of 200 MB of zeros", () => payload(gzipSync(Buffer.alloc(200 * 1024 * 1024))), "EBMS:0303"],
    ["a payload that is no standard business document", () => payload(gzipSync(invoiceOf())), "EBMS:0003"],
    ["a payload that is no XML", () => payload(gzipSync(Buffer.from("hello"))), "EBMS:0003"],
  ];
  test.each(cases)(
    "a message whose parts, encryption or compression are wrong is refused: %s",
    async (_, edits, code) => {
      const message = await forge(them, us, edits());
      expect(codeIn(await receive(message.body, message.contentType))).toBe(code);
      nothingStored();
    },
  );

  test.each<[string, Edits]>([
    ["in the header", { messaging: (xml) => xml.replace('href="cid:', 'href="CID:') }],
    ["in the signature", { signedInfo: (xml) => xml.replace('URI="cid:', 'URI="Cid:') }],
    ["in the encryption", { envelope: (xml) => xml.replace('CipherReference URI="cid:', 'CipherReference URI="CID:') }],
  ])("a message that names its part by CID: in capitals %s is taken", async (_, edits) => {
    const message = await forge(them, us, { ...edits, signedPayload: gzipSync(sbd()) });
    const reply = await receive(message.body, message.contentType);
    expect(Buffer.from(reply.body).toString()).toContain("NonRepudiationInformation");
  });

  test("a part encrypted for somebody else is refused", async () => {
    const message = await forge(them, stranger, { messaging: (xml) => xml.replace("PSK000003", "PSK000001") });
    expect(codeIn(await receive(message.body, message.contentType))).toBe("EBMS:0102");
    nothingStored();
  });

  test("a boundary of 10 MB, ten thousand parts, no parts, and no MIME at all are refused", async () => {
    const sent = await good();
    const huge = "b".repeat(10 * 1024 * 1024);
    expect(codeIn(await receive(sent.body, `multipart/related; boundary="${huge}"`))).toBe("EBMS:0007");
    const many = writeMultipart(
      Array.from({ length: 10_000 }, () => ({ contentType: "application/soap+xml", body: Buffer.from("<x/>") })),
      "many",
    );
    expect(codeIn(await receive(many.body, many.contentType))).toBe("EBMS:0007");
    for (const [body, type] of [
      [Buffer.alloc(0), sent.contentType],
      [Buffer.alloc(0), ""],
      [Buffer.from("{}"), "application/json"],
      [Buffer.from("<x/>"), "application/soap+xml"],
    ] as const) {
      expect(codeIn(await receive(body, type))).toMatch(/^EBMS:000[79]$/);
    }
    nothingStored();
  });

  test("a header that disagrees with the standard business document is refused: each of the four", async () => {
    for (const header of [
      { originalSender: "0245:1111111111" },
      { finalRecipient: "0245:1111111111" },
      { action: "busdox-docid-qns::other" },
      { service: "other" },
    ]) {
      const sent = await good({ header });
      expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("EBMS:0003");
    }
    nothingStored();
  });

  test.each([
    ["no country", /<sh:Scope><sh:Type>COUNTRY_C1.*?<\/sh:Scope>/, ""],
    ["an id that fits no index", /(<sh:InstanceIdentifier>)[0-9a-f-]{36}</, `$1${"\u4e00".repeat(1_000)}<`],
    ["two receivers", /(<sh:Receiver>.*<\/sh:Receiver>)/, "$1$1"],
    ["a doctype", /<sh:StandardBusinessDocument /, "<!DOCTYPE x [<!ENTITY y 'z'>]><sh:StandardBusinessDocument "],
  ])("a standard business document with %s is refused", async (_, pattern, replacement) => {
    const sent = await good({ sbd: (text) => text.replace(pattern, replacement) });
    expect(await verdict(sent, await receive(sent.body, sent.contentType))).toBe("EBMS:0003");
    nothingStored();
  });

  test("bytes that kill workers are refused for good", async () => {
    start(async (kind, input) => {
      if (kind !== "as4.open") return inThread(kind, input);
      throw new JobQuarantined("0".repeat(64));
    });
    const sent = await good();
    expect(codeIn(await receive(sent.body, sent.contentType))).toBe("EBMS:0009");
    nothingStored();
  });
});

test("a wrong key, a changed ciphertext and a wrong padding are one answer: nothing to learn from", async () => {
  const answers = new Set<string>();
  for (const edits of [
    {
      parts: (parts: Parameters<NonNullable<Edits["parts"]>>[0]) =>
        parts.map((part, i) => (i === 1 ? { ...part, body: Buffer.alloc(5) } : part)),
    },
    {
      parts: (parts: Parameters<NonNullable<Edits["parts"]>>[0]) =>
        parts.map((part, i) => (i === 1 ? { ...part, body: Buffer.alloc(500) } : part)),
    },
    { signedPayload: gzipSync("x"), sealKey: () => Buffer.alloc(256, 1) },
    { signedPayload: gzipSync("x"), sealKey: () => Buffer.alloc(3) },
  ] satisfies Edits[]) {
    const message = await forge(them, us, edits);
    const text = Buffer.from((await receive(message.body, message.contentType)).body).toString();
    answers.add(/<eb:Error .*<\/eb:Error>/s.exec(text)?.[0]?.replace(/refToMessageInError="[^"]*"/, "") ?? "none");
  }
  expect(answers.size).toBe(1);
  expect([...answers][0]).toContain("EBMS:0102");
});
