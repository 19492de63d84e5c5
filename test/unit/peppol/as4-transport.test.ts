/**
 * Every way an exchange with another access point can end, over real HTTP: the outcome, what is kept of it, and that "possibly
 * delivered" never becomes a second document. @source design/reliability.md, S-08, S-09
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { gunzipSync } from "node:zlib";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { MlsType } from "../../../engine/base/config.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { decideAttempt, waitAfter } from "../../../engine/documents/delivery/dispatch.js";
import { as4Jobs } from "../../../engine/peppol/as4/jobs.js";
import type { As4Jobs } from "../../../engine/peppol/as4/jobs.js";
import { buildError, buildReceipt } from "../../../engine/peppol/as4/messages.js";
import type { As4Crypto } from "../../../engine/peppol/as4/messages.js";
import { outcomeOfStatus } from "../../../engine/peppol/as4/outcomes.js";
import type { EndpointFound } from "../../../engine/peppol/as4/ports.js";
import type { EbmsErrorCode } from "../../../engine/peppol/as4/ebms-errors.js";
import { createHttpClient } from "../../../engine/peppol/network/http.js";
import type { HttpClient } from "../../../engine/peppol/network/http.js";
import { buildMls } from "../../../engine/peppol/responses/mls-builder.js";
import { MLS_DOCUMENT_TYPE, MLS_PROCESS } from "../../../engine/peppol/responses/mls.js";
import { createReceivers } from "../../../engine/peppol/as4/send-gate.js";
import type { Receivers } from "../../../engine/peppol/as4/send-gate.js";
import { OUTCOMES } from "../../../engine/peppol/transport.js";
import type { Exchange, Outcome } from "../../../engine/peppol/transport.js";
import { sha256Hex } from "../../../engine/storage/evidence/record.js";
import { inThread, plainOf } from "../../support/as4/as4.js";
import { JobFailed, JobQuarantined, PoolBusy } from "../../../validators/pool.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../support/as4/as4-keys.js";
import { answer, answerWith, startPeer, trustIn } from "../../support/as4/as4-peer.js";
import type { Arrived, Peer } from "../../support/as4/as4-peer.js";
import { memoryArchive } from "../../support/as4/evidence.js";
import { outgoing as exchange, transportTo } from "../../support/as4/outgoing.js";
import type { MemoryArchive } from "../../support/as4/evidence.js";

const sender = "0245:2020202020" as ParticipantId;
const receiver = "0245:1234567890" as ParticipantId;

let us: AccessPoint;
let them: AccessPoint;
let renewed: AccessPoint;
let stranger: AccessPoint;
let peer: Peer;
let archive: MemoryArchive;
let http: HttpClient;
let receivers: Receivers;
let found: EndpointFound | undefined;
/** Runs while the recipient is looked up. */
let lookingUp: () => void;
let forgotten: number;
/** How far the wall clock was set. */
let set_ms: number;
let trust: ReturnType<typeof trustIn>;

beforeAll(() => {
  us = accessPoint("PSK000001");
  them = accessPoint("PSK000002");
  renewed = accessPoint("PSK000002");
  stranger = accessPoint("PSK000003");
});
beforeEach(async () => {
  peer = await startPeer(them, trustIn(us));
  archive = memoryArchive();
  http = createHttpClient({ policy: { allowLoopback: true, ownOrigins: [] } });
  receivers = createReceivers({ clock: systemClock });
  found = undefined;
  lookingUp = () => undefined;
  forgotten = 0;
  set_ms = 0;
  trust = trustIn(them);
});
afterEach(async () => {
  http.close();
  await peer.stop();
});
const outcomesSeen = new Set<string>();
afterAll(() => {
  expect([...Object.keys(OUTCOMES)].filter((kind) => !outcomesSeen.has(kind))).toEqual([]);
});

async function deliver(
  one: Exchange = exchange(),
  signal: AbortSignal = new AbortController().signal,
  mlsType?: MlsType,
  crypto: As4Crypto = inThread,
  jobs: Pick<As4Jobs, "build" | "judge"> = as4Jobs(crypto),
): Promise<Outcome> {
  const transport = transportTo(peer.url, [us, them], {
    endpoints: {
      find: async () => {
        lookingUp();
        return (
          found ?? {
            kind: "endpoint",
            url: peer.url,
            certificate: them.certificate,
            metadata: {
              document: Buffer.from("<signed/>"),
              issuers: [Buffer.from("ca"), Buffer.from("root")],
              url: "https://smp.test/",
              fetchedAt: 7,
            },
          }
        );
      },
      forget: () => {
        forgotten += 1;
      },
    },
    ...{ trust, crypto, jobs, http: http.request, receivers, evidence: archive },
    clock: { now: () => systemClock.now() + set_ms, monotonic: () => systemClock.monotonic() },
    ...(mlsType === undefined ? {} : { mlsType }),
  });
  const outcome = await transport.deliver(one, signal);
  outcomesSeen.add(outcome.kind);
  return outcome;
}

