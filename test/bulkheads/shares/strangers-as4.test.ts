/**
 * Who is not of the network gets nothing done at /as4: no private key is used for a stranger, nothing of a stranger is
 * inflated or parsed, its jobs are its own, and its refusals are one line a second.
 */
import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, expect, test } from "vitest";

import type { ParticipantId } from "../../../engine/base/ids.js";
import { createLog, oncePerSecond, silentLog } from "../../../engine/base/log.js";
import type { Log } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { buildUserMessage } from "../../../engine/peppol/as4/messages.js";
import type { BuiltMessage } from "../../../engine/peppol/as4/messages.js";
import { as4Workers } from "../../../engine/documents/inbound/arrival-workers.js";
import { as4Jobs } from "../../../engine/peppol/as4/jobs.js";
import type { As4Jobs } from "../../../engine/peppol/as4/jobs.js";
import { createAs4Receiver } from "../../../engine/peppol/as4/receive.js";
import type { As4Receiver, As4Reply } from "../../../engine/peppol/as4/receive.js";
import { peerTrust } from "../../../engine/peppol/as4/trust.js";
import { authoritiesOf } from "../../../engine/peppol/pki/paths.js";
import { createPki } from "../../../engine/peppol/pki/pki.js";
import { BILLING_CAPABILITIES, BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import { wrapDocument } from "../../../engine/peppol/envelope/byte-exact.js";
import { createPool, PoolBusy } from "../../../validators/pool.js";
import type { OwnKey } from "../../../validators/wss/protocol.js";
import { inThread, userMessage } from "../../support/as4/as4.js";
import { forge } from "../../support/as4/as4-forge.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../support/as4/as4-keys.js";
import { memoryInbox } from "../../support/as4/as4-peer.js";
import { memoryArchive } from "../../support/as4/evidence.js";
import { invoiceOf } from "../../support/as4/outgoing.js";
import { fakeClock } from "../../support/fake-clock.js";
import { makeTestPki, parsed } from "../../support/peppol/test-pki.js";
import type { Leaf, TestPki } from "../../support/peppol/test-pki.js";
import { bundleWorker } from "../../support/validators/worker-bundle.js";

const sender = "0245:2020202020" as ParticipantId;
const receiver = "0245:1234567890" as ParticipantId;
const TYPE = BILLING_CAPABILITIES[0]?.documentTypeId ?? "";
const NOW = Date.parse("2026-11-20T10:00:00Z");

let pki: TestPki;
let us: Leaf;
let peer: Leaf;
let stranger: AccessPoint;
/** How often a key was taken to decrypt a message. */
let keyUses = 0;

beforeAll(async () => {
  pki = await makeTestPki();
  us = pki.leaf("ap", "PSK000001");
  peer = pki.leaf("ap", "PSK000002");
  stranger = accessPoint("PSK000003");
});
beforeEach(() => {
  keyUses = 0;
});

const counted = (): OwnKey => ({
  certificate: us.certificate,
  get key() {
    keyUses++;
    return us.key;
  },
});

interface Parts {
  readonly jobs?: Pick<As4Jobs, "open">;
  readonly log?: Log;
  readonly at?: number;
}

function receiverWith({ jobs, log = silentLog, at = NOW }: Parts = {}): As4Receiver {
  const clock = fakeClock(at);
  const { store } = pki;
  const revocation = { ask: () => Promise.reject(new Error("nobody is asked")) };
  return createAs4Receiver({
    own: { current: () => us, all: () => [counted()] },
    trust: peerTrust(createPki({ store, mode: "off", revocation, clock, log })),
    authorities: authoritiesOf(store),
    crypto: inThread,
    jobs: jobs ?? as4Jobs(inThread),
    receive: memoryInbox().receive,
    evidence: memoryArchive(),
    clock,
    metrics: createMetrics(),
    log,
  });
}

async function messageOf(from: AccessPoint | Leaf): Promise<BuiltMessage> {
  const wrapped = wrapDocument({
    sender,
    receiver,
    documentType: TYPE,
    process: BILLING_PROCESS,
    instanceId: randomUUID(),
    createdAt: NOW,
    countryC1: "SK",
    payload: invoiceOf(),
  });
  if (wrapped.kind === "refused") throw new Error(wrapped.fault);
  const message = userMessage(from, us, { action: `busdox-docid-qns::${TYPE}` });
  return buildUserMessage(
    { message, payload: wrapped.bytes, id: randomUUID(), signer: from, recipient: us.certificate },
    inThread,
  );
}

const codeIn = (reply: As4Reply): string =>
  /errorCode="([^"]+)"/.exec(Buffer.from(reply.body).toString())?.[1] ?? `none (${reply.status})`;
