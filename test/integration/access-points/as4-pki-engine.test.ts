/**
 * A whole engine under the keys and authorities of an operator: whose messages it takes and to whom it sends as their
 * certificates and the revocation services have it, both policies; its own key replaced while it runs; what its metrics say of
 * what ends. The units are in pki.test.ts and pki-own-keys.test.ts. @source design/as4.md, section 13; design/reliability.md, X-08
 */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { Config } from "../../../engine/base/config.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { buildUserMessage, readAnswer } from "../../../engine/peppol/as4/messages.js";
import type { BuiltMessage } from "../../../engine/peppol/as4/messages.js";
import { auditEvidence } from "../../../engine/peppol/evidence/audit.js";
import type { AuditResult } from "../../../engine/peppol/evidence/audit.js";
import { BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import { pemOf } from "../../../engine/peppol/pki/certificate.js";
import type { NewCertificate } from "../../../engine/peppol/pki/issue.js";
import { wrapDocument } from "../../../engine/peppol/envelope/byte-exact.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { openEvidenceStore } from "../../../engine/storage/evidence/stores.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import type { OwnKey } from "../../../validators/wss/protocol.js";
import { inThread, userMessage } from "../../support/as4/as4.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import { startPeer, trustIn } from "../../support/as4/as4-peer.js";
import type { Peer } from "../../support/as4/as4-peer.js";
import {
  accessToken,
  INVOICE_TYPE,
  invoiceXml,
  send,
  sendParts,
  startTestEngine,
} from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { certIdIn, makeOcspAnswer, makeTestPki, parsed, startRevocationServer } from "../../support/peppol/test-pki.js";
import type { OcspReply, RevocationServer } from "../../support/peppol/test-pki.js";
import type { Leaf, TestPki } from "../../support/peppol/test-pki.js";

const [HOUR, DAY] = [3_600_000, 86_400_000];
const SENDER = "0245:7000000001" as ParticipantId;
const PASSWORD = "secret";
const MASTER_KEY = Buffer.alloc(32, 7);

let folder: string;
let pki: TestPki;
let other: TestPki;
let server: RevocationServer;
let ours: Leaf;

beforeAll(async () => {
  [pki, other, server] = await Promise.all([makeTestPki("OPERATOR"), makeTestPki("OTHER"), startRevocationServer()]);
  folder = mkdtempSync(join(tmpdir(), "kurier-as4-pki-"));
  mkdirSync(join(folder, "trust"));
  writeFileSync(
    join(folder, "trust", "all.pem"),
    [pki.root, pki.ap, pki.smp].map(({ certificate }) => pemOf(certificate)).join(""),
  );
  ours = leaf("PSK000001", { notAfter: systemClock.now() + 20 * DAY });
  writeKeyStore(ours);
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A certificate of an access point that began an hour ago and names our OCSP service. */
const leaf = (seat: string, changes: Partial<NewCertificate> = {}, from = pki, usage: "ap" | "smp" = "ap"): Leaf =>
  from.leaf(usage, seat, {
    notBefore: systemClock.now() - HOUR,
    notAfter: systemClock.now() + 300 * DAY,
    ocspUrl: `${server.url}/ocsp`,
    ...changes,
  });

/** Replaces the key store of the operator by renaming, as one should. */
function writeKeyStore(identity: Leaf): void {
  writeFileSync(
    join(folder, "in.pem"),
    pemOf(identity.certificate) +
      pemOf(pki.ap.certificate) +
      identity.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  );
  execFileSync("openssl", ["pkcs12", "-export", "-in", "in.pem", "-out", "new.p12", "-passout", `pass:${PASSWORD}`], {
    cwd: folder,
    stdio: "ignore",
  });
  renameSync(join(folder, "new.p12"), join(folder, "store.p12"));
}

function ocspSays(status: OcspReply["status"]): void {
  server.ocsp = (question) => ({
    body: makeOcspAnswer(pki.ap, certIdIn(question), {
      status,
      thisUpdate: systemClock.now() - HOUR,
      nextUpdate: systemClock.now() + HOUR,
    }),
  });
}
const ocspIsDown = (): void => {
  server.ocsp = () => ({ status: 500, body: Buffer.alloc(0) });
};

const start = (config: Partial<Config>): Promise<TestEngine> =>
  startTestEngine({
    transport: "as4",
    config: {
      AS4_KEYSTORE: join(folder, "store.p12"),
      AS4_KEYSTORE_PASSWORD: PASSWORD,
      MASTER_KEY,
      PEPPOL_TRUST_DIR: join(folder, "trust"),
      ...config,
    },
  });

const ANYBODY = accessPoint("PSK000001");
async function messageOf(
  engine: TestEngine,
  signer: OwnKey,
  seat = "PSK000002",
  to: Leaf = ours,
): Promise<BuiltMessage & { readonly messageId: string }> {
  const receiver = engine.sandbox.receiver.participantId as ParticipantId;
  const sbd = wrapDocument({
    sender: SENDER,
    receiver,
    documentType: INVOICE_TYPE,
    process: BILLING_PROCESS,
    instanceId: randomUUID(),
    createdAt: systemClock.now(),
    countryC1: "SK",
    payload: Buffer.from(invoiceXml(SENDER, receiver)),
  });
  if (sbd.kind === "refused") throw new Error(sbd.fault);
  const messageId = `${randomUUID()}@peer`;
  const header = userMessage(ANYBODY, ANYBODY, {
    messageId,
    fromParty: seat,
    toParty: "PSK000001",
    originalSender: SENDER,
    finalRecipient: receiver,
    action: `busdox-docid-qns::${INVOICE_TYPE}`,
  });
  return {
    messageId,
    ...(await buildUserMessage(
      { message: header, payload: sbd.bytes, id: randomUUID(), signer, recipient: to.certificate },
      inThread,
    )),
  };
}

/** What the engine answers to a message: `receipt`, or the code of its error. @param by whose receipt it must be */
async function answerTo(
  engine: TestEngine,
  sent: BuiltMessage & { readonly messageId: string },
  by: Leaf = ours,
): Promise<string> {
  const response = await fetch(new URL("/as4", engine.engine.publicUrl), {
    method: "POST",
    headers: { "content-type": sent.contentType },
    body: new Uint8Array(sent.body),
  });
  const answer = await readAnswer(
    Buffer.from(await response.arrayBuffer()),
    response.headers.get("content-type") ?? "",
    { messageId: sent.messageId, references: sent.references, recipient: by.certificate },
    inThread,
  );
  if (answer.kind === "receipt") return answer.sameCertificate ? "receipt" : "receipt by another certificate";
  return answer.kind === "error" ? answer.errors.map(({ code }) => code).join() : answer.kind;
}

/** What `evidence verify` finds in all that an engine has kept. */
async function evidenceOf({ db: { sql }, dataDir }: TestEngine): Promise<Pick<AuditResult, "entries" | "faults">> {
  const store = openEvidenceStore(undefined, dataDir, systemClock);
  const archive = createEvidenceArchive({ sql, store, sealer: createSealer([MASTER_KEY]), clock: systemClock });
  const { entries, faults } = await auditEvidence({ sql, store, archive, crypto: inThread, now: systemClock.now() });
  return { entries, faults };
}

const stored = async ({ db }: TestEngine): Promise<number> => (await db.sql`select 1 from received_document`).length;

describe.each(["soft", "hard"] as const)("REVOCATION=%s", (mode) => {
  let engine: TestEngine;
  const RECEIVERS = { good: "0245:5000000001", revoked: "0245:5000000002", down: "0245:5000000003" } as const;
  /** An access point with a certificate of its own for each receiver. */
  const peers = new Map<string, Peer>();

  beforeAll(async () => {
    ocspIsDown();
    const routes: Record<string, object> = {};
    for (const participant of Object.values(RECEIVERS)) {
      const own = leaf("PSK000003");
      const peer = await startPeer(own, trustIn(ours));
      peers.set(participant, peer);
      routes[participant] = {
        url: peer.url,
        certificate: pemOf(own.certificate),
        documentTypes: [`busdox-docid-qns::${INVOICE_TYPE}`],
      };
    }
    writeFileSync(join(folder, "routes.json"), JSON.stringify(routes));
    engine = await start({ REVOCATION: mode, SMP_MODE: "static", SMP_ROUTES: join(folder, "routes.json") });
  });
  afterAll(async () => {
    await engine.stop();
    for (const peer of peers.values()) await peer.stop();
  });

  const senders: readonly (readonly [
    string,
    () => readonly [OwnKey, string?],
    () => void,
    { readonly soft: string; readonly hard: string },
  ])[] = [
    [
      "that is good",
      () => [leaf("PSK000002")],
      () => {
        ocspSays("good");
      },
      { soft: "receipt", hard: "receipt" },
    ],
    [
      "that was revoked",
      () => [leaf("PSK000002")],
      () => {
        ocspSays("revoked");
      },
      { soft: "EBMS:0101", hard: "EBMS:0101" },
    ],
    [
      "that the responder does not know",
      () => [leaf("PSK000002")],
      () => {
        ocspSays("unknown");
      },
      { soft: "receipt", hard: "EBMS:0202" },
    ],
    ["whose responder is down", () => [leaf("PSK000002")], ocspIsDown, { soft: "receipt", hard: "EBMS:0202" }],
    [
      "that has ended",
      () => [leaf("PSK000002", { notAfter: systemClock.now() - 1_000 })],
      () => {
        ocspSays("good");
      },
      { soft: "EBMS:0101", hard: "EBMS:0101" },
    ],
    [
      "that is not valid yet",
      () => [leaf("PSK000002", { notBefore: systemClock.now() + HOUR })],
      () => {
        ocspSays("good");
      },
      { soft: "EBMS:0101", hard: "EBMS:0101" },
    ],
    [
      "of an SMP",
      () => [leaf("PSK000002", {}, pki, "smp")],
      () => {
        ocspSays("good");
      },
      { soft: "EBMS:0101", hard: "EBMS:0101" },
    ],
    [
      "of another network",
      () => [leaf("PSK000002", {}, other)],
      () => {
        ocspSays("good");
      },
      { soft: "EBMS:0101", hard: "EBMS:0101" },
    ],
    [
      "of another seat than the message names",
      () => [leaf("PSK000004"), "PSK000002"],
      () => {
        ocspSays("good");
      },
      { soft: "EBMS:0101", hard: "EBMS:0101" },
    ],
  ];
  test.each(senders)(
    "a message is answered by what is known of its sender's certificate: %s",
    async (_, signer, arrange, expected) => {
      arrange();
      const before = await stored(engine);
      const [key, seat] = signer();
      const sent = await messageOf(engine, key, seat);
      expect(await answerTo(engine, sent)).toBe(expected[mode]);
      expect(await stored(engine)).toBe(before + (expected[mode] === "receipt" ? 1 : 0));
    },
  );

  const receivers: readonly (readonly [
    keyof typeof RECEIVERS,
    () => void,
    { readonly soft: string; readonly hard: string },
  ])[] = [
    [
      "good",
      () => {
        ocspSays("good");
      },
      { soft: "receipt", hard: "receipt" },
    ],
    [
      "revoked",
      () => {
        ocspSays("revoked");
      },
      { soft: "certificate_rejected", hard: "certificate_rejected" },
    ],
    ["down", ocspIsDown, { soft: "receipt", hard: "lookup_failed" }],
  ];
  test.each(receivers)(
    "a document is sent or held back by what is known of its receiver's certificate: %s",
    async (state, arrange, expected) => {
      arrange();
      const { sandbox, db } = engine;
      const mailbox = {
        participantId: sandbox.sender.participantId,
        token: await accessToken(sandbox, sandbox.sender),
      };
      const answer = await send(
        sandbox,
        mailbox,
        sendParts(mailbox.participantId, RECEIVERS[state], invoiceXml(mailbox.participantId, RECEIVERS[state])),
      );
      expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
      const attempt = await eventually(
        "the first attempt has ended",
        async () =>
          (
            await db.sql<{ outcome: string; code: string }[]>`
      select outcome, code from document_attempt join document on document.id = document_id where receiver = ${RECEIVERS[state]} and number = 1 and finished_at is not null`
          )[0],
      );
      expect(attempt.outcome).toBe(expected[mode]);
      // Nothing goes to a certificate that is not trusted; to one that nobody answers for only under the soft policy.
      expect(peers.get(RECEIVERS[state])?.arrived).toHaveLength(expected[mode] === "receipt" ? 1 : 0);
    },
  );

  test("what the metrics say of our certificate is the day that it ends", async () => {
    const text = await (await fetch(`${engine.engine.adminUrl}/metrics`)).text();
    const ends = (usage: string): number =>
      Number(new RegExp(`^kurier_cert_expiry_timestamp_seconds\\{usage="${usage}"\\} (\\S+)$`, "m").exec(text)?.[1]);
    expect(ends("ap")).toBe(parsed(ours.certificate).notAfter / 1_000);
    for (const usage of ["ap_ca", "smp_ca", "root"])
      expect(ends(usage)).toBe(parsed(pki.ap.certificate).notAfter / 1_000);
  });

  test("the evidence of all of them holds, with the word of the authority or the policy that went without it", async () => {
    const received = await stored(engine);
    expect(await evidenceOf(engine)).toEqual({
      entries: received + [...peers.values()].reduce((sum, { arrived }) => sum + arrived.length, 0),
      faults: [],
    });
  });
});

test("our key is replaced while the engine runs: both keys open, the new one signs, and the warning is over", async () => {
  ocspSays("good");
  const timers = vi.spyOn(globalThis, "setInterval");
  const engine = await start({ REVOCATION: "hard" });
  const polls = timers.mock.calls
    .filter(([, delay]) => delay === LIMITS.keystore_poll_ms)
    .map(([callback]) => callback);
  timers.mockRestore();
  try {
    const them = leaf("PSK000002");
    const underWay = await messageOf(engine, them);
    expect(await answerTo(engine, await messageOf(engine, them))).toBe("receipt");
    const renewed = leaf("PSK000001", {
      notBefore: systemClock.now() - 1_000,
      notAfter: systemClock.now() + 700 * DAY,
    });
    writeKeyStore(renewed);
    for (const poll of polls) poll();
    await eventually("the new key is in use", () => engine.lines.some((line) => line.includes("pki.keys_renewed")));
    // What a peer has encrypted to the old certificate is opened; what proves it is signed with the new one.
    expect(await answerTo(engine, underWay, renewed)).toBe("receipt");
    expect(await answerTo(engine, await messageOf(engine, them, "PSK000002", renewed), renewed)).toBe("receipt");
    expect(await answerTo(engine, await messageOf(engine, them, "PSK000002", ours), ours)).toBe(
      "receipt by another certificate",
    );
    expect(await stored(engine)).toBe(4);
    const text = await (await fetch(`${engine.engine.adminUrl}/metrics`)).text();
    expect(text).toContain(
      `kurier_cert_expiry_timestamp_seconds{usage="ap"} ${parsed(renewed.certificate).notAfter / 1_000}\n`,
    );
    // A store that is half written changes nothing.
    writeFileSync(join(folder, "store.p12"), "garbage");
    for (const poll of polls) poll();
    await eventually("the broken store was seen", () =>
      engine.lines.some((line) => line.includes("pki.keystore_unusable")),
    );
    expect(await answerTo(engine, await messageOf(engine, them, "PSK000002", renewed), renewed)).toBe("receipt");
    expect(await evidenceOf(engine)).toEqual({ entries: 5, faults: [] });
  } finally {
    await engine.stop();
  }
});