/** A signed answer of `point` about the message that arrived. */
const MESSAGE_ID = /<eb:MessageId>([^<]+)</;
const signedError =
  (point: AccessPoint, code: EbmsErrorCode, detail?: string, change: (body: Buffer) => Buffer = (body) => body) =>
  async ({ body, response }: Arrived): Promise<void> => {
    const refToMessageId = MESSAGE_ID.exec(body.toString("latin1"))?.[1] ?? "";
    const signal = await buildError(
      {
        id: randomUUID(),
        signer: point,
        messageId: `${randomUUID()}@peer`,
        timestamp: "2026-11-20T10:00:00Z",
        refToMessageId,
      },
      { code, ...(detail === undefined ? {} : { detail }) },
      inThread,
    );
    response.writeHead(200, { "content-type": signal.contentType }).end(change(Buffer.from(signal.body)));
  };

/** The receiver's own answer without its signature. */
const unsigned = (body: Buffer): Buffer =>
  Buffer.from(body.toString().replace(/<wsse:Security.*<\/wsse:Security>/s, ""));

describe("delivered", () => {
  test("neither side hashes on its event loop what a signature covers: the worker tells the digest for the evidence", async () => {
    await deliver(exchange());
    for (const { stored, last } of [archive, peer.archive]) {
      const payload = stored.at(-1)?.record.parts.find(({ name }) => name === "payload");
      expect(payload?.sealed?.plainSha256).toBe(sha256Hex(last("payload") ?? Buffer.alloc(0)));
    }
  });

  test("a valid receipt is believed; both sides hold the same message, and the payload arrives byte for byte", async () => {
    const one = exchange();
    expect(await deliver(one)).toMatchObject({ kind: "receipt", peerSeat: "PSK000002" });
    expect(peer.inbox.received.map(({ payload }) => plainOf(payload).equals(one.payload))).toEqual([true]);
    expect(peer.inbox.received[0]).toMatchObject({
      sender,
      receiver,
      as4MessageId: one.as4MessageId,
      sbdhInstanceId: one.sbdhInstanceId,
      envelope: { countryC1: "SK", peerSeat: "PSK000001" },
    });
    expect(archive.last("request")?.equals(peer.archive.last("request") ?? Buffer.alloc(0))).toBe(true);
    expect(archive.last("answer")?.equals(peer.archive.last("answer") ?? Buffer.alloc(0))).toBe(true);
    expect(archive.last("payload")?.equals(peer.archive.last("payload") ?? Buffer.alloc(0))).toBe(true);
    expect(archive.last("smp")?.toString()).toBe("<signed/>");
    expect(archive.last("smp-issuers")?.toString()).toBe("caroot");
    expect(archive.stored[0]?.record.facts.smp).toEqual({ url: "https://smp.test/", fetchedAt: 7 });
    expect(archive.stored[0]?.record.facts).toMatchObject({
      direction: "outbound",
      outcome: "receipt",
      documentId: one.documentId,
      answerStatus: 200,
      revocation: "good",
    });
  });

  test.each(["FAILURE_ONLY", "ALWAYS_SEND"] as const)(
    "the envelope asks for the status that the operator configured: %s",
    async (type) => {
      await deliver(exchange(), undefined, type);
      expect(peer.inbox.received[0]?.envelope?.mls).toEqual({ type, to: undefined });
      expect(gunzipSync(archive.last("payload") ?? Buffer.alloc(0)).toString()).toContain(
        `<sh:Type>MLS_TYPE</sh:Type><sh:InstanceIdentifier>${type}<`,
      );
    },
  );

  test("a status asks for no status", async () => {
    const issues = buildMls({
      id: randomUUID(),
      issuedAt: systemClock.now(),
      sender: "000001",
      receiver: "000002",
      code: "AB",
      description: undefined,
      reference: randomUUID(),
      issues: [],
    });
    await deliver(
      exchange({ documentTypeId: MLS_DOCUMENT_TYPE, processId: MLS_PROCESS, payload: issues }),
      undefined,
      "ALWAYS_SEND",
    );
    expect(gunzipSync(archive.last("payload") ?? Buffer.alloc(0)).toString()).not.toContain("MLS_TYPE");
  });

  test("a repeat of the same MessageId is handed over once: the peer stores one document and receipts both", async () => {
    const one = exchange();
    await deliver(one);
    expect(await deliver({ ...one, attempt: 2 })).toMatchObject({ kind: "receipt" });
    expect(peer.inbox.received).toHaveLength(1);
  });

  test("a peer that answers a repeat with EBMS:4001 has it", async () => {
    peer.script.push(signedError(them, "EBMS:4001"));
    expect(await deliver(exchange({ attempt: 2 }))).toMatchObject({ kind: "already_handed_over", code: "EBMS:4001" });
    expect(archive.stored[0]?.record.facts.outcome).toBe("already_handed_over");
  });

  test("the same seat with a renewed certificate may sign the receipt when the certificate is trusted", async () => {
    const renewedPeer = await startPeer(renewed, trustIn(us));
    peer.script.push(async ({ body, contentType, response }) => {
      // The message is encrypted to the old key; the peer opens it with that and signs with the new one.
      const { createAs4Receiver } = await import("../../../engine/peppol/as4/receive.js");
      const { createMetrics } = await import("../../../engine/base/metrics.js");
      const rolled = createAs4Receiver({
        own: { current: () => renewed, all: () => [renewed, them] },
        trust: trustIn(us),
        crypto: inThread,
        receive: (e) => peer.inbox.receive(e),
        evidence: peer.archive,
        clock: systemClock,
        metrics: createMetrics(),
        log: silentLog,
      });
      await answerWith(rolled)({ body, contentType, response } as Arrived);
    });
    trust = trustIn(them, renewed);
    expect(await deliver()).toMatchObject({ kind: "receipt" });
    await renewedPeer.stop();
  });
});

