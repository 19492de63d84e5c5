/**
 * Asks DNS servers for NAPTR records: over UDP with a random id from a random port, over TCP when the answer does not
 * fit; every server a bounded number of times, every question with a timeout.
 */
import { createSocket } from "node:dgram";
import { getServers } from "node:dns";
import { connect, isIPv6 } from "node:net";
import { randomInt } from "node:crypto";

import { formatAddress, parseAddress } from "../../base/addresses.js";
import { LIMITS } from "../../base/limits.js";
import { naptrQuestion, RCODE, readNaptrAnswer } from "./dns-message.js";
import type { DnsAnswer, Naptr } from "./dns-message.js";

export type { Naptr } from "./dns-message.js";

/** The records of a name, the proof that there are none, or why nobody could say. */
export type NaptrResult =
  | { readonly kind: "records"; readonly records: readonly Naptr[]; readonly ttl_s: number | undefined }
  /** NXDOMAIN, or a name without such records. */
  | { readonly kind: "none"; readonly ttl_s: number | undefined }
  /** No server gave a usable answer; `code` of the last one. */
  | { readonly kind: "failed"; readonly code: DnsFailure };

/** Every reason why DNS servers gave no usable answer. */
export const DNS_FAILURES = ["NO_SERVER", "BAD_NAME", "TIMEOUT", "NETWORK", "SERVFAIL", "RCODE", "GARBAGE"] as const;
/** Why a DNS server gave no usable answer. */
export type DnsFailure = (typeof DNS_FAILURES)[number];

/** Finds the NAPTR records of a name. Never throws. */
export type ResolveNaptr = (name: string) => Promise<NaptrResult>;

/** A DNS server by its address. */
export interface DnsServer {
  readonly host: string;
  readonly port: number;
}

interface DnsOptions {
  /** @default the system's servers, read again for every question */
  readonly servers?: readonly DnsServer[];
  readonly timeout_ms?: number;
}

const DNS_PORT = 53;

/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`; undefined for anything else. */
export function parseDnsServer(text: string): DnsServer | undefined {
  const [, bracketed, bracketedPort, plain, plainPort] =
    /^(?:\[([^\]]+)\](?::([0-9]{1,5}))?|([0-9.]+)(?::([0-9]{1,5}))?)$/.exec(text) ?? [
      undefined,
      undefined,
      undefined,
      text,
    ];
  const address = parseAddress(bracketed ?? plain ?? "");
  const port = Number(bracketedPort ?? plainPort ?? DNS_PORT);
  return address === undefined || port < 1 || port > 65_535 ? undefined : { host: formatAddress(address), port };
}

/** Makes a resolver for NAPTR records, which node's own gives without their time to live. */
export function createResolveNaptr(options: DnsOptions = {}): ResolveNaptr {
  const timeout_ms = options.timeout_ms ?? LIMITS.dns_timeout_ms;
  return async (name) => {
    const servers = (options.servers ?? getServers().flatMap((text) => parseDnsServer(text) ?? [])).slice(
      0,
      LIMITS.dns_servers_max,
    );
    let code: DnsFailure = "NO_SERVER";
    for (let attempt = 0; attempt < LIMITS.dns_attempts; attempt += 1) {
      for (const server of servers) {
        const answer = await ask(server, name, timeout_ms);
        if (typeof answer !== "string") return answer;
        if (answer === "BAD_NAME") return { kind: "failed", code: answer };
        code = answer;
      }
    }
    return { kind: "failed", code };
  };
}

async function ask(server: DnsServer, name: string, timeout_ms: number): Promise<NaptrResult | DnsFailure> {
  const id = randomInt(65_536);
  let question: Buffer;
  try {
    question = naptrQuestion(id, name);
  } catch {
    return "BAD_NAME";
  }
  const read = (message: Buffer): DnsAnswer | undefined => {
    const answer = readNaptrAnswer(message, id, name);
    return answer.kind === "answer" ? answer : undefined;
  };
  let answer = await overUdp(server, question, timeout_ms, read);
  if (typeof answer !== "string" && answer.truncated) answer = await overTcp(server, question, timeout_ms, read);
  return typeof answer === "string" ? answer : meaningOf(answer);
}

function meaningOf({ rcode, naptr, ttl_s, truncated }: DnsAnswer): NaptrResult | DnsFailure {
  if (truncated) return "GARBAGE";
  if (rcode === RCODE.noSuchName) return { kind: "none", ttl_s };
  if (rcode === RCODE.serverFailure) return "SERVFAIL";
  if (rcode !== RCODE.noError) return "RCODE";
  return naptr.length === 0 ? { kind: "none", ttl_s } : { kind: "records", records: naptr, ttl_s };
}

type Read = (message: Buffer) => DnsAnswer | undefined;

/**
 * Anybody can send a datagram, so that one which does not answer this question is passed over: the right one may still
 * come.
 */
function overUdp(server: DnsServer, question: Buffer, timeout_ms: number, read: Read): Promise<DnsAnswer | DnsFailure> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(server.host) ? "udp6" : "udp4");
    let sawGarbage = false;
    const end = (result: DnsAnswer | DnsFailure): void => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on("error", () => undefined);
      socket.close();
      resolve(result);
    };
    const timer = setTimeout(() => {
      end(sawGarbage ? "GARBAGE" : "TIMEOUT");
    }, timeout_ms);
    socket.on("error", () => {
      end("NETWORK");
    });
    socket.on("message", (message) => {
      const answer = read(message);
      if (answer === undefined) sawGarbage = true;
      else end(answer);
    });
    // A connected socket takes datagrams of this server and port only.
    socket.connect(server.port, server.host, () => {
      socket.send(question, (error) => {
        if (error !== null) end("NETWORK");
      });
    });
  });
}

function overTcp(server: DnsServer, question: Buffer, timeout_ms: number, read: Read): Promise<DnsAnswer | DnsFailure> {
  return new Promise((resolve) => {
    const socket = connect(server.port, server.host);
    // Bounded by the answer's length, which is read first.
    const chunks: Buffer[] = [];
    let length = 0;
    const end = (result: DnsAnswer | DnsFailure): void => {
      clearTimeout(timer);
      socket.removeAllListeners();
      socket.on("error", () => undefined);
      socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => {
      end("TIMEOUT");
    }, timeout_ms);
    socket.on("error", () => {
      end("NETWORK");
    });
    socket.on("close", () => {
      end("NETWORK");
    });
    socket.on("connect", () => {
      const prefix = Buffer.alloc(2);
      prefix.writeUInt16BE(question.length);
      socket.write(Buffer.concat([prefix, question]));
    });
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length < 2) return;
      const received = Buffer.concat(chunks);
      const wanted = received.readUInt16BE(0);
      if (wanted > LIMITS.dns_answer_bytes_max) end("GARBAGE");
      else if (length >= wanted + 2) end(read(received.subarray(2, wanted + 2)) ?? "GARBAGE");
    });
  });
}
