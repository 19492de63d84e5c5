/**
 * Goal: no changed octet of another stack's message or receipt is believed. Each octet in turn gets one other bit; what is
 * then still accepted says exactly what was signed, and lies at a place that the list below allows.
 */
import { expect, test } from "vitest";

import type { OpenedMessage } from "../../../../engine/peppol/as4/messages.js";
import { recordedPeer } from "../../../support/as4/recorded-peer.js";

const PEERS = [
  { folder: "as4-phase4", peer: recordedPeer("phase4") },
  { folder: "as4-oxalis", peer: recordedPeer("oxalis") },
];

/** The message with one bit of one octet turned: which one goes round with the place, the top bit left out as it breaks UTF-8 and base64 at once. */
function turned(body: Buffer, at: number): Buffer {
  const copy = Buffer.from(body);
  copy.writeUInt8(copy.readUInt8(at) ^ (1 << (at % 7)), at);
  return copy;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** All matches of a pattern between two places. */
const matches = (text: string, pattern: RegExp, within: Span): Span[] =>
  [...text.matchAll(pattern)]
    .map(({ index, 0: { length } }) => ({ from: index, to: index + length }))
    .filter(({ from, to }) => from >= within.from && to <= within.to);

/** From the first `opening` to the end of the first `closing` behind it. */
function spanOf(text: string, opening: string, closing: string): Span {
  const from = text.indexOf(opening);
  const to = text.indexOf(closing, from) + closing.length;
  if (from < 0 || to < from) throw new Error(`no ${opening}`);
  return { from, to };
}

/** What the signature does not cover and nothing is read from; in the security header, declarations of namespaces besides. */
const UNSIGNED_MARKUP =
  / (?:(?:wsu:)?Id|EncodingType|ValueType|MimeType|\w+:mustUnderstand|wsse11:TokenType)="[^"]*"|<ds:Transform /g;
/** Exclusive canonicalization drops the declaration of a prefix that an element does not use. */
const DECLARATIONS = / xmlns:\w+="[^"]*"/g;

/** Oxalis sends its certificate twice, and refers to one of them: nobody reads a token that nothing refers to. */
const unusedTokens = (text: string): Span[] =>
  [...text.matchAll(/<wsse:BinarySecurityToken [^>]*wsu:Id="([^"]*)"[^>]*>[^<]*/g)]
    .filter(([, id = ""]) => !text.includes(`URI="#${id}"`))
    .map(({ index, 0: { length } }) => ({ from: index, to: index + length }));

/** The places where a changed octet may pass: frames of MIME and blanks around the envelope, and in it the list above. */
function allowedPlaces(body: Buffer): (at: number) => boolean {
  const text = body.toString("latin1");
  const soap = { from: text.search(/<\w+:Envelope/), to: text.search(/<\/\w+:Envelope>/) + "</S12:Envelope>".length };
  const security = spanOf(text, "<wsse:Security", "</wsse:Security>");
  const signedInfo = spanOf(text, "<ds:SignedInfo", "</ds:SignedInfo>");
  const markup = [...matches(text, DECLARATIONS, soap), ...matches(text, UNSIGNED_MARKUP, security)].filter(
    ({ from }) => from < signedInfo.from || from >= signedInfo.to || text.startsWith(" xmlns:", from),
  );
  const passing = [...markup, ...unusedTokens(text)];
  const part = { from: text.indexOf("\r\n\r\n", soap.to) + 4, to: text.lastIndexOf("\r\n--") };
  const inside = (at: number, { from, to }: Span): boolean => at >= from && at < to;
  return (at) => (inside(at, soap) ? passing.some((span) => inside(at, span)) : !inside(at, part));
}

const facts = (opened: OpenedMessage): string =>
  JSON.stringify([
    opened.message,
    opened.testService,
    Buffer.from(opened.payload ?? []).toString("base64"),
    opened.references,
  ]);

test.each(PEERS)(
  "every octet of the message of $folder counts: whatever is changed is refused, or outside of what was signed",
  async ({ peer: { theirs, recorded, open } }) => {
    const { body, contentType } = recorded("message.http");
    const original = await open({ body, contentType });
    if (original.kind === "refused") throw new Error(original.reason);
    const token = spanOf(body.toString("latin1"), theirs.toString("base64").slice(0, 40), "<");
    const isAllowed = allowedPlaces(body);
    const wrong: string[] = [];
    let accepted = 0;
    for (let at = 0; at < body.length; at += 1) {
      const opened = await open({ body: turned(body, at), contentType });
      if (opened.kind === "refused") continue;
      accepted += 1;
      // The token is not signed: a certificate that keeps its key keeps the signature, and is another certificate, which the PKI refuses.
      const isOtherCertificate = at >= token.from && at < token.to && !theirs.equals(opened.signer);
      if (facts(opened) !== facts(original) || !(isOtherCertificate || (theirs.equals(opened.signer) && isAllowed(at))))
        wrong.push(`${at}: …${body.toString("latin1", at - 30, at + 10)}`);
    }
    expect(wrong).toEqual([]);
    expect(accepted).toBeLessThan(body.length / 5);
  },
);

test.each(PEERS)(
  "every octet of the receipt of $folder counts: whatever is changed is refused, or outside of what was signed",
  async ({ peer: { recorded, answerTo } }) => {
    const { body, contentType } = recorded("receipt.http");
    const original = await answerTo("receipt.http");
    expect(original).toMatchObject({ kind: "receipt", sameCertificate: true });
    const isAllowed = allowedPlaces(body);
    const believed: string[] = [];
    for (let at = 0; at < body.length; at += 1) {
      const answer = await answerTo("receipt.http", { body: turned(body, at), contentType });
      // Another certificate of the same seat is asked about before it is believed.
      if (
        answer.kind === "receipt" &&
        answer.sameCertificate &&
        (JSON.stringify(answer) !== JSON.stringify(original) || !isAllowed(at))
      )
        believed.push(`${at}: …${body.toString("latin1", at - 30, at + 10)}`);
      if (answer.kind === "already_handed_over") believed.push(`${at}: handed over`);
    }
    expect(believed).toEqual([]);
  },
);