describe("not believed: the document stays due, under the same MessageId", () => {
  test.each([
    [
      "a receipt of which one digit is another",
      (body: Buffer) =>
        Buffer.from(
          body
            .toString()
            .replace(/(<ds:DigestValue>)(.)/, (_, tag: string, first: string) => `${tag}${first === "A" ? "B" : "A"}`),
        ),
    ],
    ["an unsigned receipt", unsigned],
    ["half a receipt", (body: Buffer) => body.subarray(0, body.length / 2)],
  ])("an answer that is %s is not believed, and the document stays due under the same MessageId", async (_, change) => {
    peer.script.push(answerWith(peer.receiver, change));
    expect(await deliver()).toMatchObject({ kind: "unconfirmed" });
    expect(archive.stored[0]?.record.facts.outcome).toBe("unconfirmed");
  });

  test("a receipt for another message is not believed", async () => {
    await deliver();
    const other = peer.archive.last("answer") ?? Buffer.alloc(0);
    peer.script.push(answer(200, "application/soap+xml", other));
    expect(await deliver()).toMatchObject({ kind: "unconfirmed", code: "EBMS:0302" });
  });

  test.each(["them, but for nothing that we sent", "a stranger"])("a receipt by %s is not believed", async (who) => {
    peer.script.push(async ({ body, response }) => {
      const refToMessageId = MESSAGE_ID.exec(body.toString("latin1"))?.[1] ?? "";
      const references =
        who === "a stranger"
          ? (await import("../../../engine/peppol/as4/messages.js"))
              .openUserMessage(
                body,
                `${peer.arrived.at(-1)?.contentType ?? ""}`,
                { keys: [them], payloadBytesMax: 1_000_000 },
                inThread,
              )
              .then((o) => (o.kind === "message" ? o.references : []))
          : Promise.resolve([]);
      const signal = await buildReceipt(
        {
          id: randomUUID(),
          signer: who === "a stranger" ? stranger : them,
          messageId: "r@peer",
          timestamp: "2026-11-20T10:00:00Z",
          refToMessageId,
        },
        await references,
        inThread,
      );
      response.writeHead(200, { "content-type": signal.contentType }).end(signal.body);
    });
    expect(await deliver()).toMatchObject({ kind: "unconfirmed", code: "EBMS:0302" });
  });

  test("a receipt by the same seat with a certificate that is not trusted is not believed", async () => {
    peer.script.push(async ({ body, contentType, response }) => {
      const { openUserMessage } = await import("../../../engine/peppol/as4/messages.js");
      const opened = await openUserMessage(body, contentType, { keys: [them], payloadBytesMax: 1_000_000 }, inThread);
      if (opened.kind !== "message") throw new Error("not opened");
      const signal = await buildReceipt(
        {
          id: randomUUID(),
          signer: renewed,
          messageId: "r@peer",
          timestamp: "2026-11-20T10:00:00Z",
          refToMessageId: opened.message.messageId,
        },
        opened.references,
        inThread,
      );
      response.writeHead(200, { "content-type": signal.contentType }).end(signal.body);
    });
    expect(await deliver()).toMatchObject({ kind: "unconfirmed", code: "EBMS:0302" });
  });

  test.each([
    ["200 and nothing", 200, "", ""],
    ["200 and a web page", 200, "text/html", "<html>"],
    ["204", 204, "", ""],
    ["500", 500, "text/plain", "oops"],
    ["502 of a gateway", 502, "text/html", "<html>"],
  ])("an answer of %s is not believed, and the document stays due", async (_, status, contentType, body) => {
    peer.script.push(answer(status, contentType, body));
    expect(await deliver()).toMatchObject({ kind: "unconfirmed", code: status < 300 ? "EBMS:0301" : `HTTP ${status}` });
  });

  test("a reset after the upload leaves the document due", async () => {
    peer.script.push(({ request }) => {
      request.socket.resetAndDestroy();
    });
    // Whom it was transmitted to is known: a status of that access point counts, though no receipt ever comes.
    expect(await deliver()).toMatchObject({ kind: "unconfirmed", code: "RESET", peerSeat: "PSK000002" });
    expect(archive.stored[0]?.record.facts).toMatchObject({ outcome: "unconfirmed" });
    expect(archive.last("answer")).toBeUndefined();
  });

  test("a peer that hangs until the attempt's time is over leaves the document due", async () => {
    const abort = new AbortController();
    peer.script.push(() => {
      abort.abort();
    });
    expect(await deliver(exchange(), abort.signal)).toMatchObject({
      kind: "unconfirmed",
      code: "ABORTED",
      peerSeat: "PSK000002",
    });
  });

  test("an unsigned EBMS:4001 over plain HTTP proves nothing", async () => {
    peer.script.push(signedError(them, "EBMS:4001", undefined, unsigned));
    expect(await deliver()).toMatchObject({ kind: "unconfirmed", code: "EBMS:4001" });
  });

  test("a receipt whose evidence cannot be stored does not count, and uses nothing of the plan of its document", async () => {
    archive.failing = 1;
    const outcome = await deliver();
    expect(outcome).toMatchObject({ kind: "unconfirmed", code: "EVIDENCE", peerSeat: "PSK000002" });
    expect(waitAfter(LIMITS.retry_plan_ms, { answers: 0, faults: 0 }, outcome, () => 0.5).uses).toBe("fault");
  });

  test.each(["EBMS:0004", "EBMS:0303"] as const)(
    "a refusal %s whose evidence cannot be stored is remembered, ends nothing, and uses nothing of the plan",
    async (code) => {
      archive.failing = 1;
      peer.script.push(signedError(them, code));
      const outcome = await deliver();
      expect(outcome).toMatchObject({ kind: "peer_busy", code, peerSeat: "PSK000002" });
      expect(waitAfter(LIMITS.retry_plan_ms, { answers: 0, faults: 0 }, outcome, () => 0.5).uses).toBe("fault");
    },
  );

  test("an error that could not be judged, and whose evidence cannot be stored, is remembered", async () => {
    archive.failing = 1;
    peer.script.push(
      signedError(them, "EBMS:0202", undefined, (body) =>
        Buffer.from(body.toString().replace(/<ds:SignatureValue>./, "<ds:SignatureValue>+")),
      ),
    );
    expect(await deliver()).toMatchObject({ kind: "unconfirmed", code: "EVIDENCE WITH_ERROR", isOurs: true });
  });

  test.each([
    [307, "transport_failed"],
    [503, "peer_busy"],
    [500, "unconfirmed"],
  ] as const)("HTTP %i whose evidence cannot be stored means %s, as with it", async (status, kind) => {
    archive.failing = 1;
    peer.script.push(answer(status, "text/html", "<html>"), answer(status, "text/html", "<html>"));
    expect(await deliver()).toMatchObject({
      kind,
      detail: expect.stringMatching(/The evidence could not be stored\.$/),
      isOurs: true,
    });
    expect(await deliver()).toMatchObject({ kind, code: `HTTP ${status}` });
  });
});

