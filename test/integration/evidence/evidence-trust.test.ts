/**
 * Whom an exchange was with, judged again from the evidence alone. Every record here is one that the chain, the digests and
 * the message's signature hold for: it is made with the fault inside and stored like any other, so that nothing but the
 * judgement of certificates, revocation and metadata can find it.
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { isoInstant, systemClock } from "../../../engine/base/clock.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { buildReceipt, buildUserMessage } from "../../../engine/peppol/as4/messages.js";
import { auditEvidence } from "../../../engine/peppol/evidence/audit.js";
import type { AuditFault } from "../../../engine/peppol/evidence/audit.js";
import { TRUST_AUDIT_FAULTS } from "../../../engine/peppol/evidence/trust.js";
import {
  BILLING_CAPABILITIES,
  BILLING_PROCESS,
  DOCUMENT_TYPE_SCHEME,
  PROCESS_SCHEME,
} from "../../../engine/peppol/envelope/identifiers.js";
import { ocspQuestion } from "../../../engine/peppol/pki/ocsp.js";
import type { TrustStore } from "../../../engine/peppol/pki/trust.js";
import { serviceMetadataXml } from "../../../engine/peppol/discovery/smp-document.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import type { EvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { referencesDigest } from "../../../engine/storage/evidence/record.js";
import type { EvidencePart, EvidencePartName, ExchangeFacts } from "../../../engine/storage/evidence/record.js";
import { evidencePlace } from "../../../engine/storage/evidence/store.js";
import type { EvidenceStore } from "../../../engine/storage/evidence/store.js";
import { openEvidenceStore } from "../../../engine/storage/evidence/stores.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { signEnveloped } from "../../../validators/wss/enveloped.js";
import { inThread } from "../../support/as4/as4.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { certIdIn, makeCrl, makeOcspAnswer, makeTestPki, parsed } from "../../support/peppol/test-pki.js";
import type { Authority, Leaf, OcspReply, TestPki } from "../../support/peppol/test-pki.js";

const AT = Date.parse("2026-11-20T10:00:00Z");
const HOUR = 3_600_000;
/** When the auditor comes: certificates have ended, the retention has not. */
const LATER = AT + 5 * 365 * 24 * HOUR;
const SENDER = "0245:2020202020" as ParticipantId;
const RECEIVER = "0245:1234567890" as ParticipantId;
const TYPE = BILLING_CAPABILITIES[0]?.documentTypeId ?? "";
const URL = "https://ap.example/as4";
/** A service in the certificate, so that an answer about it is expected. */
const asked = { ocspUrl: "http://ocsp.example/" } as const;

let pki: TestPki;
let foreign: TestPki;
let us: Leaf;
let peer: Leaf;
let smp: Leaf;
let db: TestDatabase;
let folder: string;
let store: EvidenceStore;
let archive: EvidenceArchive;

