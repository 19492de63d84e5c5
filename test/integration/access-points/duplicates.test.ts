/**
 * One message at two nodes on one database at once: stored once, every sender of it has a receipt, and whoever only
 * borrowed an id is refused.
 * @source design/as4.md, section 6; DECISIONS D-047
 */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import { buildUserMessage, readAnswer } from "../../../engine/peppol/as4/messages.js";
import type { BuiltMessage } from "../../../engine/peppol/as4/messages.js";
import { createAs4Receiver } from "../../../engine/peppol/as4/receive.js";
import type { As4Receiver, As4Reply } from "../../../engine/peppol/as4/receive.js";
import { wrapDocument } from "../../../engine/peppol/envelope/byte-exact.js";
import { BILLING_CAPABILITIES, BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import { createEvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import type { EvidenceArchive } from "../../../engine/storage/evidence/archive.js";
import { openEvidenceStore } from "../../../engine/storage/evidence/stores.js";
import { createSealer } from "../../../engine/storage/sealer.js";
import { inThread, userMessage } from "../../support/as4/as4.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../support/as4/as4-keys.js";
import { ownOf, trustIn } from "../../support/as4/as4-peer.js";
import { inboundAtOnce } from "../../support/as4/inbound.js";
import { inlineValidators, OWN } from "../../support/as4/statuses.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";

const SELLER = "0245:1010101010" as ParticipantId;
const BUYER = "0245:2020202020" as ParticipantId;
const TYPE = BILLING_CAPABILITIES[0]?.documentTypeId ?? "";
const RACES = 30;

let db: TestDatabase;
let folder: string;
let us: AccessPoint;
let them: AccessPoint;
let archives: readonly EvidenceArchive[];
let nodes: readonly As4Receiver[];

beforeAll(async () => {
  db = await freshDatabase();
  await seedFirm(db.sql, BUYER);
  us = accessPoint("PSK000001");
  them = accessPoint("PSK000002");
  folder = mkdtempSync(join(tmpdir(), "kurier-duplicates-"));
  const made = ["one", "two"].map((name) => {
    const sql = db.another(name);
    const sealer = createSealer([Buffer.alloc(32, 7)]);
    const metrics = createMetrics();
    const store = openEvidenceStore(`file:${folder}`, folder, systemClock);
    const archive = createEvidenceArchive({ sql, store, sealer, clock: systemClock });
    const common = { metrics, log: silentLog, clock: systemClock };
    const inbound = inboundAtOnce({
      ...common,
      sql,
      sealer,
      provider: OWN,
      validators: inlineValidators,
      poke: () => undefined,
    });
    const node = createAs4Receiver({
      ...common,
      own: ownOf(us),
      trust: trustIn(them),
      crypto: inThread,
      receive: inbound,
      evidence: archive,
    });
    return { archive, node };
  });
  archives = made.map(({ archive }) => archive);
  nodes = made.map(({ node }) => node);
});
afterAll(async () => {
  await Promise.all(archives.map((archive) => archive.stop()));
  await db.drop();
  rmSync(folder, { recursive: true, force: true });
});

interface Ids {
  readonly messageId: string;
  readonly instanceId: string;
  readonly payload: Buffer;
}

const fresh = (): Ids => ({
  messageId: `${randomUUID()}@peer`,
  instanceId: randomUUID(),
  payload: Buffer.from(
    sampleInvoice({
      sender: SELLER,
      receiver: BUYER,
      senderName: "Seller",
      receiverName: "Buyer",
      number: `N-${randomUUID()}`,
      issueDate: "2026-11-20",
      lines: 1,
    }),
  ),
});

type Sent = BuiltMessage & { readonly messageId: string };

async function packed({ messageId, instanceId, payload }: Ids): Promise<Sent> {
  const wrapped = wrapDocument({
    sender: SELLER,
    receiver: BUYER,
    documentType: TYPE,
    process: BILLING_PROCESS,
    instanceId,
    createdAt: Date.parse("2026-11-20T10:00:00Z"),
    countryC1: "SK",
    payload,
  });
  if (wrapped.kind === "refused") throw new Error(wrapped.fault);
  const message = userMessage(them, us, {
    messageId,
    originalSender: SELLER,
    finalRecipient: BUYER,
    action: `busdox-docid-qns::${TYPE}`,
  });
  const built = await buildUserMessage(
    { message, payload: wrapped.bytes, id: randomUUID(), signer: them, recipient: us.certificate },
    inThread,
  );
  return { messageId, ...built };
}

async function told({ messageId, references }: Sent, reply: As4Reply): Promise<string> {
  const answer = await readAnswer(
    Buffer.from(reply.body),
    reply.contentType,
    { messageId, references, recipient: us.certificate },
    inThread,
  );
  return answer.kind === "error" ? (answer.errors[0]?.code ?? "") : answer.kind;
}

/** Two messages, of which each node gets one at the same time. */
type Pair = readonly [Sent, Sent];

interface Race {
  readonly pair: () => Promise<Pair>;
  /** What both are told, in order of the alphabet. */
  readonly told: readonly string[];
  /** Whether both are told the very same octets. */
  readonly isSame: boolean;
  /** Whether the first node has stored it before, and its answer was lost. @default false */
  readonly isStored?: boolean;
}

const same = async (): Promise<Pair> => {
  const sent = await packed(fresh());
  return [sent, sent];
};
const alike =
  (change: (ids: Ids) => Partial<Ids>): Race["pair"] =>
  async () => {
    const ids = fresh();
    return Promise.all([packed(ids), packed({ ...ids, ...change(ids) })]);
  };
const borrowed =
  (id: "messageId" | "instanceId"): Race["pair"] =>
  async () => {
    const ids = fresh();
    return Promise.all([packed(ids), packed({ ...fresh(), [id]: ids[id] })]);
  };
const BOTH = ["receipt", "receipt"] as const;
const ONE = ["EBMS:0003", "receipt"] as const;

test.each<readonly [string, Race]>([
  ["the same octets", { pair: same, told: BOTH, isSame: true }],
  ["the same octets again, whose receipt was lost", { pair: same, told: BOTH, isSame: true, isStored: true }],
  ["one document packed twice", { pair: alike(() => ({})), told: BOTH, isSame: false }],
  [
    "one document under two MessageIds",
    { pair: alike(() => ({ messageId: `${randomUUID()}@peer` })), told: BOTH, isSame: false },
  ],
  ["two documents under the same ids", { pair: alike(() => ({ payload: fresh().payload })), told: ONE, isSame: false }],
  ["another document under a MessageId", { pair: borrowed("messageId"), told: ONE, isSame: false }],
  ["another document under an InstanceIdentifier", { pair: borrowed("instanceId"), told: ONE, isSame: false }],
])(
  "at two nodes at once, again and again: %s; one document and one proof of it are stored, and who is told what is settled",
  async (_, race) => {
    const pairs = await Promise.all(Array.from({ length: RACES }, race.pair));
    const at = (node: 0 | 1, { body, contentType }: Sent): Promise<As4Reply> => {
      const receive = nodes[node];
      if (receive === undefined) throw new Error("no node");
      return receive(body, contentType);
    };
    const lost = race.isStored === true ? await Promise.all(pairs.map(([first]) => at(0, first))) : [];
    // The second node gets them in the other order, so that what either writes together crosses.
    const [ones, others] = await Promise.all([
      Promise.all(pairs.map(([one]) => at(0, one))),
      Promise.all(pairs.toReversed().map(([, other]) => at(1, other))),
    ]);
    const answers = pairs.map((pair, i) =>
      [ones[i], others[RACES - 1 - i]].map((reply, side) => ({ reply, sent: pair[side === 0 ? 0 : 1] })),
    );
    for (const [i, both] of answers.entries()) {
      const replies = both.flatMap(({ reply }) => (reply === undefined ? [] : [reply]));
      expect(
        (await Promise.all(both.map(({ reply, sent }) => (reply === undefined ? "" : told(sent, reply))))).sort(),
      ).toEqual(race.told);
      const bodies = [...replies, ...lost.slice(i, i + 1)].map(({ body }) => Buffer.from(body).toString());
      if (race.isSame) expect(new Set(bodies).size).toBe(1);
    }
    const [counted] = await db.sql<{ documents: number; proofs: number }[]>`
      select count(*)::integer as documents,
        (select count(*)::integer from evidence as e where e.outcome = 'stored' and e.document_id = any (array_agg(r.id)))
          as proofs
      from received_document as r
      where as4_message_id = any (${pairs.flat().map(({ messageId }) => messageId)})`;
    expect(counted).toEqual({ documents: RACES, proofs: RACES });
  },
);