describe("transmitted, but the answer cannot be judged", () => {
  const failing =
    (error: Error): As4Crypto =>
    async (kind, input) => {
      if (kind === "as4.check") throw error;
      return inThread(kind, input);
    };
  const judgedWith = (error: Error, one = exchange()): Promise<Outcome> =>
    deliver(one, undefined, undefined, failing(error));
  const FAULTS = [
    ["its job fails", new JobFailed("a bug")],
    ["it kills workers", new JobQuarantined("00")],
    ["the workers are stopping", new PoolBusy("small")],
  ] as const;

  test.each(FAULTS)(
    "a receipt that is not judged because %s makes a document count as sent: it is not cancelled as one that nobody has, and its plan goes on",
    async (_, error) => {
      const outcome = await judgedWith(error);
      expect(outcome).toMatchObject({ kind: "unconfirmed", code: "UNJUDGED", peerSeat: "PSK000002" });
      expect(peer.inbox.received).toHaveLength(1);
      expect(decideAttempt("queued", outcome, 1)).toMatchObject({ moves: [{ to: "sent" }], nextAttemptAt: 1 });
    },
  );

  test.each(FAULTS)("an error that is not judged because %s is told from a receipt that is not", async (_, error) => {
    peer.script.push(signedError(them, "EBMS:0202"));
    expect(await judgedWith(error)).toMatchObject({ kind: "unconfirmed", code: "UNJUDGED WITH_ERROR" });
  });

  test("a duplicate that is not judged is no error by which the message may have been refused", async () => {
    peer.script.push(signedError(them, "EBMS:4001"));
    expect(await judgedWith(new JobFailed("a bug"))).toMatchObject({ kind: "unconfirmed", code: "UNJUDGED" });
  });

  test("an answer that is not judged is kept in the evidence as it came, and that to the repeat under the same MessageId is believed", async () => {
    const one = exchange();
    expect((await judgedWith(new JobFailed("a bug"), one)).evidence).toBeDefined();
    expect(archive.stored[0]?.record.facts).toMatchObject({
      outcome: "unconfirmed",
      code: "UNJUDGED",
      messageId: one.as4MessageId,
      answerStatus: 200,
    });
    expect(archive.last("answer")?.equals(peer.archive.last("answer") ?? Buffer.alloc(0))).toBe(true);
    expect(await deliver({ ...one, attempt: 2 })).toMatchObject({ kind: "receipt" });
    expect(peer.inbox.received).toHaveLength(1);
  });

  test.each([
    [503, "peer_busy", "HTTP 503"],
    [404, "peer_busy", "HTTP 404"],
    [502, "unconfirmed", "HTTP 502"],
  ])("an answer that is not judged and is no SOAP means what its HTTP %i means: %s", async (status, kind, code) => {
    peer.script.push(answer(status, "text/html", "<html>"));
    // No worker reads what is no SOAP, so that the job itself is what fails.
    const outcome = await deliver(exchange(), undefined, undefined, inThread, {
      build: (input) => as4Jobs(inThread).build(input),
      judge: () => Promise.reject(new PoolBusy("small")),
    });
    expect(outcome).toMatchObject({ kind, code });
  });
});