beforeAll(async () => {
  [pki, foreign] = await Promise.all([makeTestPki("HOME"), makeTestPki("FOREIGN")]);
  us = pki.leaf("ap", "PSK000001");
  peer = pki.leaf("ap", "PSK000002", asked);
  smp = pki.leaf("smp", "PSK000003", { keyUsage: ["digitalSignature"] });
  db = await freshDatabase();
  folder = mkdtempSync(join(tmpdir(), "kurier-evidence-trust-"));
  store = openEvidenceStore(`file:${folder}`, folder, systemClock);
  archive = createEvidenceArchive({
    sql: db.sql,
    store,
    sealer: createSealer([Buffer.alloc(32, 7)]),
    clock: systemClock,
  });
});
afterAll(async () => {
  await archive.stop();
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** What an exchange was like; everything that is not given was as it should be. */
interface Circumstances {
  readonly direction?: "outbound" | "inbound";
  readonly us?: Leaf;
  readonly peer?: Leaf;
  readonly fromParty?: string;
  readonly toParty?: string;
  readonly at?: number;
  readonly receiptBy?: Leaf;
  readonly outcome?: string;
  readonly metadata?: Buffer;
  /** No SMP was asked. */
  readonly ownRoutes?: boolean;
  readonly facts?: Partial<ExchangeFacts>;
  /** Parts instead of the right ones; undefined leaves one out. */
  readonly parts?: Partial<Record<EvidencePartName, Uint8Array | undefined>>;
}

const ocsp = (leaf: Leaf, reply: Partial<OcspReply> = {}, issuer: Authority = pki.ap): Buffer =>
  makeOcspAnswer(issuer, certIdIn(ocspQuestion(parsed(leaf.certificate), parsed(issuer.certificate))), {
    status: "good",
    thisUpdate: AT - HOUR,
    nextUpdate: AT + HOUR,
    ...reply,
  });

function metadataOf(
  changes: {
    readonly participant?: string;
    readonly documentType?: string;
    readonly process?: string;
    readonly url?: string;
    readonly certificate?: Uint8Array;
    readonly by?: Leaf;
  } = {},
): Buffer {
  return signEnveloped(
    Buffer.from(
      serviceMetadataXml({
        participant: changes.participant ?? RECEIVER,
        documentType: changes.documentType ?? TYPE,
        processes: [changes.process ?? BILLING_PROCESS],
        url: changes.url ?? URL,
        certificate: changes.certificate ?? peer.certificate,
        activation: AT - HOUR,
        expiration: AT + 1_000 * HOUR,
        contact: "https://contact.example",
      }),
    ),
    changes.by ?? smp,
  );
}

/** Makes and stores one exchange, and says what is wrong with its entry. */
async function faultsOf(
  given: Circumstances,
  trust?: TrustStore,
  whole = false,
): Promise<readonly AuditFault["fault"][]> {
  const own = given.us ?? us;
  const other = given.peer ?? peer;
  const at = given.at ?? AT;
  const outbound = given.direction !== "inbound";
  const looked = outbound && given.ownRoutes !== true;
  const [signer, recipient] = outbound ? [own, other] : [other, own];
  const messageId = `${randomUUID()}@kurier`;
  const message = await buildUserMessage(
    {
      message: {
        messageId,
        timestamp: isoInstant(at),
        fromParty: given.fromParty ?? signer.seat,
        toParty: given.toParty ?? recipient.seat,
        service: BILLING_PROCESS,
        serviceType: PROCESS_SCHEME,
        action: `${DOCUMENT_TYPE_SCHEME}::${TYPE}`,
        conversationId: "c",
        originalSender: SENDER,
        finalRecipient: RECEIVER,
      },
      payload: Buffer.from("<Document/>"),
      id: randomUUID(),
      signer,
      recipient: recipient.certificate,
    },
    inThread,
  );
  const answerer = given.receiptBy ?? recipient;
  const answer = await buildReceipt(
    {
      id: randomUUID(),
      signer: answerer,
      messageId: `${randomUUID()}@peer`,
      timestamp: isoInstant(at),
      refToMessageId: messageId,
    },
    message.references,
    inThread,
  );
  const id = randomUUID();
  const sealed = await archive.seal(id, message.compressed);
  const chain = Buffer.concat([pki.ap.certificate, pki.root.certificate]);
  const bytes: Partial<Record<EvidencePartName, Uint8Array | undefined>> = {
    request: message.body,
    payload: sealed.bytes,
    answer: answer.body,
    signer: signer.certificate,
    issuers: chain,
    revocation: ocsp(other),
    ...(outbound ? { recipient: recipient.certificate, "answer-signer": answerer.certificate } : {}),
    ...(looked
      ? {
          smp: given.metadata ?? metadataOf({ certificate: recipient.certificate }),
          "smp-issuers": Buffer.concat([pki.smp.certificate, pki.root.certificate]),
        }
      : {}),
    ...given.parts,
  };
  const parts = (Object.entries(bytes) as [EvidencePartName, Uint8Array | undefined][]).flatMap(
    ([name, part]): EvidencePart[] =>
      part === undefined ? [] : [{ name, bytes: part, ...(name === "payload" ? { sealed: sealed.sealed } : {}) }],
  );
  const facts: ExchangeFacts = {
    direction: outbound ? "outbound" : "inbound",
    id,
    outcome: given.outcome ?? (outbound ? "receipt" : "stored"),
    documentId: randomUUID(),
    firmId: randomUUID(),
    messageId,
    instanceId: randomUUID(),
    sender: SENDER,
    receiver: RECEIVER,
    documentTypeId: TYPE,
    processId: BILLING_PROCESS,
    requestAt: at,
    answerAt: at + 500,
    requestContentType: message.contentType,
    answerStatus: 200,
    answerContentType: answer.contentType,
    revocation: "good",
    revocationPolicy: "hard",
    ...(outbound ? { requestUrl: URL } : {}),
    ...(looked ? { smp: { url: "https://smp.example/x", fetchedAt: at - 1_000 } } : {}),
    ...given.facts,
  };
  const place = await archive.store({
    referencesSha256: referencesDigest(message.references),
    record: { facts, parts },
  });
  const { faults } = await auditEvidence({
    sql: db.sql,
    store,
    archive,
    crypto: inThread,
    now: LATER,
    ...(trust === undefined ? {} : { trust }),
    whole,
  });
  return faults.filter(({ index }) => index === place.index).map(({ fault }) => fault);
}

const seen = new Set<string>();
async function expectFault(given: Circumstances, fault: AuditFault["fault"], trust?: TrustStore): Promise<void> {
  seen.add(fault);
  expect(await faultsOf(given, trust)).toEqual([fault]);
}

describe("an exchange with somebody who was to be believed holds", () => {
  test("an exchange with somebody who was to be believed holds as the sender, and as the receiver", async () => {
    expect(await faultsOf({})).toEqual([]);
    expect(await faultsOf({ direction: "inbound" })).toEqual([]);
  });

  test("an exchange with somebody who was to be believed holds years later, when every certificate of it has ended", async () => {
    const ended = pki.leaf("ap", "PSK000002", { ...asked, notAfter: AT + HOUR });
    expect(await faultsOf({ peer: ended })).toEqual([]);
  });

  test("an exchange with somebody who was to be believed holds with a revocation list instead of an answer, in the record or as an object that many share", async () => {
    const list = makeCrl(pki.ap, ["01"], AT - HOUR, AT + HOUR);
    expect(await faultsOf({ parts: { revocation: list } })).toEqual([]);
    const revocationObject = await archive.share(list);
    for (const direction of ["outbound", "inbound"] as const)
      expect(await faultsOf({ direction, parts: { revocation: undefined }, facts: { revocationObject } })).toEqual([]);
  });

  test("an exchange with somebody who was to be believed holds when the object that many share has gone at its time, but not for who proves it to remove it", async () => {
    const revocationObject = evidencePlace("ab".repeat(32), AT - 11 * 366 * 24 * HOUR);
    const given = { parts: { revocation: undefined }, facts: { revocationObject } };
    expect(await faultsOf(given)).toEqual([]);
    expect(await faultsOf(given, undefined, true)).toEqual(["object_missing"]);
  });

  test.each([
    ["nobody answered and the policy was soft", { revocation: "unknown", revocationPolicy: "soft" }],
    ["nobody was asked because the policy was off", { revocation: "not_checked", revocationPolicy: "off" }],
  ] as const)("an exchange with somebody who was to be believed holds when %s", async (_, facts) => {
    expect(await faultsOf({ facts, parts: { revocation: undefined } })).toEqual([]);
  });

  test("an exchange with somebody who was to be believed holds when the certificate names no service to ask and the policy was soft", async () => {
    expect(
      await faultsOf({
        peer: pki.leaf("ap", "PSK000002"),
        facts: { revocation: "not_checked", revocationPolicy: "soft" },
        parts: { revocation: undefined },
      }),
    ).toEqual([]);
  });

  test("an exchange with somebody who was to be believed holds when the operator's own routes named the endpoint", async () => {
    expect(await faultsOf({ ownRoutes: true })).toEqual([]);
  });

  test("an exchange with somebody who was to be believed holds when the receipt is signed with a renewed certificate of the same seat", async () => {
    expect(await faultsOf({ receiptBy: pki.leaf("ap", "PSK000002", asked) })).toEqual([]);
  });

  test("an exchange with somebody who was to be believed holds with an auditor's authorities when they are of the same root", async () => {
    expect(await faultsOf({}, pki.store)).toEqual([]);
    expect(await faultsOf({ parts: { issuers: Buffer.alloc(0), "smp-issuers": Buffer.alloc(0) } }, pki.store)).toEqual(
      [],
    );
  });

  test("the result of a check names the roots that were believed", async () => {
    const { roots } = await auditEvidence({ sql: db.sql, store, archive, crypto: inThread, now: LATER });
    expect(roots).toEqual([
      {
        name: "HOME Root CA",
        fingerprint: parsed(pki.root.certificate).fingerprint,
        uses: expect.any(Number) as number,
      },
    ]);
  });
});

describe("PartyId", () => {
  test.each([
    ["outbound", { fromParty: "PSK000009" }],
    ["outbound", { toParty: "PSK000009" }],
    ["inbound", { fromParty: "PSK000009" }],
    ["inbound", { toParty: "PSK000009" }],
  ] as const)("a PartyId of another seat than the certificate's is found, %s: %j", async (direction, parties) => {
    await expectFault({ direction, ...parties }, "party_name");
  });
});

test("the kept recipient is another certificate than the message was encrypted to, however good that one is", async () => {
  const renewed = pki.leaf("ap", "PSK000002", asked);
  await expectFault({ parts: { recipient: renewed.certificate, revocation: ocsp(peer) } }, "recipient");
});

describe("the record names other things than the signed header", () => {
  test.each([
    ["sender", { sender: "0245:1111111111" }],
    ["receiver", { receiver: "0245:1111111111" }],
    ["document type", { documentTypeId: BILLING_CAPABILITIES[1]?.documentTypeId ?? "" }],
    ["process", { processId: "urn:other" }],
  ])("a record that names other things than the signed header is found: %s", async (_, facts) => {
    await expectFault({ direction: "inbound", facts }, "header");
  });
});

describe("the other access point's certificate leads to no root", () => {
  test.each(["outbound", "inbound"] as const)(
    "the other access point's certificate leads to no root: %s: an authority that is not of the kept issuers",
    async (direction) => {
      const stranger = foreign.leaf("ap", "PSK000002", asked);
      await expectFault(
        { direction, peer: stranger, parts: { revocation: ocsp(stranger, {}, foreign.ap) } },
        "trust_chain",
      );
    },
  );
  test("the other access point's certificate leads to no root: an authority for SMPs has issued it", async () => {
    const wrong = pki.leaf("smp", "PSK000002", asked);
    await expectFault(
      {
        peer: wrong,
        parts: {
          issuers: Buffer.concat([pki.smp.certificate, pki.root.certificate]),
          revocation: ocsp(wrong, {}, pki.smp),
        },
      },
      "trust_chain",
    );
  });
  test.each([
    ["no issuers are kept", () => undefined],
    ["the root is missing", () => pki.ap.certificate],
    ["they are no certificates", () => Buffer.from("issuers")],
  ])("the other access point's certificate leads to no root: %s", async (_, issuers) => {
    await expectFault({ parts: { issuers: issuers() } }, "trust_chain");
  });
  test("the other access point's certificate leads to no root: the issuers are an impostor's of the same names", async () => {
    const impostor = await makeTestPki("HOME");
    await expectFault(
      { parts: { issuers: Buffer.concat([impostor.ap.certificate, impostor.root.certificate]) } },
      "trust_chain",
    );
  });
  test("a receipt that a stranger of the same seat has signed is not believed", async () => {
    await expectFault({ receiptBy: foreign.leaf("ap", "PSK000002") }, "trust_chain");
  });
  test("with an auditor's authorities, a root of one's own making is found", async () => {
    const made = foreign.leaf("ap", "PSK000002", asked);
    const given: Circumstances = {
      direction: "inbound",
      peer: made,
      parts: {
        issuers: Buffer.concat([foreign.ap.certificate, foreign.root.certificate]),
        revocation: ocsp(made, {}, foreign.ap),
      },
    };
    expect(await faultsOf(given)).toEqual([]);
    await expectFault(given, "trust_chain", pki.store);
  });
});

describe("time of the exchange", () => {
  test.each([
    ["outbound", "peer"],
    ["inbound", "peer"],
    ["outbound", "us"],
    ["inbound", "us"],
  ] as const)(
    "an exchange whose time does not fit is found: %s: the certificate of %s had ended, or did not hold yet",
    async (direction, who) => {
      const seat = who === "us" ? "PSK000001" : "PSK000002";
      for (const life of [{ notAfter: AT - 1_000 }, { notBefore: AT + 60_000 }]) {
        const leaf = pki.leaf("ap", seat, { ...asked, ...life });
        await expectFault({ direction, [who]: leaf }, "trust_time");
      }
    },
  );
  test("an exchange whose time does not fit is found: an authority did not hold yet", async () => {
    const early = Date.parse("2025-12-01T00:00:00Z");
    const life = { notBefore: early - HOUR } as const;
    const old = pki.leaf("ap", "PSK000002", { ...asked, ...life });
    const given: Circumstances = {
      direction: "inbound",
      at: early,
      us: pki.leaf("ap", "PSK000001", life),
      peer: old,
      parts: { revocation: ocsp(old, { thisUpdate: early - HOUR, nextUpdate: early + HOUR }) },
    };
    await expectFault(given, "trust_time");
  });
  test("an exchange whose time does not fit is found: the receipt's signer had ended", async () => {
    await expectFault({ receiptBy: pki.leaf("ap", "PSK000002", { notAfter: AT - HOUR }) }, "trust_time");
  });
});

describe("the kept revocation answer proves nothing", () => {
  const answers: readonly (readonly [string, () => Buffer | undefined])[] = [
    ["it is missing", () => undefined],
    ["it is cut short", () => ocsp(peer).subarray(0, -3)],
    [
      "one bit of its signature is another",
      () => {
        const bytes = ocsp(peer);
        bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
        return bytes;
      },
    ],
    ["it is about another certificate", () => ocsp(us)],
    [
      "somebody else has signed it",
      () => ocsp(peer, { responder: { certificate: foreign.ap.certificate, privateKey: foreign.ap.privateKey } }),
    ],
    ["it is of the day after", () => ocsp(peer, { thisUpdate: AT + 24 * HOUR, nextUpdate: AT + 48 * HOUR })],
    ["it had run out", () => ocsp(peer, { thisUpdate: AT - 48 * HOUR, nextUpdate: AT - 24 * HOUR })],
    ["it is a list of another authority", () => makeCrl(foreign.ap, [], AT - HOUR, AT + HOUR)],
    ["it is a list that had run out", () => makeCrl(pki.ap, [], AT - 48 * HOUR, AT - 24 * HOUR)],
  ];
  test.each(answers)("the kept revocation answer proves nothing: %s", async (_, make) => {
    await expectFault({ parts: { revocation: make() } }, "revocation_answer");
    await expectFault({ direction: "inbound", parts: { revocation: make() } }, "revocation_answer");
  });
});

describe("the authority's word did not allow the exchange", () => {
  const unasked = { revocation: undefined };
  const cases: readonly (readonly [string, () => Pick<Circumstances, "parts" | "facts">])[] = [
    ["it said revoked", () => ({ parts: { revocation: ocsp(peer, { status: "revoked" }) } })],
    [
      "its list has the certificate",
      () => ({ parts: { revocation: makeCrl(pki.ap, [parsed(peer.certificate).serial], AT - HOUR, AT + HOUR) } }),
    ],
    ["it said unknown where good is recorded", () => ({ parts: { revocation: ocsp(peer, { status: "unknown" }) } })],
    [
      "it said unknown and the policy was hard",
      () => ({ parts: { revocation: ocsp(peer, { status: "unknown" }) }, facts: { revocation: "unknown" } }),
    ],
    [
      "nobody answered and the policy was hard",
      () => ({ parts: unasked, facts: { revocation: "unknown", revocationPolicy: "hard" } }),
    ],
    [
      "nobody was asked although the policy was soft and there was a service",
      () => ({ parts: unasked, facts: { revocation: "not_checked", revocationPolicy: "soft" } }),
    ],
  ];
  test.each(cases)("the authority's word did not allow the exchange: %s", async (_, make) => {
    await expectFault(make(), "revocation_status");
    await expectFault({ direction: "inbound", ...make() }, "revocation_status");
  });
  test("the authority's word did not allow the exchange: no verdict, or no policy, is recorded", async () => {
    for (const facts of [
      { revocation: "none of ours" },
      { revocation: "unknown", revocationPolicy: "none of ours" as "soft" },
    ])
      await expectFault({ parts: unasked, facts }, "revocation_status");
  });
});

describe("the SMP's answer is not to be believed", () => {
  const spoilt = (change: (text: string) => string): Buffer => Buffer.from(change(metadataOf().toString("utf8")));
  test.each([
    [
      "one letter of it is another",
      () => ({ metadata: spoilt((text) => text.replace("Peppol access point", "Peppol access poinT")) }),
    ],
    ["it is not signed", () => ({ metadata: spoilt((text) => text.replace(/<Signature .*<\/Signature>/s, "")) })],
    ["an access point has signed it", () => ({ metadata: metadataOf({ by: pki.leaf("ap", "PSK000003") }) })],
    [
      "an SMP of another network has signed it",
      () => ({ metadata: metadataOf({ by: foreign.leaf("smp", "PSK000003") }) }),
    ],
    [
      "its signer had ended",
      () => ({
        metadata: metadataOf({
          by: pki.leaf("smp", "PSK000003", { keyUsage: ["digitalSignature"], notAfter: AT - HOUR }),
        }),
      }),
    ],
    ["no issuers of its signer are kept", () => ({ parts: { "smp-issuers": undefined } })],
    ["it is gone", () => ({ parts: { smp: undefined } })],
    [
      "it was fetched on another day",
      () => ({ facts: { smp: { url: "https://smp.example/x", fetchedAt: AT - 24 * HOUR } } }),
    ],
  ] as const)("the SMP's answer is not to be believed: %s", async (_, make) => {
    await expectFault(make(), "smp_signature");
  });
});

describe("the SMP's answer names something else", () => {
  test.each([
    ["another participant", () => metadataOf({ participant: "0245:9999999999" })],
    ["another document type", () => metadataOf({ documentType: BILLING_CAPABILITIES[1]?.documentTypeId ?? "" })],
    ["another process", () => metadataOf({ process: "urn:other" })],
    ["another address", () => metadataOf({ url: "https://other.example/as4" })],
    [
      "another certificate of the same seat",
      () => metadataOf({ certificate: pki.leaf("ap", "PSK000002", asked).certificate }),
    ],
  ] as const)("the SMP's answer names something else: %s", async (_, make) => {
    await expectFault({ metadata: make() }, "smp_names");
  });
});

test("every fault of the list has a test that makes it", () => {
  expect([...TRUST_AUDIT_FAULTS].filter((fault) => !seen.has(fault))).toEqual([]);
});
