/**
 * From the question to DNS to the receipt: what an SMP says of a recipient, also by way of another SMP, with dates, and with a
 * certificate that has changed since it was asked, decides where a document goes and what proves it.
 * @source design/as4.md, section 10; design/reliability.md, S-08
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import type { DocumentId, FirmId, ParticipantId } from "../../../engine/base/ids.js";
import { silentLog } from "../../../engine/base/log.js";
import { createAs4Transport } from "../../../engine/peppol/as4/send.js";
import { peerTrust, smpEndpoints } from "../../../engine/peppol/as4/trust.js";
import { createHttpClient } from "../../../engine/peppol/network/http.js";
import type { HttpClient } from "../../../engine/peppol/network/http.js";
import { createReceivers } from "../../../engine/peppol/as4/send-gate.js";
import type { Outcome, Transport } from "../../../engine/peppol/transport.js";
import { inThread } from "../../support/as4/as4.js";
import { ownOf, startPeer } from "../../support/as4/as4-peer.js";
import type { Peer } from "../../support/as4/as4-peer.js";
import { smpRecord, startDnsServer } from "../../support/peppol/dns-server.js";
import type { TestDnsServer } from "../../support/peppol/dns-server.js";
import { memoryArchive } from "../../support/as4/evidence.js";
import type { MemoryArchive } from "../../support/as4/evidence.js";
import { invoiceOf } from "../../support/as4/outgoing.js";
import { fakeClock } from "../../support/fake-clock.js";
import type { FakeClock } from "../../support/fake-clock.js";
import {
  INVOICE,
  networkLookup,
  RECEIVER,
  SANDBOX_POLICY,
  signedMetadata,
  startFakeSmp,
  trustOf,
} from "../../support/peppol/smp.js";
import type { FakeSmp } from "../../support/peppol/smp.js";
import { makeTestPki } from "../../support/peppol/test-pki.js";
import type { Leaf, TestPki } from "../../support/peppol/test-pki.js";

const SENDER = "0245:2020202020" as ParticipantId;
let pki: TestPki;
let dns: TestDnsServer;
let smp: FakeSmp;
let second: FakeSmp;
let signer: Leaf;
let us: Leaf;
let them: Leaf;
let renewed: Leaf;
let peer: Peer;
let clock: FakeClock;
let archive: MemoryArchive;
let http: HttpClient;
let transport: Transport;

beforeAll(async () => {
  [pki, dns, smp, second] = await Promise.all([
    makeTestPki(),
    startDnsServer(() => ({ naptr: [smpRecord(smp.url)] })),
    startFakeSmp(),
    startFakeSmp(),
  ]);
  signer = pki.leaf("smp", "PSK000010");
  [us, them, renewed] = [pki.leaf("ap", "PSK000001"), pki.leaf("ap", "PSK000002"), pki.leaf("ap", "PSK000002")];
  http = createHttpClient({ policy: SANDBOX_POLICY });
});
afterAll(async () => {
  http.close();
  await Promise.all([dns.close(), smp.close(), second.close(), peer.stop()]);
});
beforeEach(async () => {
  // `peer` is undefined before the first test.
  await (peer as Peer | undefined)?.stop();
  clock = fakeClock();
  archive = memoryArchive();
  const trust = trustOf(pki, clock);
  peer = await startPeer(them, peerTrust(trust));
  transport = createAs4Transport({
    endpoints: smpEndpoints(networkLookup(dns, pki, clock, { trust }), "off"),
    trust: peerTrust(trust),
    own: ownOf(us),
    crypto: inThread,
    http: http.request,
    receivers: createReceivers({ clock }),
    evidence: archive,
    clock,
    log: silentLog,
  });
});

let sent = 0;
const deliver = (): Promise<Outcome> =>
  transport.deliver(
    {
      documentId: randomUUID() as DocumentId,
      firmId: randomUUID() as FirmId,
      attempt: 1,
      answers: 0,
      sender: SENDER,
      receiver: RECEIVER,
      documentTypeId: INVOICE.documentTypeId,
      processId: INVOICE.processId,
      as4MessageId: `${randomUUID()}@kurier`,
      sbdhInstanceId: randomUUID(),
      createdAt: clock.now(),
      countryC1: "SK",
      payload: invoiceOf({ sender: SENDER, receiver: RECEIVER, number: String((sent += 1)) }),
    },
    new AbortController().signal,
  );
const metadata = (to: Leaf = them, change?: (text: string) => string, by = signer): Buffer =>
  signedMetadata(by, to, change, peer.url);

test("a document goes where the SMP says, and the signed answer is its evidence", async () => {
  smp.answer = () => ({ body: metadata() });
  expect(await deliver()).toMatchObject({ kind: "receipt", peerSeat: "PSK000002" });
  expect(peer.inbox.received).toHaveLength(1);
  expect(archive.last("smp")?.equals(metadata())).toBe(true);
});

test("a redirect leads to the SMP that it names; that one's answer is the evidence. To an SMP of another name nothing is sent", async () => {
  const moved = pki.leaf("smp", "PSK000020");
  const redirect = (uid: string): Buffer =>
    metadata(them, (text) =>
      text.replace(
        /<ServiceInformation>.*<\/ServiceInformation>/s,
        `<Redirect href="${second.url}/elsewhere"><CertificateUID>${uid}</CertificateUID></Redirect>`,
      ),
    );
  second.answer = () => ({ body: metadata(them, undefined, moved) });
  smp.answer = () => ({ body: redirect("CN=PSK000021,O=Kurier,C=SK") });
  expect(await deliver()).toMatchObject({ kind: "lookup_failed", code: "lookup_failed redirect_certificate" });
  expect(peer.arrived).toEqual([]);
  clock.advance(60_000);
  smp.answer = () => ({ body: redirect("PSK000020") });
  expect(await deliver()).toMatchObject({ kind: "receipt" });
  expect(archive.last("smp")?.equals(metadata(them, undefined, moved))).toBe(true);
  expect(archive.stored[0]?.record.facts.smp?.url).toBe(`${second.url}/elsewhere`);
});

test("a service that begins tomorrow gets nothing today; one that has ended gets nothing any more, also while its answer is remembered", async () => {
  const day = 86_400_000;
  const dates =
    (from: number, to: number) =>
    (text: string): string =>
      text
        .replace("2026-01-01T00:00:00.000Z", new Date(from).toISOString())
        .replace("2028-01-01T00:00:00.000Z", new Date(to).toISOString());
  const body = metadata(them, dates(clock.now() + 60_000, clock.now() + 90_000));
  smp.answer = () => ({ body });
  expect(await deliver()).toMatchObject({ kind: "recipient_capability", code: "endpoint_not_found not_active" });
  clock.advance(60_000);
  expect(await deliver()).toMatchObject({ kind: "receipt" });
  clock.advance(30_000);
  expect(await deliver()).toMatchObject({ kind: "recipient_capability", code: "endpoint_not_found not_active" });
  clock.advance(day);
  expect(await deliver()).toMatchObject({ kind: "recipient_capability", code: "endpoint_not_found not_active" });
  expect(peer.arrived).toHaveLength(1);
});

test("a peer that moved, and then changed its key, while its old metadata are remembered: the attempt after each failure looks it up anew", async () => {
  smp.answer = () => ({ body: metadata() });
  expect(await deliver()).toMatchObject({ kind: "receipt" });
  const asked = smp.asked.length;
  await peer.stop();
  peer = await startPeer(renewed, peerTrust(trustOf(pki, clock)));
  smp.answer = () => ({ body: metadata() });
  // Where the end of the kept connection is noticed only after the message went out on it, it may have arrived.
  const moved = await deliver();
  expect(moved.code).toBe("CONNECT_REFUSED");
  expect(["transport_failed", "unconfirmed"]).toContain(moved.kind);
  expect(await deliver()).toMatchObject({ kind: "peer_busy", code: "EBMS:0102" });
  smp.answer = () => ({ body: metadata(renewed) });
  expect(await deliver()).toMatchObject({ kind: "receipt" });
  expect(peer.inbox.received).toHaveLength(1);
  expect(smp.asked.length - asked).toBe(2);
});

test("a certificate that ends while it is remembered is not sent to", async () => {
  const short = pki.leaf("ap", "PSK000002", { notAfter: clock.now() + 30_000 });
  smp.answer = () => ({ body: metadata(short) });
  clock.advance(20_000);
  expect(await deliver()).toMatchObject({ kind: "peer_busy", code: "EBMS:0102" });
  expect(peer.arrived).toHaveLength(1);
  clock.advance(11_000);
  expect(await deliver()).toMatchObject({
    kind: "certificate_rejected",
    code: "certificate_expired certificate_expired",
  });
  expect(peer.arrived).toHaveLength(1);
});