describe("a repeat of a message that had gone out whole", () => {
  beforeEach(() => {
    const first = http;
    http = {
      ...first,
      request: async (call) => {
        const result = await first.request(call);
        return result.kind === "response" ? { ...result, isRepeated: true } : result;
      },
    };
  });

  test("a duplicate says that it answers a repeat, and one that answers the first message does not", async () => {
    peer.script.push(signedError(them, "EBMS:4001"), signedError(them, "EBMS:4001"));
    expect(await deliver()).toMatchObject({ kind: "already_handed_over", isRepeated: true });
    http = createHttpClient({ policy: { allowLoopback: true, ownOrigins: [] } });
    expect((await deliver()).isRepeated).toBeUndefined();
  });

  test.each(["judged", "not judged"])(
    "a busy peer's answer to it, %s, says nothing of the first: it may be there",
    async (how) => {
      peer.script.push(answer(503, "text/html", "<html>"));
      const { build, judge } = as4Jobs(inThread);
      const fails: typeof judge = () => Promise.reject(new PoolBusy("small"));
      const outcome = await deliver(exchange(), undefined, undefined, inThread, {
        build: (input) => build(input),
        judge: how === "judged" ? (input) => judge(input) : fails,
      });
      expect(outcome).toMatchObject({ kind: "unconfirmed", code: "HTTP 503" });
    },
  );
});

test.each([200, 307, 404, 500, 503])(
  "HTTP %i to the repeat of a message that had gone out whole says nothing of the first: it may be there",
  (status) => {
    for (const isEarly of [false, true])
      expect(outcomeOfStatus(status, "no SOAP", { isRepeated: true, isEarly })).toMatchObject({ kind: "unconfirmed" });
  },
);

test.each([
  [200, "transport_failed"],
  [303, "transport_failed"],
  [307, "transport_failed"],
  [404, "peer_busy"],
  [500, "transport_failed"],
  [503, "peer_busy"],
  [999, "transport_failed"],
] as const)(
  "HTTP %i before the whole message has gone out means %s: nobody has it, and it may be cancelled",
  async (status, kind) => {
    expect(outcomeOfStatus(status, "no SOAP", { isEarly: true })).toMatchObject({ kind, code: `HTTP ${status}` });
    const first = http;
    http = {
      ...first,
      request: async (call) => {
        const result = await first.request(call);
        return result.kind === "response" ? { ...result, isEarly: true } : result;
      },
    };
    peer.script.push(answer(status, "text/html", "<html>"));
    expect(await deliver()).toMatchObject({ kind, code: `HTTP ${status}` });
  },
);

