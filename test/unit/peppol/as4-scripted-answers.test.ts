/**
 * What an access point may answer to a message of ours, octet for octet over real sockets: every ebMS error of the tables
 * as failure and as warning, signed and not, in a signal and beside a SOAP fault; receipts that prove something else; and
 * HTTP that lies. Each answer has one outcome of the closed list, the message is sent once, and no word of the peer is told.
 * @source design/as4.md, sections 6, 7 and 18; design/reliability.md, S-09; spec/rulings.md, section 5
 */
import { gzipSync } from "node:zlib";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { silentLog } from "../../../engine/base/log.js";
import { EBMS_ERRORS } from "../../../engine/peppol/as4/ebms-errors.js";
import { writeMultipart } from "../../../engine/peppol/as4/mime.js";
import { createHttpClient } from "../../../engine/peppol/network/http.js";
import type { Outcome } from "../../../engine/peppol/transport.js";
import { resign } from "../../support/as4/as4-forge.js";
import { accessPoint } from "../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../support/as4/as4-keys.js";
import { startPeer, trustIn } from "../../support/as4/as4-peer.js";
import type { Peer } from "../../support/as4/as4-peer.js";
import { outgoing, transportTo } from "../../support/as4/outgoing.js";
import {
  answerOf,
  chunked,
  errorElement,
  errorSignal,
  head,
  SOAP,
  startScriptedPeer,
} from "../../support/as4/scripted-peer.js";
import type { SaidError, Script, ScriptedPeer } from "../../support/as4/scripted-peer.js";
import { shortenLimits } from "../../support/engines/limits.js";

const [us, them, stranger] = [accessPoint("PSK000001"), accessPoint("PSK000002"), accessPoint("PSK000003")];
/** What the peer says of its own, wherever it can. */
const WORD = "a-word-of-the-peer";

let peer: ScriptedPeer;
let reader: Peer;
let restore: () => void;
beforeAll(async () => {
  restore = shortenLimits({ as4_exchange_timeout_ms: 1_500 });
  [peer, reader] = await Promise.all([startScriptedPeer(), startPeer(them, trustIn(us))]);
});
afterAll(async () => {
  restore();
  await Promise.all([peer.stop(), reader.stop()]);
});

/** One attempt that meets the script. */
async function outcomeOf(script: Script, attempt = 1): Promise<Outcome> {
  const http = createHttpClient({ policy: { allowLoopback: true, ownOrigins: [] } });
  const lines: unknown[] = [];
  const heard = peer.heard;
  peer.script = script;
  const transport = transportTo(peer.url, [us, them], {
    http: http.request,
    log: { ...silentLog, warn: (...line) => lines.push(line), error: (...line) => lines.push(line) },
  });
  const exchange = outgoing({ attempt, answers: attempt - 1 });
  const { evidence, ...outcome } = await transport.deliver(exchange, new AbortController().signal);
  http.close();
  // Whatever came back: it was sent once, what was exchanged is kept, and nothing of the peer's own words is told.
  expect(peer.heard - heard).toBe(1);
  expect(evidence).toBeDefined();
  expect(outcome.peerSeat).toBe(them.seat);
  expect(JSON.stringify([outcome, lines])).not.toContain(WORD);
  return outcome;
}

const saying =
  (errors: readonly SaidError[], signer: AccessPoint | undefined = them, fault = false): Script =>
  async (socket, { messageId }) => {
    const signal = await errorSignal({ errors, signer, refTo: messageId, fault }, stranger);
    socket.write(answerOf(signal, fault ? "500 Internal Server Error" : "200 OK"));
  };

/** What a failure with each code means where the peer has signed it. @source design/as4.md, section 7 */
const FINAL = ["0001", "0002", "0003", "0006", "0007", "0008", "0009", "0010", "0011", "0103", "0303", "9999"];
const kindOf = (code: string): Outcome["kind"] =>
  code === "4001" ? "already_handed_over" : FINAL.includes(code) ? "peer_refused" : "peer_busy";
const CODES = [...Object.keys(EBMS_ERRORS).map((code) => code.slice(5)), "9999"];

