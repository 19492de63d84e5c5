/** An ERP's round through the Connector: create, wait by webhook, show, fetch, acknowledge, respond. See README.md. */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";

type Json = Record<string, unknown>;
type ConnectorEvent = { readonly type: string; readonly documentId: string };

const setting = (name: string, otherwise?: string): string => {
  const value = process.env[name] ?? otherwise;
  if (value === undefined) throw new Error(`set ${name}`);
  return value;
};
const base = setting("KURIER_URL");
const customerRef = setting("CUSTOMER_REF");
const TOLERANCE_S = 300;
const FINAL = ["document.delivered", "document.failed", "document.needs_attention"];

async function call(method: string, path: string, body?: Json, headers: Record<string, string> = {}) {
  const json = body === undefined ? {} : { "content-type": "application/json" };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(base + path, { method, headers: { ...json, ...headers }, ...sent });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text;
}
const asJson = (text: string): Json => JSON.parse(text) as Json;

/** The key is the same for every try to create one document. */
function idempotencyKey(externalId: string): string {
  const hash = createHash("sha256");
  for (const part of [customerRef, externalId].map((text) => Buffer.from(text.trim(), "utf8"))) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    hash.update(length).update(part);
  }
  return `connector:v1:${hash.digest("hex")}`;
}

const bodyOf = async (request: IncomingMessage): Promise<Buffer> =>
  Buffer.concat((await request.toArray()) as readonly Buffer[]);

/** Signed are the timestamp, a dot and the exact bytes; an old timestamp is a repeated message. */
function isGenuine(request: IncomingMessage, body: Buffer, secret: string): boolean {
  const timestamp = String(request.headers["x-webhook-timestamp"]);
  const mac = createHmac("sha256", secret).update(`${timestamp}.`).update(body).digest("hex");
  const [expected, given] = [Buffer.from(`sha256=${mac}`), Buffer.from(String(request.headers["x-webhook-signature"]))];
  const isFresh = Math.abs(Date.now() / 1000 - Number(timestamp)) <= TOLERANCE_S;
  return isFresh && expected.length === given.length && timingSafeEqual(expected, given);
}

const [client_id, client_secret] = [setting("KURIER_CLIENT_ID"), setting("KURIER_CLIENT_SECRET")];
const login = { grant_type: "client_credentials", client_id, client_secret };
const token = asJson(await call("POST", "/auth/token", login))["access_token"] as string;
const auth = { authorization: `Bearer ${token}` };
const query = `customerRef=${encodeURIComponent(customerRef)}`;

const put = asJson(await call("PUT", "/connector/webhook", { url: setting("WEBHOOK_URL") }, auth));
const secret = (put["secret"] ??
  asJson(await call("POST", "/connector/webhook/rotate-secret", undefined, auth))["secret"]) as string;

const seen = new Map<string, ConnectorEvent>();
const server = createServer((request, response) => {
  void bodyOf(request).then((body) => {
    const isOurs = isGenuine(request, body, secret);
    if (isOurs) seen.set(String(request.headers["x-webhook-event-id"]), JSON.parse(body.toString()) as ConnectorEvent);
    response.writeHead(isOurs ? 200 : 401).end();
  });
}).listen(Number(setting("WEBHOOK_PORT", "8090")));

const externalId = `demo-${Date.now()}`;
const days = (count: number): string => new Date(Date.now() + count * 86_400_000).toISOString().slice(0, 10);
const recipient = { country: "SK", name: "Prijemca, a. s.", taxId: setting("RECIPIENT_DIC") };
const lines = [{ description: "Papier A4", quantity: 3, unit: "ks", unitPrice: "23.90", vatRate: 23 }];
const invoice = {
  customerRef,
  externalId,
  number: externalId,
  issueDate: days(0),
  dueDate: days(14),
  recipient,
  lines,
};
const key = { ...auth, "idempotency-key": idempotencyKey(externalId) };
const created = asJson(await call("POST", "/connector/documents", invoice, key));
const final = (): boolean => [...seen.values()].some((e) => e.documentId === created["id"] && FINAL.includes(e.type));
while (!final()) await new Promise((resolve) => setTimeout(resolve, 200));
console.log("sent:", await call("GET", `/connector/documents/${String(created["id"])}?${query}`, undefined, auth));

const received = asJson(
  await call("GET", `/connector/documents?${query}&direction=inbound&state=received`, undefined, auth),
);
for (const { id, number } of received["documents"] as readonly { id: string; number: string }[]) {
  const ubl = await call("GET", `/connector/documents/${id}/ubl?${query}`, undefined, auth);
  await call("POST", `/connector/documents/${id}/acknowledge?${query}`, { reference: `erp-${number}` }, auth);
  await call("POST", `/connector/documents/${id}/respond?${query}`, { status: "accepted" }, auth);
  console.log("received:", number, ubl.length, "characters of UBL; acknowledged and accepted");
}
server.close();
