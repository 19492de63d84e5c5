/**
 * Evidence in an S3 bucket with object lock: every object is put with a retention in compliance mode, so that not even
 * the bucket's owner removes it early. Signature version 4 by hand: one method, one header set, no SDK.
 * @source AWS Signature Version 4; S3 PutObject, GetObject, DeleteObject
 */
import { createHash, createHmac } from "node:crypto";

import type { Clock } from "../../base/clock.js";
import { LIMITS } from "../../base/limits.js";
import { sha256Hex } from "./record.js";
import { assertRemovable, digestOf, EvidenceMissing, EvidenceStoreFailure, retainedUntil } from "./store.js";
import type { EvidenceRef, EvidenceStore } from "./store.js";

interface S3Target {
  /** `https://s3.eu-central-1.amazonaws.com`, or any other S3-compatible service. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Before every key, without slashes around it; may be empty. */
  readonly prefix: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/**
 * Reads `s3:https://KEY:SECRET@HOST/BUCKET/PREFIX?region=REGION`; undefined for anything else. Key and secret are
 * percent-encoded where they must be.
 */
export function parseS3Target(text: string): S3Target | undefined {
  const rest = text.startsWith("s3:") ? text.slice(3) : "";
  if (!URL.canParse(rest)) return undefined;
  const url = new URL(rest);
  const [bucket = "", ...prefix] = url.pathname.split("/").filter((part) => part !== "");
  if (!/^https?:$/.test(url.protocol) || bucket === "" || url.username === "" || url.password === "") return undefined;
  return {
    endpoint: `${url.protocol}//${url.host}`,
    bucket,
    prefix: prefix.join("/"),
    region: url.searchParams.get("region") ?? "us-east-1",
    accessKeyId: decodeURIComponent(url.username),
    secretAccessKey: decodeURIComponent(url.password),
  };
}

const hmac = (key: Uint8Array | string, text: string): Buffer => createHmac("sha256", key).update(text).digest();

interface Signable {
  readonly method: string;
  /** Absolute, each segment encoded. */
  readonly path: string;
  /** `name=value`, both encoded; at most one. @default none */
  readonly query?: string;
  /** By lower-case name, `host` included. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bodySha256: string;
  /** `20261120T103000Z` */
  readonly timestamp: string;
}

/** The Authorization header of Signature Version 4. Exported for the test's server, which checks it. */
function signV4(request: Signable, target: Pick<S3Target, "region" | "accessKeyId" | "secretAccessKey">): string {
  const names = Object.keys(request.headers).sort();
  const canonical = [
    request.method,
    request.path,
    request.query ?? "",
    ...names.map((name) => `${name}:${(request.headers[name] ?? "").trim()}`),
    "",
    names.join(";"),
    request.bodySha256,
  ].join("\n");
  const day = request.timestamp.slice(0, 8);
  const scope = `${day}/${target.region}/s3/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", request.timestamp, scope, sha256Hex(canonical)].join("\n");
  const key = hmac(hmac(hmac(hmac(`AWS4${target.secretAccessKey}`, day), target.region), "s3"), "aws4_request");
  return `AWS4-HMAC-SHA256 Credential=${target.accessKeyId}/${scope}, SignedHeaders=${names.join(";")}, Signature=${hmac(key, text).toString("hex")}`;
}

const EMPTY = Buffer.alloc(0);

/** Opens a bucket. Nothing is asked of it before the first object. */
export function openS3Evidence(target: S3Target, clock: Clock): EvidenceStore {
  const host = new URL(target.endpoint).host;
  const keyOf = (ref: EvidenceRef): string => (digestOf(ref), target.prefix === "" ? ref : `${target.prefix}/${ref}`);
  const pathOf = (ref: EvidenceRef): string =>
    `/${[target.bucket, ...keyOf(ref).split("/")].map(encodeURIComponent).join("/")}`;

  async function call(
    method: string,
    ref: EvidenceRef,
    headers: Readonly<Record<string, string>>,
    { body = EMPTY, query = "" }: { readonly body?: Buffer; readonly query?: string } = {},
  ): Promise<Response> {
    const timestamp = new Date(clock.now()).toISOString().replace(/[-:]|\.\d{3}/g, "");
    const bodySha256 = sha256Hex(body);
    const signed = { ...headers, host, "x-amz-date": timestamp, "x-amz-content-sha256": bodySha256 };
    const authorization = signV4({ method, path: pathOf(ref), query, headers: signed, bodySha256, timestamp }, target);
    const { host: _host, ...sent } = signed;
    try {
      return await fetch(`${target.endpoint}${pathOf(ref)}${query === "" ? "" : `?${query}`}`, {
        method,
        headers: { ...sent, authorization },
        redirect: "manual",
        signal: AbortSignal.timeout(LIMITS.evidence_store_timeout_ms),
        ...(method === "PUT" ? { body: new Uint8Array(body) } : {}),
      });
    } catch {
      throw new EvidenceStoreFailure("The evidence bucket does not answer.");
    }
  }

  async function expectOk(response: Response, what: string): Promise<void> {
    if (response.ok) return;
    const begin = await beginOf(response);
    // A bucket that is not there is a mistake of the configuration, not the loss of every object.
    if (response.status === MISSING && what === "read" && !begin.includes("NoSuchBucket"))
      throw new EvidenceMissing("An evidence object is missing.");
    throw new EvidenceStoreFailure(
      `The evidence bucket ${begin.includes("NoSuchBucket") ? "does not exist" : `refused to ${what}`}: HTTP ${response.status}.`,
      `HTTP ${response.status}`,
    );
  }

  async function get(ref: EvidenceRef, range?: { readonly offset: number; readonly length: number }): Promise<Buffer> {
    const headers = range === undefined ? {} : { range: `bytes=${range.offset}-${range.offset + range.length - 1}` };
    const response = await call("GET", ref, headers);
    await expectOk(response, "read");
    if (range === undefined) {
      const whole = await octetsOf(response, 0, LIMITS.evidence_bytes_max + 1);
      if (whole.length > LIMITS.evidence_bytes_max)
        throw new EvidenceStoreFailure("The evidence bucket answers with more than is ever stored at once.");
      return whole;
    }
    // A service without ranges answers with the whole object.
    const from = response.status === PARTIAL ? 0 : range.offset;
    return octetsOf(response, from, from + range.length);
  }

  /** @returns the status, after which the answer is done with */
  async function store(ref: EvidenceRef, bytes: Buffer): Promise<number> {
    const response = await call(
      "PUT",
      ref,
      {
        "content-type": "application/x-tar",
        "content-md5": createHash("md5").update(bytes).digest("base64"),
        "if-none-match": "*",
        "x-amz-object-lock-mode": "COMPLIANCE",
        "x-amz-object-lock-retain-until-date": new Date(retainedUntil(ref)).toISOString(),
      },
      { body: bytes },
    );
    if (response.status === EXISTS || response.status === CONFLICT) {
      await response.body?.cancel();
      return response.status;
    }
    await expectOk(response, "store");
    // Whoever stores has nothing to say: a page or an error under 200 is a proxy's, and nothing lies anywhere.
    if ((await octetsOf(response, 0, 1)).length > 0)
      throw new EvidenceStoreFailure("The evidence bucket answers as no bucket does: with a text to what is stored.");
    return response.status;
  }

  return {
    form: "s3",
    get,
    put: async (ref, bytes) => {
      let status = await store(ref, bytes);
      for (let i = 1; status === CONFLICT && i < LIMITS.evidence_conflicts_max; i += 1)
        status = await store(ref, bytes);
      if (status === CONFLICT) throw new EvidenceStoreFailure("The evidence bucket is busy with this object.");
      // Somebody stored it before, perhaps this call's first try: it counts when it is the same.
      if (status === EXISTS && sha256Hex(await get(ref)) !== digestOf(ref))
        throw new EvidenceStoreFailure("Evidence of this digest is stored with other content.");
    },
    remove: async (ref, now) => {
      assertRemovable(ref, now);
      // Object lock needs versions, and there a DELETE that names none only hides the object: its bytes stay for ever.
      for (let i = 0; i < LIMITS.evidence_versions_max; i += 1) {
        const head = await call("HEAD", ref, {});
        await head.body?.cancel();
        if (head.status === MISSING) return;
        await expectOk(head, "show");
        const version = head.headers.get("x-amz-version-id");
        const response = await call(
          "DELETE",
          ref,
          {},
          { query: version === null ? "" : `versionId=${encodeURIComponent(version)}` },
        );
        if (response.status !== MISSING) await expectOk(response, "remove");
        await response.body?.cancel();
        if (version === null) return;
      }
    },
  };
}

/** Octets of a body, of which no more than those is read: a service that never ends is left. */
async function octetsOf({ body }: Response, from: number, to: number): Promise<Buffer> {
  // Bounded by `to`, and a piece more.
  const pieces: Uint8Array[] = [];
  const reader = body?.getReader();
  try {
    for (let length = 0; length < to;) {
      const next: { readonly value?: Uint8Array } | undefined = await reader?.read();
      if (next?.value === undefined) break;
      pieces.push(next.value);
      length += next.value.length;
    }
    await reader?.cancel();
    return Buffer.concat(pieces).subarray(from, to);
  } catch {
    throw new EvidenceStoreFailure("The evidence bucket broke off.");
  }
}

/** The first piece of a body, which holds the code of an error. */
async function beginOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  try {
    const first: { readonly value?: Uint8Array } | undefined = await reader?.read();
    await reader?.cancel();
    return Buffer.from(first?.value ?? EMPTY).toString("latin1");
  } catch {
    return "";
  }
}

const PARTIAL = 206;
const MISSING = 404;
/** Another PUT of the same key is under way: the service wants it repeated. */
const CONFLICT = 409;
/** If-None-Match: there is an object already. */
const EXISTS = 412;