describe.each([
  ["in a signal", false],
  ["beside a SOAP fault with HTTP 500", true],
])("an ebMS error %s", (_, fault) => {
  test.each(CODES)("EBMS:%s is believed of the peer alone, as a failure and as a warning", async (number) => {
    const code = `EBMS:${number}`;
    const error = { code, text: WORD };
    const warning = { ...error, severity: "warning" };
    const meant = kindOf(number);
    // Over plain HTTP nobody else's word ends anything: a refusal is tried again, "I have it" is a doubt.
    const doubted = meant === "already_handed_over" ? "unconfirmed" : "peer_busy";
    const warned = meant === "already_handed_over" ? meant : "unconfirmed";
    expect(await outcomeOf(saying([error], them, fault))).toMatchObject({ kind: meant, code });
    expect(await outcomeOf(saying([warning], them, fault))).toMatchObject({ kind: warned, code });
    for (const signer of [undefined, stranger]) {
      // A default takes the place of an undefined argument, so that the script is made here.
      const by =
        (one: SaidError): Script =>
        async (socket, { messageId }) => {
          socket.write(answerOf(await errorSignal({ errors: [one], signer, refTo: messageId, fault }, stranger)));
        };
      expect(await outcomeOf(by(error))).toMatchObject({ kind: doubted, code });
      expect(await outcomeOf(by(warning))).toMatchObject({ kind: "unconfirmed", code });
    }
  });

  test.each(CODES)("EBMS:%s about another message says nothing of ours", async (number) => {
    const error = { code: `EBMS:${number}`, ref: "other@peer", text: WORD };
    expect(await outcomeOf(saying([error], them, fault))).toMatchObject({ kind: "unconfirmed", code: "EBMS:0302" });
  });
});

test.each<readonly [string, readonly SaidError[], Outcome["kind"], string]>([
  [
    "a warning, then a refusal",
    [{ code: "EBMS:0004", severity: "warning" }, { code: "EBMS:0103" }],
    "peer_refused",
    "EBMS:0103",
  ],
  [
    "a refusal for now, then NOT_SERVICED",
    [{ code: "EBMS:0202" }, { code: "EBMS:0004", text: "PEPPOL:NOT_SERVICED" }],
    "peer_refused",
    "EBMS:0004 PEPPOL:NOT_SERVICED",
  ],
  [
    "a refusal of another message, then one for now of ours",
    [{ code: "EBMS:0103", ref: "other@peer" }, { code: "EBMS:0202" }],
    "peer_busy",
    "EBMS:0202",
  ],
  ["a refusal for good, then a duplicate", [{ code: "EBMS:0303" }, { code: "EBMS:4001" }], "peer_busy", "EBMS:0303"],
  ["a refusal for now, then a duplicate", [{ code: "EBMS:0202" }, { code: "EBMS:4001" }], "peer_busy", "EBMS:0202"],
  [
    "a database's word of a duplicate key",
    [{ code: "EBMS:0004", text: "duplicate key value violates a constraint" }],
    "peer_busy",
    "EBMS:0004",
  ],
  [
    "a duplicate, forty warnings, then a refusal for now",
    [
      { code: "EBMS:4001" },
      ...Array.from({ length: 40 }, () => ({ code: "EBMS:0002", severity: "warning" })),
      { code: "EBMS:0202" },
    ],
    "peer_busy",
    "EBMS:0202",
  ],
  [
    "forty refusals of another message, then a duplicate of ours",
    [...Array.from({ length: 40 }, () => ({ code: "EBMS:0103", ref: "other@peer" })), { code: "EBMS:4001" }],
    "already_handed_over",
    "EBMS:4001",
  ],
  [
    "forty warnings",
    Array.from({ length: 40 }, () => ({ code: "EBMS:0002", severity: "warning" })),
    "unconfirmed",
    "EBMS:0002",
  ],
  ["a code of a hundred thousand characters", [{ code: WORD.repeat(5_000) }], "peer_refused", "EBMS:other"],
])(
  "errors that come together, %s, end in one outcome with the code of the one that decides",
  async (_, errors, kind, code) => {
    expect(await outcomeOf(saying(errors), 2)).toMatchObject({ kind, code });
  },
);

const receiptFor = async ({ body, contentType }: Parameters<Script>[1]): Promise<Buffer> =>
  Buffer.from((await reader.receiver(body, contentType)).body);
/** Answers with what becomes of the receipt. */
const receipted =
  (made: (receipt: Buffer) => Uint8Array): Script =>
  async (socket, heard) => {
    socket.write(made(await receiptFor(heard)));
  };
/** The receipt edited and signed by the peer again. */
const edited = (edit: (xml: string) => string): Script =>
  receipted((receipt) => answerOf(Buffer.from(resign(edit(receipt.toString()), them))));
const beside = (error: SaidError): Script =>
  edited((xml) => xml.replace("</eb:Receipt>", `</eb:Receipt>${errorElement(error)}`));

/** A receipt whose first digest is another one, whatever it begins with. */
const otherDigests = edited((xml) =>
  xml.replace(
    /(<ebbp:.*?<ds:DigestValue>)(.)/s,
    (_, before: string, first: string) => before + (first === "A" ? "B" : "A"),
  ),
);