describe("refused", () => {
  test.each(["EBMS:0003", "EBMS:0009", "EBMS:0010", "EBMS:0103", "EBMS:0303"] as const)(
    "a refusal %s, signed, is final",
    async (code) => {
      peer.script.push(signedError(them, code));
      expect(await deliver()).toMatchObject({ kind: "peer_refused", code });
    },
  );

  test.each([
    ["EBMS:0003", "peer_refused", "peer_busy"],
    ["EBMS:4001", "already_handed_over", "unconfirmed"],
  ] as const)(
    "%s signed with another certificate of the peer's seat means %s where that certificate is trusted, and %s where anybody may have made it",
    async (code, trusted, untrusted) => {
      peer.script.push(signedError(renewed, code), signedError(renewed, code));
      expect(await deliver()).toMatchObject({ kind: untrusted, code });
      trust = trustIn(them, renewed);
      expect(await deliver()).toMatchObject({ kind: trusted, code });
    },
  );

  test("NOT_SERVICED by a certificate of the peer's seat that is not trusted is final in no attempt", async () => {
    peer.script.push(signedError(renewed, "EBMS:0004", "PEPPOL:NOT_SERVICED"));
    expect(await deliver(exchange({ answers: LIMITS.doubted_unsigned_answers }))).toMatchObject({
      kind: "peer_busy",
      code: "EBMS:0004 PEPPOL:NOT_SERVICED UNPROVEN",
    });
  });

  test("a refusal in a stranger's name is tried again", async () => {
    peer.script.push(signedError(stranger, "EBMS:0103"));
    expect(await deliver()).toMatchObject({
      kind: "peer_busy",
      detail: "An unproven answer refuses the message; it is tried again.",
    });
  });

  test.each(["EBMS:0004", "EBMS:0101", "EBMS:0102", "EBMS:0202"] as const)("a refusal %s may pass", async (code) => {
    peer.script.push(signedError(them, code));
    expect(await deliver()).toMatchObject({ kind: "peer_busy", code });
  });

  test("after EBMS:0102 the recipient is looked up anew: the peer may have another key", async () => {
    peer.script.push(signedError(them, "EBMS:0102"));
    await deliver();
    expect(forgotten).toBe(1);
  });

  test.each([
    [404, 1],
    [410, 1],
    [308, 1],
    [503, 0],
    [500, 0],
    [200, 0],
  ])(
    "after HTTP %i the recipient is looked up anew %i times: an access point that moved is found, one that is busy is not asked about",
    async (status, times) => {
      peer.script.push(answer(status));
      await deliver();
      expect(forgotten).toBe(times);
    },
  );

  test("NOT_SERVICED is doubted once, for the recipient may have moved, and then final", async () => {
    peer.script.push(
      signedError(them, "EBMS:0004", "PEPPOL:NOT_SERVICED"),
      signedError(them, "EBMS:0004", "PEPPOL:NOT_SERVICED"),
    );
    expect(await deliver()).toMatchObject({ kind: "peer_busy", code: "EBMS:0004 PEPPOL:NOT_SERVICED" });
    expect(forgotten).toBe(1);
    expect(await deliver(exchange({ attempt: 2, answers: 1 }))).toMatchObject({ kind: "peer_refused", lookedUpAt: 7 });
  });

  test("NOT_SERVICED is doubted behind any number of attempts that the network has not answered", async () => {
    peer.script.push(signedError(them, "EBMS:0004", "PEPPOL:NOT_SERVICED"));
    const late = exchange({ attempt: LIMITS.doubted_unsigned_answers + 1, answers: 0 });
    expect(await deliver(late)).toMatchObject({ kind: "peer_busy", code: "EBMS:0004 PEPPOL:NOT_SERVICED" });
    expect(forgotten).toBe(1);
  });

  test.each([503, 429, 404, 413])("an answer of HTTP %d says that the message was not taken", async (status) => {
    peer.script.push(answer(status));
    expect(await deliver()).toMatchObject({ kind: "peer_busy", code: `HTTP ${status}` });
  });

  test("a redirect is not followed", async () => {
    peer.script.push(answer(307));
    expect(await deliver()).toMatchObject({ kind: "transport_failed", code: "HTTP 307" });
    expect(peer.arrived).toHaveLength(1);
  });
});

