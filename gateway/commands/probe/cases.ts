/** The cases of a probe: what is sent, and what must come of it. */
import { gzipSync } from "node:zlib";

import { LIMITS } from "../../../engine/base/limits.js";
import * as expect from "./expectations.js";
import type { Expectation } from "./expectations.js";
import { ambiguousHeads, BROKEN_OFF, LAX_CHUNKS, OVERSIZED_HEADS } from "./framing.js";
import type { Sending, Target } from "./wire.js";

export interface ProbeCase {
  readonly group: string;
  readonly name: string;
  readonly sending: Sending;
  readonly expectation: Expectation;
  /** Waits for the end of the other side's patience, not for its answer. */
  readonly isSlow?: true;
}

type Row = readonly [name: string, sending: Sending, expectation: Expectation];

const LOGIN = "/sapi/v1/auth/token";
const CALL = "/api/v1/documents/outbox";
const PUBLIC = "/.well-known/jwks.json";
const VALIDATE = "/api/validate";
const JSON_BODY = "Content-Type: application/json\r\n";
const SOAP = "http://www.w3.org/2003/05/soap-envelope";

/** How requests for one installation are written. */
class Requests {
  readonly host: string;

  constructor({ authority }: Target) {
    this.host = `Host: ${authority}\r\n`;
  }

  /** The beginning of a request, up to headers of the case. */
  begin(line: string): string {
    return `${line} HTTP/1.1\r\n${this.host}`;
  }

  get(path: string, headers = ""): Sending {
    return { octets: `${this.begin(`GET ${path}`)}Connection: close\r\n${headers}\r\n` };
  }