test.each<readonly [string, Script, Outcome["kind"]]>([
  ["beside a warning", beside({ code: "EBMS:0002", severity: "warning", text: WORD }), "receipt"],
  ["beside a failure", beside({ code: "EBMS:0202", text: WORD }), "unconfirmed"],
  [
    "twice in one signal",
    edited((xml) => xml.replace(/<eb:Receipt>.*<\/eb:Receipt>/s, (one) => one + one)),
    "unconfirmed",
  ],
  [
    "in two signals",
    edited((xml) => xml.replace(/<eb:SignalMessage>.*<\/eb:SignalMessage>/s, (one) => one + one)),
    "unconfirmed",
  ],
  ["for another message", edited((xml) => xml.replace(/(<eb:RefToMessageId>)[^<]*/, "$1other@peer")), "unconfirmed"],
  ["of other digests", otherDigests, "unconfirmed"],
  [
    "of a part less",
    edited((xml) => xml.replace(/<ebbp:MessagePartNRInformation>.*?<\/ebbp:MessagePartNRInformation>/s, "")),
    "unconfirmed",
  ],
])("a signed receipt %s is judged by what it proves", async (_, script, kind) => {
  expect((await outcomeOf(script)).kind).toBe(kind);
});

const broken: Script = async (socket, { messageId }) => {
  const signal = await errorSignal({ errors: [{ code: "EBMS:0202" }], signer: them, refTo: messageId }, stranger);
  socket.write(answerOf(Buffer.from(signal.toString().replace('severity="failure"', 'severity="Failure"'))));
};
const unreadable: Script = async (socket, { messageId }) => {
  const signal = await errorSignal({ errors: [{ code: "EBMS:0202" }], signer: them, refTo: messageId }, stranger);
  socket.write(answerOf(signal, "400 Bad Request", "text/xml"));
};

test.each<readonly [string, Script, string]>([
  ["of a receipt beside a failure", beside({ code: "EBMS:0202" }), "EBMS:0301 WITH_ERROR"],
  ["of an error whose signature is broken", broken, "EBMS:0302 WITH_ERROR"],
  ["of an error that is called another type", unreadable, "HTTP 400 WITH_ERROR"],
  ["of a receipt of other digests", otherDigests, "EBMS:0302"],
])("the code %s tells whether the message may have been refused", async (_, script, code) => {
  expect((await outcomeOf(script)).code).toBe(code);
});

const BUSY = ["400", "401", "403", "404", "408", "410", "413", "417", "421", "425", "429", "503"];
const ELSEWHERE = ["300", "301", "302", "304", "307", "308"];
const DOUBT = ["200", "202", "204", "205", "206", "303", "500", "501", "502", "504", "599", "000", "099", "600", "999"];

test.each([
  ...BUSY.map((status) => [status, "peer_busy"] as const),
  ...ELSEWHERE.map((status) => [status, "transport_failed"] as const),
  ...DOUBT.map((status) => [status, "unconfirmed"] as const),
])("HTTP %s without a signal means %s, and with a receipt that the document is delivered", async (status, kind) => {
  expect(
    (
      await outcomeOf(
        (socket) => void socket.write(head(`${status} ${WORD}`, { location: WORD, "content-length": "0" })),
      )
    ).kind,
  ).toBe(kind);
  // These have no body whatever their headers say.
  const withReceipt = ["204", "304"].includes(status) ? undefined : "receipt";
  if (withReceipt === undefined) return;
  expect((await outcomeOf(receipted((receipt) => answerOf(receipt, `${status} ${WORD}`)))).kind).toBe(withReceipt);
});

const multipartOf = (
  ...parts: readonly { readonly body: Buffer; readonly cid?: string }[]
): ReturnType<typeof writeMultipart> =>
  writeMultipart(
    parts.map((part) => ({ contentType: SOAP, ...part })),
    "b1",
  );
const headed = (headers: Readonly<Record<string, string>>, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(head("200 OK", { "content-type": SOAP, ...headers })), body]);
const CHUNKED = { "transfer-encoding": "chunked" };