describe("nothing is sent", () => {
  test.each([
    [{ kind: "none", status: "participant_not_found", reason: "NXDOMAIN" }, "recipient_unregistered", "NXDOMAIN"],
    [
      { kind: "none", status: "participant_not_found", reason: "not_at_smp" },
      "recipient_unregistered",
      "participant_not_found not_at_smp",
    ],
    [
      { kind: "none", status: "document_type_not_supported", reason: "not_published" },
      "recipient_capability",
      "document_type_not_supported not_published",
    ],
    [{ kind: "none", status: "lookup_failed", reason: "dns_SERVFAIL" }, "lookup_failed", "lookup_failed dns_SERVFAIL"],
  ] as const)("nothing is sent when the look-up says %j", async (answered, kind, code) => {
    found = answered;
    expect(await deliver()).toMatchObject({ kind, code });
    expect(peer.arrived).toHaveLength(0);
    expect(archive.stored).toHaveLength(0);
  });

  test("nothing is sent to a certificate that is not trusted", async () => {
    trust.refusing = { fault: "revoked", passing: false };
    expect(await deliver()).toMatchObject({ kind: "certificate_rejected", code: "revoked" });
    expect(peer.arrived).toHaveLength(0);
  });

  test("nothing is sent when the connection is refused", async () => {
    await peer.stop();
    const outcome = await deliver();
    expect(outcome).toMatchObject({ kind: "transport_failed", code: "CONNECT_REFUSED" });
    // Whoever was not reached has no word about the document, and takes none from who got it before.
    expect(outcome).not.toHaveProperty("peerSeat");
    expect(archive.stored).toHaveLength(0);
    // Its access point may have moved.
    expect(forgotten).toBe(1);
  });

  test("nothing is sent to a private address that the metadata names", async () => {
    found = { kind: "endpoint", url: "https://10.1.2.3/as4", certificate: them.certificate };
    expect(await deliver()).toMatchObject({ kind: "transport_failed", code: "ADDRESS_REFUSED" });
  });

  test("nothing is sent of a document that has no form on the network", async () => {
    expect(
      await deliver(exchange({ payload: Buffer.from('<?xml version="1.0" encoding="ISO-8859-2"?><Invoice/>') })),
    ).toMatchObject({ kind: "unsendable", code: "encoding" });
    expect(peer.arrived).toHaveLength(0);
  });

  test("nothing is sent when our own key cannot sign", async () => {
    us = { ...us, key: { ...us.key, fingerprint: "other" } };
    expect(await deliver()).toEqual({ kind: "internal" });
    us = accessPoint("PSK000001");
  });
});

describe("a receiver that is full or down", () => {
  test("five failures in a row, then documents are deferred and the receiver is left alone", async () => {
    for (let i = 0; i < 5; i += 1)
      peer.script.push(({ request }) => {
        request.socket.resetAndDestroy();
      });
    for (let i = 0; i < 5; i += 1) expect(await deliver()).toMatchObject({ kind: "unconfirmed" });
    expect(await deliver()).toMatchObject({ kind: "deferred", code: "down" });
    expect(peer.arrived).toHaveLength(5);
  });

  test("a receiver may be back while it has been down for less than an hour, and is gone then", async () => {
    let ahead_ms = 0;
    receivers = createReceivers({ clock: { monotonic: () => systemClock.monotonic() + ahead_ms } });
    const failing = async (times: number): Promise<void> => {
      for (let i = 0; i < times; i += 1) {
        peer.script.push(({ request }) => {
          request.socket.resetAndDestroy();
        });
        expect(await deliver()).toMatchObject({ kind: "unconfirmed" });
      }
    };
    await failing(LIMITS.breaker_failures);
    expect(await deliver()).toMatchObject({ code: "down", keepsPlace: false, mayBeBack: true });
    ahead_ms = LIMITS.receiver_gone_ms;
    await failing(1);
    expect(await deliver()).toMatchObject({ code: "down", keepsPlace: false, mayBeBack: false });
  });

  test("an error of the protocol is an answer: the breaker stays closed", async () => {
    for (let i = 0; i < 8; i += 1) {
      peer.script.push(signedError(them, "EBMS:0103"));
      expect(await deliver()).toMatchObject({ kind: "peer_refused" });
    }
  });

  test("three at once to one that is not known: two are under way, the third is told when to come again, another receiver is served", async () => {
    const waiting: Arrived[] = [];
    let full: (() => void) | undefined;
    const isFull = new Promise<void>((resolve) => {
      full = resolve;
    });
    for (let i = 0; i < 2; i += 1)
      peer.script.push((arrived) => {
        if (waiting.push(arrived) === 2) full?.();
      });
    const slow = Array.from({ length: 2 }, () => deliver());
    await isFull;
    expect(await deliver()).toMatchObject({ kind: "deferred", code: "full" });
    const other = await startPeer(them, trustIn(us));
    found = { kind: "endpoint", url: other.url, certificate: them.certificate };
    expect(await deliver()).toMatchObject({ kind: "receipt" });
    for (const arrived of waiting) await answerWith(peer.receiver)(arrived);
    expect((await Promise.all(slow)).map(({ kind }) => kind)).toEqual(Array.from({ length: 2 }, () => "receipt"));
    await other.stop();
  });
});