const send = async (receive: As4Receiver, message: { readonly body: Buffer; readonly contentType: string }) =>
  codeIn(await receive(message.body, message.contentType, "192.0.2.1"));

test("a message of the network is opened with our key, a stranger's is refused without it", async () => {
  const receive = receiverWith();
  expect(await send(receive, await messageOf(peer))).toBe("none (200)");
  expect(keyUses).toBe(1);
  expect(await send(receive, await messageOf(stranger))).toBe("EBMS:0101");
  expect(keyUses).toBe(1);
});

test.each([
  ["issued by the authority of SMPs", () => pki.leaf("smp", "PSK000002"), NOW],
  ["whose name is no seat", () => pki.leaf("ap", "WWW"), NOW],
  ["that has ended", () => pki.leaf("ap", "PSK000002"), Date.parse("2029-01-01T00:00:00Z")],
  ["that has not begun", () => pki.leaf("ap", "PSK000002", { notBefore: NOW + 1_000 }), NOW],
] as const)("a certificate %s opens nothing", async (_, leaf, at) => {
  expect(await send(receiverWith({ at }), await messageOf(leaf()))).toBe("EBMS:0101");
  expect(keyUses).toBe(0);
});

test("what a stranger has compressed or written as XML stays as it came: a broken part is answered like a whole one", async () => {
  const receive = receiverWith();
  const edits = [{}, { signedPayload: Buffer.from("no gzip") }, { signedPayload: Buffer.alloc(0) }];
  const answers: string[] = [];
  for (const edit of edits) answers.push(await send(receive, await forge(stranger, us, edit)));
  expect(answers).toEqual(["EBMS:0101", "EBMS:0101", "EBMS:0101"]);
  expect(keyUses).toBe(0);
});

test("a stranger who shows the certificate of a peer but has not its key opens nothing", async () => {
  const message = await forge({ ...peer, privateKey: stranger.privateKey }, us);
  expect(await send(receiverWith(), message)).toBe("EBMS:0101");
  expect(keyUses).toBe(0);
});

test("a path is climbed once for each certificate, and strangers push no peer out of memory", async () => {
  const store = { ...pki.store, issuers: { ...pki.store.issuers } };
  let looks = 0;
  Object.defineProperty(store.issuers, "ap", {
    get: () => {
      looks++;
      return [parsed(pki.ap.certificate)];
    },
  });
  const revocation = { ask: () => Promise.reject(new Error("nobody is asked")) };
  const judge = createPki({ store, mode: "off", revocation, clock: fakeClock(NOW), log: silentLog });
  const ask = (der: Uint8Array): void => void judge.checkPath(der, { usage: "ap" });
  ask(peer.certificate);
  const first = looks;
  for (let n = 0; n <= LIMITS.certificate_cache_entries; n++) ask(Buffer.from(`no certificate ${n}`));
  ask(peer.certificate);
  expect([first > 0, looks]).toEqual([true, first]);
});

test("jobs that open messages belong to the address that sent them", async () => {
  const owners: string[] = [];
  const { open } = as4Jobs(inThread);
  const receive = receiverWith({
    jobs: {
      open: (input, from) => {
        owners.push(from);
        return open(input, from);
      },
    },
  });
  const { body, contentType } = await messageOf(peer);
  await receive(body, contentType, "192.0.2.1");
  await receive(body, contentType, "2001:db8::/64");
  expect(owners).toEqual(["192.0.2.1", "2001:db8::/64"]);
});

