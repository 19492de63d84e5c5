/** An access point that says octet for octet what a test gives it: signals of any kind, and HTTP of any kind around them. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

import { messagingXml } from "../../../engine/peppol/as4/user-message.js";
import { inThread } from "./as4.js";
import { resign } from "./as4-forge.js";
import type { AccessPoint } from "./as4-keys.js";

/** One message as it arrived. */
interface Heard {
  readonly body: Buffer;
  readonly contentType: string;
  readonly messageId: string;
}

/** What the peer does with a message. */
export type Script = (socket: Socket, heard: Heard) => void | Promise<void>;

export interface ScriptedPeer {
  readonly url: string;
  /** What the next messages meet. */
  script: Script;
  /** Messages that have arrived whole. */
  heard: number;
  stop(): Promise<void>;
}

/** Starts a peer that reads requests with a Content-Length and answers by its script. */
export async function startScriptedPeer(): Promise<ScriptedPeer> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    let waiting = Buffer.alloc(0);
    socket.on("data", (data: Buffer) => {
      waiting = Buffer.concat([waiting, data]);
      const end = waiting.indexOf("\r\n\r\n");
      if (end < 0) return;
      const head = waiting.subarray(0, end).toString("latin1");
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (waiting.length < end + 4 + length) return;
      const body = Buffer.from(waiting.subarray(end + 4, end + 4 + length));
      waiting = waiting.subarray(end + 4 + length);
      peer.heard += 1;
      void peer.script(socket, {
        body,
        contentType: /content-type: ([^\r]*)/i.exec(head)?.[1] ?? "",
        messageId: /<eb:MessageId>([^<]+)</.exec(body.toString("latin1"))?.[1] ?? "",
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const peer: ScriptedPeer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/as4`,
    script: () => undefined,
    heard: 0,
    stop: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
  return peer;
}

export const SOAP = "application/soap+xml;charset=UTF-8";

/** The head of an answer, which says what it is told and nothing else. */
export const head = (status: string, headers: Readonly<Record<string, string>>): string =>
  `HTTP/1.1 ${status}\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`;

/** A whole answer with its length. */
export const answerOf = (body: Uint8Array, status = "200 OK", contentType = SOAP): Buffer =>
  Buffer.concat([
    Buffer.from(head(status, { "content-type": contentType, "content-length": String(body.length) })),
    body,
  ]);

/** The same octets in chunks of `size`, with what stands behind the last one. */
export const chunked = (body: Buffer, size: number, trailers = ""): Buffer =>
  Buffer.concat([
    ...Array.from({ length: Math.ceil(body.length / size) }, (_, index) => {
      const chunk = body.subarray(index * size, (index + 1) * size);
      return Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]);
    }),
    Buffer.from(`0\r\n${trailers}\r\n`),
  ]);

/** One eb:Error as it is sent. */
export interface SaidError {
  readonly code: string;
  readonly severity?: string;
  /** refToMessageInError. */
  readonly ref?: string;
  readonly text?: string;
}

interface SaidSignal {
  readonly errors: readonly SaidError[];
  /** Undefined leaves it unsigned. */
  readonly signer: AccessPoint | undefined;
  /** RefToMessageId. */
  readonly refTo?: string;
  /** Whether the Body holds a SOAP fault. */
  readonly fault?: boolean;
}

export const errorElement = ({ code, severity = "failure", ref, text }: SaidError): string =>
  `<eb:Error category="Content" errorCode="${code}" origin="ebMS"${ref === undefined ? "" : ` refToMessageInError="${ref}"`} severity="${severity}" shortDescription="x">${text === undefined ? "" : `<eb:Description xml:lang="en">${text}</eb:Description><eb:ErrorDetail>${text}</eb:ErrorDetail>`}</eb:Error>`;

/** An error signal, signed or not, with a SOAP fault in its Body or without one. */
export async function errorSignal(
  { errors, signer, refTo, fault = false }: SaidSignal,
  anybody: AccessPoint,
): Promise<Buffer> {
  const id = randomUUID();
  const ref = refTo === undefined ? "" : `<eb:RefToMessageId>${refTo}</eb:RefToMessageId>`;
  const info = `<eb:MessageInfo><eb:Timestamp>2026-11-20T10:00:00Z</eb:Timestamp><eb:MessageId>${id}@peer</eb:MessageId>${ref}</eb:MessageInfo>`;
  const messaging = messagingXml(
    `M-${id}`,
    `<eb:SignalMessage>${info}${errors.map(errorElement).join("")}</eb:SignalMessage>`,
  );
  const made = await inThread("as4.sign", { messaging, messagingId: `M-${id}`, id, signer: signer ?? anybody });
  let soap = Buffer.from(made.soap).toString();
  if (fault) {
    const said = `<S12:Fault><S12:Code><S12:Value>S12:Receiver</S12:Value></S12:Code><S12:Reason><S12:Text xml:lang="en">${errors[0]?.text ?? "no"}</S12:Text></S12:Reason></S12:Fault>`;
    soap = soap.replace(/(<S12:Body[^>]*>)(<\/S12:Body>)/, (_, open: string, close: string) => open + said + close);
    if (signer !== undefined) soap = resign(soap, signer);
  }
  return Buffer.from(signer === undefined ? soap.replace(/<wsse:Security.*<\/wsse:Security>/s, "") : soap);
}