describe("a receipt in HTTP", () => {
  test.each<readonly [string, (receipt: Buffer) => Uint8Array]>([
    ["in chunks of one octet", (receipt) => headed(CHUNKED, chunked(receipt, 1))],
    ["with trailers", (receipt) => headed(CHUNKED, chunked(receipt, 500, `X-Word: ${WORD}\r\n`))],
    [
      "behind answers of 1xx",
      (receipt) =>
        Buffer.concat([Buffer.from(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 ${WORD}\r\n\r\n`), answerOf(receipt)]),
    ],
    ["with a byte-order mark", (receipt) => answerOf(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), receipt]))],
    [
      "with another charset named",
      (receipt) => answerOf(receipt, "200 OK", 'application/soap+xml; charset="utf-16"; action=""'),
    ],
    ["without a charset", (receipt) => answerOf(receipt, "200 OK", "Application/SOAP+XML")],
    [
      "with a wrong content coding named",
      (receipt) => headed({ "content-encoding": "gzip", "content-length": String(receipt.length) }, receipt),
    ],
    [
      "in multipart",
      (body) => {
        const made = multipartOf({ body });
        return answerOf(made.body, "200 OK", made.contentType);
      },
    ],
    [
      "in multipart before another",
      (body) => {
        const made = multipartOf({ body }, { body, cid: "second" });
        return answerOf(made.body, "200 OK", made.contentType);
      },
    ],
  ])("a receipt %s is believed", async (_, made) => {
    expect((await outcomeOf(receipted(made))).kind).toBe("receipt");
  });

  test("a receipt that only the end of the connection ends, and one before a second answer, are believed", async () => {
    expect((await outcomeOf(async (socket, heard) => void socket.end(headed({}, await receiptFor(heard))))).kind).toBe(
      "receipt",
    );
    const twice: Script = async (socket, heard) => {
      const receipt = answerOf(await receiptFor(heard));
      socket.write(receipt, () => socket.write(receipt));
    };
    expect((await outcomeOf(twice)).kind).toBe("receipt");
  });

  test.each<readonly [string, (receipt: Buffer) => Uint8Array, string]>([
    ["twice in one body", (receipt) => answerOf(Buffer.concat([receipt, receipt])), "EBMS:0301"],
    [
      "in gzip, which was not asked for",
      (receipt) => {
        const body = gzipSync(receipt);
        return headed({ "content-encoding": "gzip", "content-length": String(body.length) }, body);
      },
      "EBMS:0301",
    ],
    ["in UTF-16", (receipt) => answerOf(Buffer.from(`\ufeff${receipt.toString()}`, "utf16le")), "EBMS:0301"],
    ["as text/xml", (receipt) => answerOf(receipt, "200 OK", "text/xml"), "EBMS:0301"],
    [
      "as a type of the peer's own",
      (receipt) => answerOf(receipt, "200 OK", `${WORD}/${"y".repeat(10_000)}`),
      "EBMS:0301",
    ],
    ["called multipart", (receipt) => answerOf(receipt, "200 OK", 'multipart/related; boundary="b1"'), "EBMS:0301"],
    ["in multipart that is called plain", (body) => answerOf(multipartOf({ body }).body), "EBMS:0301"],
    [
      "with a length that is too short",
      (receipt) => headed({ "content-length": String(receipt.length - 10) }, receipt),
      "PROTOCOL",
    ],
    [
      "with a length that is too long",
      (receipt) => headed({ "content-length": String(receipt.length + 10) }, receipt),
      "TIMEOUT",
    ],
    ["with a length below nothing", (receipt) => headed({ "content-length": "-1" }, receipt), "PROTOCOL"],
    [
      "with two lengths",
      (receipt) => headed({ "content-length": String(receipt.length), "Content-Length": "5" }, receipt),
      "PROTOCOL",
    ],
    [
      "with a length and in chunks",
      (receipt) => headed({ "content-length": "5", ...CHUNKED }, chunked(receipt, 500)),
      "PROTOCOL",
    ],
    [
      "with trailers beyond the bound",
      (receipt) => headed(CHUNKED, chunked(receipt, 500, `X-Word: ${"b".repeat(1_000)}\r\n`.repeat(40))),
      "PROTOCOL",
    ],
  ])("a receipt %s is a doubt: the message is sent again later, and has not failed", async (_, made, code) => {
    expect(await outcomeOf(receipted(made))).toMatchObject({ kind: "unconfirmed", code });
  });

  test.each<readonly [string, (socket: Parameters<Script>[0], half: Buffer) => void, string]>([
    [
      "resets the connection after half a receipt",
      (socket, half) => socket.write(half, () => setImmediate(() => socket.resetAndDestroy())),
      "RESET",
    ],
    ["ends the connection after half a receipt", (socket, half) => socket.end(half), "RESET"],
    ["ends the connection in the head", (socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-"), "RESET"],
    ["says nothing", () => undefined, "TIMEOUT"],
    [
      "promises an answer without end",
      (socket) => {
        const timer = setInterval(() => socket.write(`HTTP/1.1 103 ${WORD}\r\n\r\n`), 1);
        socket.once("close", () => {
          clearInterval(timer);
        });
      },
      "TIMEOUT",
    ],
  ])("a peer that %s leaves a doubt, within the time of the exchange", async (_, play, code) => {
    const script: Script = async (socket, heard) => {
      const whole = answerOf(await receiptFor(heard));
      play(socket, whole.subarray(0, whole.length / 2));
    };
    expect(await outcomeOf(script)).toMatchObject({ kind: "unconfirmed", code });
  });
});