  /** A request with a body of the length that it says. */
  whole(line: string, headers: string, body: string | Buffer = ""): Sending {
    const head = `${this.begin(line)}Connection: close\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    return { octets: Buffer.concat([Buffer.from(head), Buffer.from(body)]) };
  }

  login(body: string | Buffer): Sending {
    return this.whole(`POST ${LOGIN}`, JSON_BODY, body);
  }

  as4(body: string): Sending {
    return this.whole("POST /as4", "Content-Type: application/soap+xml\r\n", body);
  }

  document(body: string | Buffer, headers = ""): Sending {
    return this.whole(`POST ${VALIDATE}`, `Content-Type: application/xml\r\n${headers}`, body);
  }
}

/** Requests with two meanings, each with another request behind it. */
function framing(requests: Requests, { authority }: Target): readonly Row[] {
  const behind = `${requests.begin(`GET ${PUBLIC}`)}Connection: close\r\n\r\n`;
  const login = requests.begin(`POST ${LOGIN}`);
  return [
    ...LAX_CHUNKS.map(([name, body]): Row => {
      const octets = `${login}${JSON_BODY}Transfer-Encoding: chunked\r\n\r\n${body}${behind}`;
      return [`a body in chunks with ${name}`, { octets, halfClose: true }, expect.ONE_ANSWER];
    }),
    ...ambiguousHeads(authority).map(([name, headers]): Row => {
      const octets = `POST ${LOGIN} HTTP/1.1\r\n${headers}\r\n${behind}`;
      return [`a request with ${name}`, { octets }, expect.REFUSED];
    }),
    ...BROKEN_OFF.map(([name, text]): Row => {
      const octets = `${login}${JSON_BODY}${text}`;
      return [`a body that breaks off: ${name}`, { octets, halfClose: true }, expect.NOT_SERVED];
    }),
  ];
}

const heads = (requests: Requests): readonly Row[] => [
  ...OVERSIZED_HEADS.map(([name, headers]): Row => [
    `a head of too ${name}`,
    requests.get(PUBLIC, headers),
    expect.REFUSED,
  ]),
  ["a version of HTTP that is none", { octets: `GET / HTTP/9.9\r\n${requests.host}\r\n` }, expect.REFUSED],
  ["octets that are no HTTP", { octets: "\u0016\u0003\u0001\u0002\u0000\r\n\r\n" }, expect.REFUSED],
  ["a line break in an address", requests.get("/sign-in?next=%0d%0aX-Probe:%201"), expect.NO_HEADER],
];

const methodsAndPaths = (requests: Requests): readonly Row[] => [
  ["TRACE", requests.whole(`TRACE ${PUBLIC}`, ""), expect.NO_SUCCESS],
  ["a method that does not exist", requests.whole(`BREW ${LOGIN}`, ""), expect.REFUSED],
  ["a path out of its folder", requests.get("/docs/..%2f..%2fpackage.json"), expect.NO_SUCCESS],
  ["a path with dots as they are", requests.get("/docs/../../../../etc/passwd"), expect.NO_SUCCESS],
  ["a path with NUL", requests.get("/docs/%00"), expect.NO_SUCCESS],
  [
    "the question of another site's browser",
    requests.whole(`OPTIONS ${CALL}`, "Origin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\n"),
    expect.NO_PERMISSION,
  ],
  ["the metrics of operators", requests.get("/metrics"), expect.NOT_THERE],
  ["the operations of operators", requests.get("/admin/heartbeat"), expect.NOT_THERE],
  ["the console of operators", requests.get("/console"), expect.NOT_THERE],
];

/** Tokens that nobody has made for this engine. */
function tokens(requests: Requests): readonly Row[] {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = part({ iss: "kurier", sub: "admin", scope: "documents:read", exp: 4_102_444_800 });
  const bearer = (token: string): Sending => requests.get(CALL, `Authorization: Bearer ${token}\r\n`);
  const unsigned = `${part({ alg: "none", typ: "at+jwt" })}.${claims}.`;
  const zeros = `${part({ alg: "RS256", typ: "at+jwt" })}.${claims}.${"A".repeat(LIMITS.probe_signature_chars)}`;
  return [
    ["no token", requests.get(CALL), expect.UNAUTHORIZED],
    ["a token that is none", bearer("kurier"), expect.UNAUTHORIZED],
    ["a token that asks for no signature", bearer(unsigned), expect.UNAUTHORIZED],
    ["a token with a signature of zeros", bearer(zeros), expect.UNAUTHORIZED],
    ["a token of a megabyte", bearer("a".repeat(LIMITS.probe_long_token_chars)), expect.REFUSED],
  ];
}

function bodies(requests: Requests): readonly Row[] {
  const login = (secret: string): string =>
    JSON.stringify({ grant_type: "client_credentials", client_id: "kurier-probe", client_secret: secret });
  const twice = login("x").replace("{", '{"grant_type":"client_credentials",');
  const noText = Buffer.concat([Buffer.from('{"client_id":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
  const announced = `${requests.begin(`POST ${LOGIN}`)}${JSON_BODY}Content-Length: 100000000\r\n\r\n{`;
  const bomb = gzipSync(Buffer.alloc(LIMITS.probe_bomb_bytes));
  return [
    ["a login of nobody", requests.login(login("kurier-probe")), expect.NO_SUCCESS],
    ["a login in SQL", requests.login(login("' or 1=1 --")), expect.NO_SUCCESS],
    ["a member that comes twice", requests.login(twice), expect.NO_SUCCESS],
    ["a hundred thousand levels", requests.login("[".repeat(LIMITS.probe_levels)), expect.NO_SUCCESS],
    ["octets that are no UTF-8", requests.login(noText), expect.NO_SUCCESS],
    ["a length of 100 MB", { octets: announced }, expect.REFUSED],
    ["a body that unpacks to 64 MB", requests.document(bomb, "Content-Encoding: gzip\r\n"), expect.NO_SUCCESS],
  ];
}

/** Declarations that define the entity `x8`. */
function doctypes(): readonly (readonly [name: string, doctype: string])[] {
  const tenfold = (n: number): string => `<!ENTITY x${n} "${`&x${n - 1};`.repeat(10)}">`;
  const levels = Array.from({ length: 8 }, (_, n) => tenfold(n + 1)).join("");
  return [
    ["entities that unpack to gigabytes", `<!DOCTYPE a [<!ENTITY x0 "lollol">${levels}]>`],
    ["an entity that names a file", `<!DOCTYPE a [<!ENTITY x8 SYSTEM "file:///etc/passwd">]>`],
    ["an entity that names an address", `<!DOCTYPE a [<!ENTITY x8 SYSTEM "http://127.0.0.1:9/">]>`],
  ];
}

function xml(requests: Requests): readonly Row[] {
  const envelope = (body: string): string => `<S:Envelope xmlns:S="${SOAP}"><S:Body>${body}</S:Body></S:Envelope>`;
  const deep = "<a>".repeat(LIMITS.probe_xml_levels);
  return [
    ...doctypes().flatMap(([name, doctype]): readonly Row[] => [
      [`at /as4: ${name}`, requests.as4(doctype + envelope("&x8;")), expect.NO_RECEIPT],
      [`at ${VALIDATE}: ${name}`, requests.document(`${doctype}<Invoice>&x8;</Invoice>`), expect.JUDGED_INVALID],
    ]),
    ["at /as4: a message that nobody has signed", requests.as4(envelope("")), expect.NO_RECEIPT],
    ["at /as4: elements in elements, 50,000 deep", requests.as4(deep), expect.NO_RECEIPT],
    [`at ${VALIDATE}: elements in elements, 50,000 deep`, requests.document(deep), expect.JUDGED_INVALID],
  ];
}

/** Who sends an octet now and then, as long as he may. */
function slowness(requests: Requests): readonly Row[] {
  const trickle = "a".repeat(LIMITS.probe_trickle_octets);
  const body = `${requests.begin(`POST ${LOGIN}`)}${JSON_BODY}Content-Length: 100000\r\n\r\n`;
  return [
    ["a head that comes octet by octet", { octets: `${requests.begin("GET /")}X-A: `, trickle }, expect.ENDED],
    ["a body that comes octet by octet", { octets: body, trickle }, expect.ENDED],
  ];
}

/** The cases for an installation, in the order in which they are told. */
export function probeCases(target: Target): readonly ProbeCase[] {
  const requests = new Requests(target);
  const groups: Readonly<Record<string, readonly Row[]>> = {
    framing: framing(requests, target),
    heads: heads(requests),
    "methods and paths": methodsAndPaths(requests),
    tokens: tokens(requests),
    bodies: bodies(requests),
    XML: xml(requests),
    time: slowness(requests),
  };
  return Object.entries(groups).flatMap(([group, rows]) =>
    rows.map(([name, sending, expectation]) => ({
      ...{ group, name, sending, expectation },
      ...(group === "time" ? { isSlow: true as const } : {}),
    })),
  );
}
