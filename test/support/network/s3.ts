/**
 * A small imitation of an S3 bucket with object lock, over real HTTP: checks Signature Version 4 by its own arithmetic,
 * Content-MD5, If-None-Match and the retention; serves ranges. Its faults are switched on by tests.
 */
import { createHash, createHmac, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";

import { listening } from "./listening.js";

export interface S3Imitation {
  /** Value of EVIDENCE_STORE. */
  readonly target: string;
  readonly objects: Map<string, { bytes: Buffer; retainUntil: number; version: string }>;
  /** Keys that a DELETE without a version has hidden; their bytes are there still. */
  readonly hidden: Set<string>;
  /** Answers the next so many PUTs with 409: another one is under way. */
  conflicts: number;
  /** Answers the next so many requests with 503. */
  failing: number;
  /** Answers every request in this way, as what stands before a bucket may. @default by the bucket */
  instead: ((response: ServerResponse) => void) | undefined;
  /** Answers what was refused and why. */
  readonly refusals: string[];
  stop(): Promise<void>;
}

const ACCESS_KEY = "TESTACCESSKEY";
const SECRET_KEY = "test/secret+key";
const REGION = "eu-central-1";

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
const hash = (bytes: Buffer | string): string => createHash("sha256").update(bytes).digest("hex");

/** Why a request's signature is refused; undefined when it holds. */
function signatureFault(request: IncomingMessage, body: Buffer): string | undefined {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? "",
    );
  const [, key, day, region, names = "", signature] = match ?? [];
  if (key !== ACCESS_KEY || region !== REGION) return "credential";
  const date = String(request.headers["x-amz-date"]);
  if (!date.startsWith(day ?? "-")) return "date";
  if (request.headers["x-amz-content-sha256"] !== hash(body)) return "body digest";
  const signed = names.split(";");
  if (!["host", "x-amz-date", "x-amz-content-sha256"].every((name) => signed.includes(name)))
    return "headers left unsigned";
  if (Object.keys(request.headers).some((name) => name.startsWith("x-amz-") && !signed.includes(name)))
    return "an x-amz header left unsigned";
  const [path = "", query = ""] = (request.url ?? "").split("?");
  const canonical = `${request.method}\n${path}\n${query}\n${signed.map((name) => `${name}:${String(request.headers[name])}\n`).join("")}\n${names}\n${hash(body)}`;
  const text = `AWS4-HMAC-SHA256\n${date}\n${day}/${region}/s3/aws4_request\n${hash(canonical)}`;
  const derived = hmac(hmac(hmac(hmac(`AWS4${SECRET_KEY}`, day ?? ""), region), "s3"), "aws4_request");
  return hmac(derived, text).toString("hex") === signature ? undefined : "signature";
}

export async function startS3(bucket = "evidence"): Promise<S3Imitation> {
  const objects: S3Imitation["objects"] = new Map();
  const hidden = new Set<string>();
  const refusals: string[] = [];

  const answer = (
    imitation: Pick<S3Imitation, "failing" | "conflicts" | "instead">,
    request: IncomingMessage,
    response: ServerResponse,
    body: Buffer,
  ): void => {
    const end = (status: number, bytes: Buffer | string = "", headers: Record<string, string> = {}): void => {
      response.writeHead(status, headers).end(bytes);
    };
    if (imitation.instead !== undefined) {
      imitation.instead(response);
      return;
    }
    if (imitation.failing > 0) {
      imitation.failing -= 1;
      end(503);
      return;
    }
    const fault = signatureFault(request, body);
    if (fault !== undefined) {
      refusals.push(fault);
      end(403);
      return;
    }
    const [path = "", query = ""] = (request.url ?? "").split("?");
    if (!path.startsWith(`/${bucket}/`)) {
      end(404, "<Error><Code>NoSuchBucket</Code></Error>");
      return;
    }
    const key = decodeURIComponent(path.replace(`/${bucket}/`, ""));
    const stored = hidden.has(key) ? undefined : objects.get(key);
    if (request.method === "PUT") {
      if (
        request.headers["content-md5"] !== createHash("md5").update(body).digest("base64") ||
        request.headers["x-amz-object-lock-mode"] !== "COMPLIANCE"
      )
        end(400);
      else if (imitation.conflicts > 0) {
        imitation.conflicts -= 1;
        end(409);
      } else if (stored !== undefined && request.headers["if-none-match"] === "*") end(412);
      else {
        objects.set(key, {
          bytes: body,
          retainUntil: Date.parse(String(request.headers["x-amz-object-lock-retain-until-date"])),
          version: randomUUID(),
        });
        end(200);
      }
    } else if (stored === undefined) end(404);
    else if (request.method === "DELETE") {
      if (query === `versionId=${stored.version}`) objects.delete(key);
      else hidden.add(key);
      end(204);
    } else if (request.method === "HEAD") end(200, "", { "x-amz-version-id": stored.version });
    else {
      const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? "") ?? [];
      if (from === undefined || to === undefined) end(200, stored.bytes);
      else end(206, stored.bytes.subarray(Number(from), Number(to) + 1));
    }
  };

  const imitation: Pick<S3Imitation, "failing" | "conflicts" | "instead"> = {
    failing: 0,
    conflicts: 0,
    instead: undefined,
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on("data", (chunk: Buffer) => chunks.push(chunk))
      .on("end", () => {
        answer(imitation, request, response, Buffer.concat(chunks));
      });
  });
  const { port, close } = await listening(server);
  return Object.assign(imitation, {
    target: `s3:http://${ACCESS_KEY}:${encodeURIComponent(SECRET_KEY)}@127.0.0.1:${port}/${bucket}/kurier?region=${REGION}`,
    objects,
    hidden,
    refusals,
    stop: close,
  });
}
