/**
 * The door at /as4 of a whole engine, on both forms of the HTTP server: chunked and with a length, too large, hostile. What is
 * refused leaves nothing in the database and nothing in the archive, and the process goes on.
 * @source design/as4.md, section 3; design/reliability.md, X-04, X-09
 */
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createGzip, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { systemClock } from "../../../engine/base/clock.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { buildUserMessage, readAnswer } from "../../../engine/peppol/as4/messages.js";
import type { BuiltMessage } from "../../../engine/peppol/as4/messages.js";
import { BILLING_CAPABILITIES, BILLING_PROCESS } from "../../../engine/peppol/envelope/identifiers.js";
import { ensureDevelopmentPki, loadDevelopmentKeys } from "../../../engine/peppol/pki/development.js";
import { wrapDocument } from "../../../engine/peppol/envelope/byte-exact.js";
import { uwsAvailable } from "../../../gateway/http/server-uws.js";
import { wrapPrivateKey } from "../../../validators/wss/keys.js";
import type { OwnKey } from "../../../validators/wss/protocol.js";
import { inThread, userMessage } from "../../support/as4/as4.js";
import { forge } from "../../support/as4/as4-forge.js";
import type { Edits } from "../../support/as4/as4-forge.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../support/as4/as4-keys.js";
import { invoiceXml, startTestEngine } from "../../support/engines/engine.js";
import type { TestEngine } from "../../support/engines/engine.js";

const TYPE = BILLING_CAPABILITIES[0]?.documentTypeId ?? "";

interface Answered {
  readonly status: number;
  readonly contentType: string;
  readonly body: Buffer;
}

const BOMB_BYTES = 512 * 1024 * 1024;

/** Zeros in a gzip, packed piece by piece so that the test does not hold them itself. */
async function bombOf(bytes: number): Promise<Buffer> {
  const piece = Buffer.alloc(1024 * 1024);
  const packed: Buffer[] = [];
  for await (const chunk of Readable.from(Array.from({ length: bytes / piece.length }, () => piece)).pipe(createGzip()))
    packed.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(packed);
}

const FORMS = [
  ["node:http", "node"],
  ["uWebSockets.js", "uws"],
] as const;