test("where no worker takes a message the answer is a bare 503: not even an error is signed", async () => {
  const receive = receiverWith({ jobs: { open: () => Promise.reject(new PoolBusy("small")) } });
  const { body, contentType } = await messageOf(peer);
  const reply = await receive(body, contentType, "192.0.2.1");
  expect([reply.status, reply.body.length]).toEqual([503, 0]);
});

test("a thousand refusals are one line of the log for each kind and second", async () => {
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => lines.push(line) });
  const receive = receiverWith({ log });
  for (let n = 0; n < 50; n++) await receive(Buffer.from("garbage"), "text/plain", `192.0.2.${n}`);
  await send(receive, await messageOf(stranger));
  const told = lines.map((line) => JSON.parse(line) as { readonly event: string; readonly code: string });
  expect(told.map(({ event, code }) => `${event} ${code}`)).toEqual([
    "as4.message_refused EBMS:0007",
    "as4.message_refused EBMS:0101",
  ]);
});

test("a line that stands for others says for how many, and what goes wrong is told once a second, too", () => {
  const lines: string[] = [];
  const clock = fakeClock(NOW);
  const log = oncePerSecond(createLog("info", { write: (line) => lines.push(line) }), clock);
  for (let n = 0; n < 1_000; n++) log.error("as4.message_failed", { code: "ECONNREFUSED" });
  log.error("as4.message_failed", { code: "EPIPE" });
  clock.advance(LIMITS.log_kind_ms);
  log.error("as4.message_failed", { code: "ECONNREFUSED" });
  const told = lines.map((line) => JSON.parse(line) as { readonly code: string; readonly count?: number });
  expect(told.map(({ code, count }) => [code, count])).toEqual([
    ["ECONNREFUSED", undefined],
    ["EPIPE", undefined],
    ["ECONNREFUSED", 1_000],
  ]);
});

test("a worker judges a sender under the authorities that come with the message, and signs the refusal in the same job", async () => {
  const bundle = await bundleWorker("../gateway/start/worker.ts");
  const pool = createPool({
    threads: { small: 1, large: 1 },
    queueMax: 100,
    queueBytesMax: 100_000_000,
    jobTimeoutMs: 20_000,
    workerFile: bundle.file,
  });
  const clock = fakeClock(NOW);
  const asked: string[] = [];
  const jobs = as4Workers({
    pool: {
      ask: (kind, input, owner) => {
        asked.push(`${kind} ${owner?.fairnessKey ?? ""}`);
        return pool.ask(kind, input, owner);
      },
    },
    clock,
    metrics: createMetrics(),
    onJudged: () => undefined,
  });
  const open = async (from: AccessPoint | Leaf): ReturnType<As4Jobs["open"]> => {
    const { body, contentType } = await messageOf(from);
    return jobs.open(
      {
        ...{ bytes: body, contentType, keys: [us], payloadBytesMax: LIMITS.as4_payload_bytes_max },
        senders: { authorities: authoritiesOf(pki.store), at: NOW },
        receipt: { id: randomUUID(), signer: us, messageId: "r@x", timestamp: "2026-11-20T10:00:00Z" },
      },
      "192.0.2.1",
    );
  };
  try {
    expect((await open(peer)).kind).toBe("arrived");
    const refused = await open(stranger);
    expect(refused).toMatchObject({ kind: "refused", reason: "signer_refused", detail: "unknown_issuer" });
    expect(refused.kind === "refused" ? codeIn({ status: 200, ...refused.answer }) : "").toBe("EBMS:0101");
    expect(asked).toEqual(["as4.arrival as4/192.0.2.1", "as4.arrival as4/192.0.2.1"]);
  } finally {
    await pool.stop();
    await bundle.remove();
  }
});