describe("an attempt whose time is over before anything was sent", () => {
  const usedBy = (outcome: Outcome): string =>
    waitAfter(LIMITS.retry_plan_ms, { answers: 0, faults: 0 }, outcome, () => 0.5).uses;

  /** Five such attempts, one after the other: as many failures as open the breaker. */
  async function five(attempt: () => Promise<Outcome>): Promise<void> {
    expect(await deliver()).toMatchObject({ kind: "receipt" });
    const before = receivers.capacityOf(receiver);
    for (let n = 0; n < LIMITS.breaker_failures; n += 1) {
      const outcome = await attempt();
      expect(outcome).toMatchObject({ kind: "internal", code: "TIME_OVER" });
      expect(usedBy(outcome)).toBe("fault");
    }
    expect(receivers.capacityOf(receiver)).toEqual(before);
    expect(receivers.open()).toBe(0);
    expect(peer.arrived).toHaveLength(1);
  }

  test("an attempt whose time went with the look-up says nothing of the receiver, which keeps its places, and uses nothing of the plan", async () => {
    await five(() => {
      const abort = new AbortController();
      lookingUp = () => {
        abort.abort();
      };
      return deliver(exchange(), abort.signal);
    });
  });

  test("an attempt whose time went with sealing says nothing of the receiver, which keeps its places, and uses nothing of the plan", async () => {
    await five(() => {
      const abort = new AbortController();
      const slow: As4Crypto = async (kind, input) => {
        const sealed = await inThread(kind, input);
        abort.abort();
        return sealed;
      };
      return deliver(exchange(), abort.signal, undefined, slow);
    });
  });

  test("an attempt whose time is over while a connection is made says nothing of the receiver", async () => {
    let abort = new AbortController();
    const hanging = createServer(() => {
      abort.abort();
    });
    await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.1", resolve));
    const url = `https://127.0.0.1:${(hanging.address() as AddressInfo).port}/as4`;
    const before = receivers.capacityOf(receiver).places;
    for (let n = 0; n < LIMITS.breaker_failures; n += 1) {
      abort = new AbortController();
      found = { kind: "endpoint", url, certificate: them.certificate };
      expect(await deliver(exchange(), abort.signal)).toMatchObject({ kind: "internal", code: "TIME_OVER" });
    }
    expect([receivers.capacityOf(receiver).places, receivers.open()]).toEqual([before, 0]);
    await new Promise((resolve) => hanging.close(resolve));
  });
});

test("where no worker takes the message it is deferred for a moment: nothing was posted, and the next try delivers it", async () => {
  const one = exchange();
  const full: As4Crypto = async (kind, input) => {
    if (kind === "as4.seal") throw new PoolBusy("large");
    return inThread(kind, input);
  };
  expect(await deliver(one, undefined, undefined, full)).toEqual({
    kind: "deferred",
    code: "WORKERS_BUSY",
    keepsPlace: true,
    retryAfter_ms: LIMITS.workers_busy_retry_ms,
  });
  expect(peer.arrived).toEqual([]);
  expect((await deliver(one)).kind).toBe("receipt");
});

describe("a wall clock that is set during an attempt", () => {
  const HOUR_MS = 3_600_000;
  const steps = [
    ["forward", HOUR_MS],
    ["back", -HOUR_MS],
  ] as const;

  test.each(steps)(
    "a clock that is set %s between the look-up and the message defers the document for a moment: nothing was posted, the receiver keeps its places, and the next try delivers it",
    async (_, step_ms) => {
      const one = exchange();
      const before = receivers.capacityOf(receiver).places;
      lookingUp = () => {
        set_ms += step_ms;
      };
      expect(await deliver(one)).toEqual({
        kind: "deferred",
        code: "CLOCK_SET",
        keepsPlace: true,
        retryAfter_ms: LIMITS.clock_set_retry_ms,
      });
      expect([peer.arrived.length, archive.stored.length]).toEqual([0, 0]);
      expect([receivers.capacityOf(receiver).places, receivers.open()]).toEqual([before, 0]);
      lookingUp = () => undefined;
      expect((await deliver(one)).kind).toBe("receipt");
    },
  );

  test.each(steps)(
    "a clock that is set %s while the message is made defers its document: nothing was posted",
    async (_, step_ms) => {
      const sealing: As4Crypto = async (kind, input) => {
        const sealed = await inThread(kind, input);
        if (kind === "as4.seal") set_ms += step_ms;
        return sealed;
      };
      expect(await deliver(exchange(), undefined, undefined, sealing)).toMatchObject({ code: "CLOCK_SET" });
      expect(peer.arrived).toEqual([]);
    },
  );

  test.each([
    ["forward", LIMITS.clock_step_ms - 1_000],
    ["back", 1_000 - LIMITS.clock_step_ms],
  ])("a clock that a time server sets %s by seconds keeps no message from leaving", async (_, step_ms) => {
    lookingUp = () => {
      set_ms += step_ms;
    };
    expect((await deliver()).kind).toBe("receipt");
  });
});