describe.each(FORMS)("%s", (_, form) => {
  const missing = form === "uws" && !uwsAvailable();
  if (missing && process.env["CI"] === "true") throw new Error("no uWebSockets.js binary loads here");
  let engine: TestEngine;
  let them: AccessPoint;
  let us: Buffer;

  beforeAll(async () => {
    if (missing) return;
    engine = await startTestEngine({ transport: "as4", form });
    const folder = join(engine.dataDir, "peer");
    await ensureDevelopmentPki({ folder, clock: systemClock, seat: "PSK000002", from: join(engine.dataDir, "pki") });
    const [leaf] = await loadDevelopmentKeys(folder);
    const [own] = await loadDevelopmentKeys(join(engine.dataDir, "pki"));
    if (leaf === undefined || own === undefined) throw new Error("no keys");
    them = {
      seat: "PSK000002",
      certificate: Buffer.from(leaf.certificate),
      privateKey: leaf.privateKey,
      key: wrapPrivateKey(leaf.privateKey),
    };
    us = Buffer.from(own.certificate);
  });
  afterAll(async () => {
    if (!missing) await engine.stop();
  });

  const ANYBODY = accessPoint("PSK000001");
  const SENDER = "0245:7000000001" as ParticipantId;

  async function message(
    signer: OwnKey = them,
    seat = "PSK000002",
    sender = SENDER,
  ): Promise<BuiltMessage & { readonly messageId: string; readonly payload: string }> {
    const receiver = engine.sandbox.receiver.participantId as ParticipantId;
    const payload = invoiceXml(sender, receiver);
    const sbd = wrapDocument({
      sender,
      receiver,
      documentType: TYPE,
      process: BILLING_PROCESS,
      instanceId: randomUUID(),
      createdAt: systemClock.now(),
      countryC1: "SK",
      payload: Buffer.from(payload),
    });
    if (sbd.kind === "refused") throw new Error(sbd.fault);
    const messageId = `${randomUUID()}@peer`;
    const header = userMessage(ANYBODY, ANYBODY, {
      messageId,
      fromParty: seat,
      toParty: "PSK000001",
      originalSender: sender,
      finalRecipient: receiver,
      action: `busdox-docid-qns::${TYPE}`,
    });
    return {
      messageId,
      payload,
      ...(await buildUserMessage(
        { message: header, payload: sbd.bytes, id: randomUUID(), signer, recipient: us },
        inThread,
      )),
    };
  }

  /** Posts in pieces, chunked or with a length. */
  const post = (body: Buffer, contentType: string, options: { readonly chunked: boolean }): Promise<Answered> =>
    new Promise((resolve, reject) => {
      const url = new URL("/as4", engine.engine.publicUrl);
      const outgoing = request(
        url,
        {
          method: "POST",
          headers: {
            "content-type": contentType,
            ...(options.chunked ? { "transfer-encoding": "chunked" } : { "content-length": String(body.length) }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response
            .on("data", (chunk: Buffer) => chunks.push(chunk))
            .on("end", () => {
              resolve({
                status: response.statusCode ?? 0,
                contentType: response.headers["content-type"] ?? "",
                body: Buffer.concat(chunks),
              });
            })
            .on("error", reject);
        },
      );
      outgoing.on("error", reject);
      for (let at = 0; at < body.length; at += 5_000) outgoing.write(body.subarray(at, at + 5_000));
      outgoing.end();
    });

  const counts = async (): Promise<unknown> =>
    (
      await engine.db
        .sql`select (select count(*)::integer from received_document) as documents, (select count(*)::integer from payload) as payloads, (select count(*)::integer from evidence) as evidence`
    )[0];

  test.skipIf(missing)("the gateway takes a message with a length, and one that comes in chunks", async () => {
    for (const chunked of [false, true]) {
      const sent = await message();
      const answered = await post(sent.body, sent.contentType, { chunked });
      expect(answered.status).toBe(200);
      expect(answered.contentType).toMatch(/^application\/soap\+xml/);
      const answer = await readAnswer(
        answered.body,
        answered.contentType,
        { messageId: sent.messageId, references: sent.references, recipient: us },
        inThread,
      );
      expect(answer).toMatchObject({ kind: "receipt", sameCertificate: true });
    }
    expect(await counts()).toEqual({ documents: 2, payloads: 2, evidence: 2 });
  });

  test.skipIf(missing)(
    "rulings §14: another access point may sign for a participant of ours; it gets its receipt, and operators see it in the metrics and in the log",
    async () => {
      const metric = async (): Promise<string> =>
        /^kurier_signed_elsewhere_total\{kind="business"\} ([0-9]+)$/mu.exec(
          await (await fetch(`${engine.engine.adminUrl}/metrics`)).text(),
        )?.[1] ?? "0";
      expect(await metric()).toBe("0");
      const sent = await message(them, "PSK000002", engine.sandbox.sender.participantId as ParticipantId);
      const answered = await post(sent.body, sent.contentType, { chunked: false });
      expect(
        await readAnswer(
          answered.body,
          answered.contentType,
          { messageId: sent.messageId, references: sent.references, recipient: us },
          inThread,
        ),
      ).toMatchObject({ kind: "receipt" });
      expect(await metric()).toBe("1");
      expect(engine.lines.filter((line) => line.includes('"event":"inbound.signed_elsewhere"'))).toEqual([
        expect.stringContaining('"seat":"PSK000002"'),
      ]);
    },
  );

  test.skipIf(missing)("two at once with one MessageId are one document", async () => {
    const before = (await counts()) as { documents: number };
    const sent = await message();
    const answers = await Promise.all([
      post(sent.body, sent.contentType, { chunked: false }),
      post(sent.body, sent.contentType, { chunked: true }),
    ]);
    for (const answered of answers) {
      expect(
        await readAnswer(
          answered.body,
          answered.contentType,
          { messageId: sent.messageId, references: sent.references, recipient: us },
          inThread,
        ),
      ).toMatchObject({ kind: "receipt" });
    }
    expect(((await counts()) as { documents: number }).documents).toBe(before.documents + 1);
  });

  test.skipIf(missing)(
    "the gateway refuses what is hostile, keeps nothing of it, and takes the next message",
    async () => {
      const before = await counts();
      const sent = await message();
      const stranger = accessPoint("PSK000002");
      const forged = await message(stranger);
      const noise = randomBytes(20_000);
      const cases: readonly [body: Buffer, contentType: string, code: string][] = [
        [forged.body, forged.contentType, "EBMS:0101"],
        [
          Buffer.from(sent.body.toString("latin1").replace("PSK000002", "PSK000003"), "latin1"),
          sent.contentType,
          "EBMS:0101",
        ],
        [sent.body.subarray(0, sent.body.length - 2_000), sent.contentType, "EBMS:0007"],
        [noise, sent.contentType, "EBMS:0007"],
        [noise, "application/soap+xml", "EBMS:0009"],
        [Buffer.from('<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><x>&a;</x>'), "application/soap+xml", "EBMS:0009"],
        [Buffer.alloc(0), sent.contentType, "EBMS:0007"],
      ];
      for (const [body, contentType, code] of cases) {
        const answered = await post(body, contentType, { chunked: false });
        expect([answered.status, /errorCode="([^"]+)"/.exec(answered.body.toString())?.[1]]).toEqual([200, code]);
        // Signed, and without a word about us.
        expect(answered.body.toString()).toContain("SignatureValue");
        expect(answered.body.toString()).not.toMatch(/node:|at |\.ts|kurier-test/);
      }
      const large = await post(Buffer.alloc(LIMITS.as4_body_bytes_max + 1), sent.contentType, { chunked: false }).catch(
        () => undefined,
      );
      expect([413, undefined]).toContain(large?.status);
      expect(await counts()).toEqual(before);
      expect(existsSync(join(engine.dataDir, "quarantine"))).toBe(false);
      const next = await message();
      const answered = await post(next.body, next.contentType, { chunked: false });
      expect(
        await readAnswer(
          answered.body,
          answered.contentType,
          { messageId: next.messageId, references: next.references, recipient: us },
          inThread,
        ),
      ).toMatchObject({ kind: "receipt" });
      expect(engine.lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
    },
  );

  /** A message of theirs, right but for the edits. */
  const forged = (edits: Edits): ReturnType<typeof forge> =>
    forge(them, { ...them, seat: "PSK000001", certificate: us }, edits);
  const codeIn = (answered: Answered): string =>
    /errorCode="([^"]+)"/.exec(answered.body.toString())?.[1] ?? `none (${answered.status})`;

  test.skipIf(missing)(
    "the gateway refuses what is signed and hostile: half a gigabyte in a small gzip, a wrapped signature, parts without end; in bounded memory",
    async () => {
      const before = await counts();
      const bomb = await bombOf(BOMB_BYTES);
      expect(bomb.length).toBeLessThan(1_000_000);
      const other = (xml: string): string =>
        xml.replace(
          /<eb:Messaging.*<\/eb:Messaging>/s,
          (signed) =>
            `<w:W xmlns:w="urn:w">${signed}</w:W>${signed.replaceAll("0245:2020202020", "0245:6666666666").replace(/ wsu:Id="[^"]*"/, "")}`,
        );
      const extra = Array.from({ length: 10_000 }, (_, i) => ({
        cid: `extra-${i}@x`,
        contentType: "text/plain",
        body: Buffer.from("x"),
      }));
      const cases: readonly (readonly [string, Edits, string])[] = [
        ["a gzip bomb", { signedPayload: bomb }, "EBMS:0303"],
        [
          "a gzip with something behind it",
          { signedPayload: Buffer.concat([gzipSync("x"), Buffer.from("more")]) },
          "EBMS:0303",
        ],
        [
          "another key's ciphertext",
          { signedPayload: gzipSync("x"), sealKey: () => Buffer.alloc(256, 1) },
          "EBMS:0102",
        ],
        ["the signed header in a wrapper, a forged one in its place", { envelope: other }, "EBMS:0101"],
        [
          "a header that names another part",
          { messaging: (xml) => xml.replace(/href="cid:[^"]+"/, 'href="cid:other@peer"') },
          "EBMS:0007",
        ],
        ["no second part", { parts: (parts) => parts.slice(0, 1) }, "EBMS:0101"],
        ["two parts of one id", { parts: (parts) => [...parts, ...parts.slice(1)] }, "EBMS:0007"],
        ["ten thousand parts", { parts: (parts) => [...parts, ...extra] }, "EBMS:0007"],
      ];
      const heap = process.memoryUsage().rss;
      let most = heap;
      const watch = setInterval(() => {
        most = Math.max(most, process.memoryUsage().rss);
      }, 5);
      for (const [name, edits, code] of cases) {
        const { body, contentType } = await forged(edits);
        // Again and again: what is refused is not kept either.
        for (const chunked of [false, true, true])
          expect(codeIn(await post(body, contentType, { chunked })), name).toBe(code);
      }
      clearInterval(watch);
      // The workers are threads of this process: unpacked whole, the bomb alone would be more than this.
      expect(most - heap).toBeLessThan(BOMB_BYTES / 2);
      expect(await counts()).toEqual(before);
      expect(existsSync(join(engine.dataDir, "quarantine"))).toBe(false);
      const next = await message();
      const answered = await post(next.body, next.contentType, { chunked: true });
      expect(
        await readAnswer(
          answered.body,
          answered.contentType,
          { messageId: next.messageId, references: next.references, recipient: us },
          inThread,
        ),
      ).toMatchObject({ kind: "receipt" });
    },
  );

  test.skipIf(missing)(
    "a body without a length ends at the cap like one that announces it, and a boundary as long as a book is refused",
    async () => {
      const { contentType } = await message();
      const large = await post(Buffer.alloc(LIMITS.as4_body_bytes_max + 1), contentType, { chunked: true }).catch(
        () => undefined,
      );
      expect([413, undefined]).toContain(large?.status);
      const book = await post(Buffer.from("x"), `multipart/related; boundary="${"b".repeat(1_000_000)}"`, {
        chunked: false,
      }).catch(() => undefined);
      expect([400, 413, 431, undefined]).toContain(book?.status);
      const next = await message();
      expect((await post(next.body, next.contentType, { chunked: false })).status).toBe(200);
    },
  );

  test.skipIf(missing)("GET is no way to deliver", async () => {
    expect((await fetch(`${engine.engine.publicUrl}/as4`)).status).toBe(405);
  });
});
