/**
 * What a peer with a valid certificate may declare of a document. Goal: whatever specification and process the message
 * and its envelope name, the document is shown to its firm only if it says the same of itself. Method: signed AS4
 * messages through the receiver into a database, for every type of the table against every document of the table.
 * @source spec/rulings.md, section 14, The declared type decides
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";

import { STATUS_STEPS } from "../../../actors/status-work.js";
import { systemClock } from "../../../engine/base/clock.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createMetrics } from "../../../engine/base/metrics.js";
import { buildUserMessage, readAnswer } from "../../../engine/peppol/as4/messages.js";
import { createAs4Receiver } from "../../../engine/peppol/as4/receive.js";
import type { As4Receiver } from "../../../engine/peppol/as4/receive.js";
import { wrapDocument } from "../../../engine/peppol/envelope/byte-exact.js";
import { addCapabilities } from "../../../engine/storage/documents/received.js";
import { inThread, userMessage } from "../../support/as4/as4.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import { ownOf, trustIn } from "../../support/as4/as4-peer.js";
import { documentSaying, KNOWN_TYPES, typeIdOf } from "../../support/documents/declared-types.js";
import type { KnownRoot, KnownType, Saying } from "../../support/documents/declared-types.js";
import { memoryArchive } from "../../support/as4/evidence.js";
import { fakeClock } from "../../support/fake-clock.js";
import { freshDatabase } from "../../support/database/postgres.js";
import type { TestDatabase } from "../../support/database/postgres.js";
import { seedFirm } from "../../support/database/seed.js";
import { OWN, PEER_SEAT, statusBench } from "../../support/as4/statuses.js";
import type { StatusBench } from "../../support/as4/statuses.js";

const SELLER = "0245:1010101010" as ParticipantId;
const BUYER = "0245:2020202020" as ParticipantId;
const people = { sender: SELLER, receiver: BUYER };
const [us, them] = [accessPoint(OWN.seat), accessPoint(PEER_SEAT)];
let db: TestDatabase;
let bench: StatusBench;
let receiver: As4Receiver;

/** One row for each root of a specification. */
interface Row extends KnownType {
  readonly root: KnownRoot;
}
const ROWS: readonly Row[] = KNOWN_TYPES.flatMap((type) => type.roots.map((root) => ({ ...type, root })));
const isOf =
  (...names: readonly string[]) =>
  ({ customization }: Row): boolean =>
    names.some((name) => customization.includes(name));
const BILLED = ROWS.filter(isOf("billing:3.0"));
const RESPONSES = ROWS.filter(isOf("invoice_response"));
const STATUSES = ROWS.filter(isOf("mls"));

beforeAll(async () => {
  db = await freshDatabase();
  bench = statusBench(db, fakeClock());
  await seedFirm(db.sql, BUYER);
  // Extended types are taken by whoever is registered for them.
  await addCapabilities(
    db.sql,
    BUYER,
    BILLED.map(({ root, customization, process }) => ({
      documentTypeId: typeIdOf(root, customization),
      processId: process,
    })),
  );
  receiver = createAs4Receiver({
    own: ownOf(us),
    trust: trustIn(them),
    crypto: inThread,
    receive: bench.receive,
    evidence: memoryArchive(),
    clock: systemClock,
    metrics: createMetrics(),
    log: silentLog,
  });
});
afterAll(() => db.drop());

interface Case {
  readonly declared: { readonly root: KnownRoot; readonly customization: string; readonly process: string };
  readonly said: Saying;
  readonly receiver?: ParticipantId;
}

/** Sends what a case says, signed by the peer. @returns the id under which it is stored, or how it was refused */
async function post({
  declared,
  said,
  receiver: to = BUYER,
}: Case): Promise<{ readonly id?: string; readonly answer: string }> {
  const documentType = typeIdOf(declared.root, declared.customization);
  const instanceId = randomUUID();
  const sbd = wrapDocument({
    sender: SELLER,
    receiver: to,
    documentType: typeIdOf(said.root, declared.customization),
    process: declared.process,
    instanceId,
    createdAt: systemClock.now(),
    countryC1: "AT",
    payload: documentSaying(said, people, instanceId),
  });
  if (sbd.kind === "refused") throw new Error(sbd.fault);
  // Our own builder refuses a header of another root than the document's; a peer writes its header as it likes.
  const namespaceOf = (root: KnownRoot): string => typeIdOf(root, "").split("::")[0] ?? "";
  const envelope = sbd.bytes
    .toString()
    .replace(typeIdOf(said.root, declared.customization), documentType)
    .replace(`<sh:Standard>${namespaceOf(said.root)}<`, `<sh:Standard>${namespaceOf(declared.root)}<`)
    .replace(`<sh:Type>${said.root}<`, `<sh:Type>${declared.root}<`);
  const messageId = `${randomUUID()}@peer`;
  const header = userMessage(them, us, {
    messageId,
    originalSender: SELLER,
    finalRecipient: to,
    action: `busdox-docid-qns::${documentType}`,
    service: declared.process,
  });
  const built = await buildUserMessage(
    { message: header, payload: Buffer.from(envelope), id: randomUUID(), signer: them, recipient: us.certificate },
    inThread,
  );
  const reply = await receiver(built.body, built.contentType);
  const answer = await readAnswer(
    Buffer.from(reply.body),
    reply.contentType,
    { messageId, references: built.references, recipient: us.certificate },
    inThread,
  );
  if (answer.kind !== "receipt")
    return { answer: answer.kind === "error" ? (answer.errors[0]?.code ?? "") : answer.kind };
  const [row] = await db.sql<{ id: string }[]>`
    select id from received_document where sbdh_instance_id = ${instanceId}
    union all select id from inbound_status where sbdh_instance_id = ${instanceId}`;
  return { answer: "receipt", ...(row === undefined ? {} : { id: row.id }) };
}

