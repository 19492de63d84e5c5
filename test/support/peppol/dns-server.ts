/** A DNS server for tests: real datagrams and streams, answers that a test decides. */
import { createSocket } from "node:dgram";
import type { Socket } from "node:dgram";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";

import type { DnsServer } from "../../../engine/peppol/network/dns.js";

export interface NaptrRecord {
  readonly order?: number;
  readonly preference?: number;
  readonly flags?: string;
  readonly service?: string;
  readonly regexp: string;
  readonly replacement?: string;
  readonly ttl_s?: number;
}

export interface DnsReply {
  readonly rcode?: number;
  readonly naptr?: readonly NaptrRecord[];
  /** IPv4 addresses of the asked name. */
  readonly addresses?: readonly string[];
  /** Alias of the asked name; the records then belong to the last alias. */
  readonly aliases?: readonly string[];
  readonly soa?: { readonly ttl_s: number; readonly minimum_s: number };
  /** Sets the flag that the answer did not fit, over UDP. */
  readonly truncated?: boolean;
  /** Replaces the finished message. */
  readonly mangle?: (message: Buffer) => Buffer | readonly Buffer[] | undefined;
}

export type DnsBehaviour = (name: string, transport: "udp" | "tcp") => DnsReply | undefined;

export interface TestDnsServer extends DnsServer {
  /** Names asked so far. */
  readonly asked: string[];
  answer: DnsBehaviour;
  close(): Promise<void>;
}

export const smpRecord = (url: string, ttl_s = 60): NaptrRecord => ({ regexp: `!^.*$!${url}!`, ttl_s });

/** Starts a server; `answer` may be replaced at any time, and undefined stays silent. */
export async function startDnsServer(answer: DnsBehaviour): Promise<TestDnsServer> {
  const tcp = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (data) => {
      for (const message of respond(Buffer.from(data).subarray(2), "tcp"))
        socket.write(Buffer.concat([u16(message.length), message]));
    });
  });
  await new Promise<void>((resolve) => {
    tcp.listen(0, "127.0.0.1", resolve);
  });
  const { port } = tcp.address() as AddressInfo;
  const udp: Socket = createSocket("udp4");
  const server: TestDnsServer = {
    host: "127.0.0.1",
    port,
    asked: [],
    answer,
    close: async () => {
      await new Promise<void>((resolve) => {
        udp.close(() => {
          resolve();
        });
      });
      await new Promise<void>((resolve) => {
        tcp.close(() => {
          resolve();
        });
      });
    },
  };
  const respond = (question: Buffer, transport: "udp" | "tcp"): readonly Buffer[] => {
    const name = nameIn(question);
    server.asked.push(name);
    const reply = server.answer(name, transport);
    if (reply === undefined) return [];
    const message = encode(question, name, reply, transport);
    const mangled = reply.mangle === undefined ? message : reply.mangle(message);
    return mangled === undefined ? [] : Buffer.isBuffer(mangled) ? [mangled] : mangled;
  };
  udp.on("message", (question, from) => {
    for (const message of respond(question, "udp")) udp.send(message, from.port, from.address);
  });
  await new Promise<void>((resolve, reject) => {
    udp.once("error", reject).bind(port, "127.0.0.1", () => {
      resolve();
    });
  });
  return server;
}

const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);
const u32 = (value: number): Buffer => Buffer.concat([u16(Math.floor(value / 65_536)), u16(value % 65_536)]);
const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, "latin1")]);
const encodeName = (name: string): Buffer =>
  Buffer.concat([
    ...name
      .split(".")
      .filter((label) => label !== "")
      .map(text),
    Buffer.from([0]),
  ]);

function nameIn(question: Buffer): string {
  const labels: string[] = [];
  let at = 12;
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  return labels.join(".");
}

const record = (owner: Buffer, type: number, ttl_s: number, data: Buffer): Buffer =>
  Buffer.concat([owner, u16(type), u16(1), u32(ttl_s), u16(data.length), data]);
/** A compression pointer to the question's name. */
const ASKED = Buffer.from([0xc0, 12]);

function encode(question: Buffer, name: string, reply: DnsReply, transport: "udp" | "tcp"): Buffer {
  const aliases = reply.aliases ?? [];
  const owner = aliases.length === 0 ? ASKED : encodeName(aliases.at(-1) ?? "");
  const answers = [
    ...aliases.map((alias, i) => record(i === 0 ? ASKED : encodeName(aliases[i - 1] ?? ""), 5, 300, encodeName(alias))),
    ...(reply.addresses ?? []).map((address) =>
      record(owner, 1, 0, Buffer.from(address.split(".").map((part) => Number(part)))),
    ),
    ...(reply.naptr ?? []).map((naptr) =>
      record(
        owner,
        35,
        naptr.ttl_s ?? 60,
        Buffer.concat([
          u16(naptr.order ?? 100),
          u16(naptr.preference ?? 10),
          text(naptr.flags ?? "U"),
          text(naptr.service ?? "Meta:SMP"),
          text(naptr.regexp),
          encodeName(naptr.replacement ?? ""),
        ]),
      ),
    ),
  ];
  const authorities =
    reply.soa === undefined
      ? []
      : [
          record(
            ASKED,
            6,
            reply.soa.ttl_s,
            Buffer.concat([
              encodeName("ns"),
              encodeName("admin"),
              u32(1),
              u32(1),
              u32(1),
              u32(1),
              u32(reply.soa.minimum_s),
            ]),
          ),
        ];
  const flags = 0x8180 | (reply.rcode ?? 0) | (reply.truncated === true && transport === "udp" ? 0x0200 : 0);
  const end = 12 + encodeName(name).length + 4;
  return Buffer.concat([
    question.subarray(0, 2),
    u16(flags),
    u16(1),
    u16(answers.length),
    u16(authorities.length),
    u16(0),
    question.subarray(12, end),
    ...answers,
    ...authorities,
  ]);
}