/** The answer on the wire, and whether anything is stored: an envelope around another root cannot even be read. */
const answerTo = ({ declared, said }: Case): [string, boolean] =>
  said.root === declared.root ? ["receipt", true] : ["EBMS:0003", false];

const judge = async (): Promise<void> => {
  while ((await STATUS_STEPS.duties(bench.node)) > 0);
};

/** State of a received document or outcome of a status, and the status that its sender is told. */
async function fate(id: string | undefined): Promise<string> {
  const [row] = await db.sql<{ state: string | null; code: string | null }[]>`
    select coalesce(d.status, s.outcome) as state, m.code
    from (select ${id ?? null}::uuid as id) as one
    left join received_document as d on d.id = one.id
    left join inbound_status as s on s.id = one.id
    left join service_message as m on m.about = one.id and m.kind = 'mls'`;
  return [row?.state ?? "nothing", ...(row?.code == null ? [] : [row.code])].join(" ");
}

const sayingOf = ({ root, customization, sends }: Row, process: string): Saying => ({
  root,
  customization,
  process,
  sends,
});
const [BILLING_PROCESS, SELF_BILLING_PROCESS] = ["billing:01", "selfbilling:01"].map(
  (name) => `urn:fdc:peppol.eu:2017:poacc:${name}:1.0`,
) as [string, string];

test.each(BILLED.map((row) => [row.root, row.customization, row] as const))(
  "a message that declares %s of %s: a document that says the same is shown, any other is refused or answered with RE, and never shown",
  async (_root, _customization, declared) => {
    const other = declared.process === BILLING_PROCESS ? SELF_BILLING_PROCESS : BILLING_PROCESS;
    const cases = [...BILLED, ...ROWS.filter(isOf("invoice_response", "mls"))].flatMap((row) =>
      [BILLING_PROCESS, SELF_BILLING_PROCESS].flatMap((process) => [
        { declared, said: sayingOf(row, process) },
        // The process that belongs to the type must be declared too.
        ...(row === declared ? [{ declared: { ...declared, process: other }, said: sayingOf(row, process) }] : []),
      ]),
    );
    const posted: { readonly one: Case; readonly id: string }[] = [];
    for (const one of cases) {
      const { answer, id } = await post(one);
      expect([answer, id !== undefined], JSON.stringify(one)).toEqual(answerTo(one));
      if (id !== undefined) posted.push({ one, id });
    }
    await judge();
    const shown: string[] = [];
    for (const { one, id } of posted) {
      const agrees =
        one.said.root === one.declared.root &&
        one.said.customization === one.declared.customization &&
        one.said.process === one.declared.process &&
        one.declared.process === declared.process;
      const found = await fate(id);
      expect(found, JSON.stringify(one)).toBe(agrees ? "RECEIVED" : "REFUSED RE");
      if (found === "RECEIVED") shown.push(one.said.customization);
    }
    expect(shown).toEqual([declared.customization]);
  },
);

test("a message that declares a type which its receiver has not published is answered as not serviced, whatever the document says", async () => {
  const strangers = ROWS.filter((row) => row.customization.startsWith("urn:cen.eu") && !BILLED.includes(row));
  expect(strangers.length).toBeGreaterThan(0);
  for (const row of strangers)
    for (const said of [row, ...BILLED].filter(({ root }) => root === row.root))
      expect(await post({ declared: row, said: sayingOf(said, said.process) })).toEqual({ answer: "EBMS:0004" });
});

test("a message that declares an Invoice Response: anything else in it, or a process of another name, is answered with RE and is no answer to an invoice", async () => {
  const [plain] = RESPONSES;
  if (plain === undefined) throw new Error("no such type");
  const cases: readonly Case[] = [...RESPONSES, ...STATUSES, ...BILLED].flatMap((row) => [
    { declared: plain, said: sayingOf(row, plain.process) },
    { declared: { ...plain, process: BILLING_PROCESS }, said: sayingOf(row, plain.process) },
  ]);
  for (const one of cases) {
    const { answer, id } = await post(one);
    expect([answer, id !== undefined], JSON.stringify(one)).toEqual(answerTo(one));
    if (id === undefined) continue;
    await judge();
    while ((await STATUS_STEPS.statuses(bench.node)) > 0);
    const agrees =
      one.said.root === one.declared.root &&
      one.said.customization === one.declared.customization &&
      one.said.process === one.declared.process;
    expect(await fate(id), JSON.stringify(one)).toBe(agrees ? "unknown" : "unreadable RE");
  }
});

test("a message to the provider that declares a Message Level Status and holds anything else is kept, unread, and nobody is told", async () => {
  const [plain] = STATUSES;
  if (plain === undefined) throw new Error("no such type");
  for (const row of [...RESPONSES, ...BILLED]) {
    const one = { declared: plain, said: sayingOf(row, row.process), receiver: OWN.participant };
    const { answer, id } = await post(one);
    expect([answer, id !== undefined], JSON.stringify(one)).toEqual(answerTo(one));
    if (id === undefined) continue;
    while ((await STATUS_STEPS.statuses(bench.node)) > 0);
    await judge();
    expect(await fate(id)).toBe("unreadable");
  }
});
