/** The webhook of an account on a running engine, with a receiver on this machine, as tests of the Connector use it. */
import { createHmac, timingSafeEqual } from "node:crypto";

import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { api } from "./partners.js";
import { http } from "../engines/engine.js";
import type { HttpAnswer, TestEngine } from "../engines/engine.js";
import { eventually } from "../eventually.js";
import { startReceiver } from "../webhooks/receiver.js";
import type { ReceivedCall } from "../webhooks/receiver.js";

/**
 * Written from the documentation: HMAC-SHA256 over X-Webhook-Timestamp, a dot and the raw body, hex in lower case behind
 * "sha256=", accepted within 300 seconds and compared in constant time; the secret's letters are the key.
 */
export function isGenuine(call: ReceivedCall, secret: string, header = "x-webhook-signature"): boolean {
  const timestamp = call.headers["x-webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return false;
  const given = /^sha256=([0-9a-f]{64})$/.exec(call.headers[header] ?? "")?.[1] ?? "";
  const own = createHmac("sha256", Buffer.from(secret, "utf8"))
    .update(Buffer.concat([Buffer.from(`${timestamp}.`), call.body]))
    .digest();
  const other = Buffer.from(given, "hex");
  return own.length === other.length && timingSafeEqual(own, other);
}

/** Lets every wait between attempts end, as time does. */
export async function passTime({ db }: Pick<TestEngine, "db">): Promise<void> {
  await db.sql`update webhook_endpoint set rest_until = null`;
  await db.sql`update webhook_delivery set due_at = now()
    where lease_owner is null and due_at is not null and isfinite(due_at)`;
}

/** One delivery as its detail shows it. */
export interface ShownDelivery {
  readonly delivery: Record<string, unknown>;
  readonly payload: Record<string, unknown> | null;
  readonly rawBody: string | null;
  readonly rawBodySha256: string | null;
  readonly attemptHistoryComplete: boolean;
  readonly endpoint: string;
  readonly signature: Record<string, unknown>;
  readonly attempts: readonly Record<string, unknown>[];
}

/** Waits until a delivery has been attempted so often, or has ended where no number is named, and reads it then. */
export async function deliveryAfter(
  t: TestEngine,
  token: string,
  id: string,
  attempts?: number,
): Promise<ShownDelivery> {
  await eventually("the delivery is as wanted", async () => {
    if (attempts === undefined) await passTime(t);
    const [row] = await t.db.sql<{ readonly attempts: number; readonly isOver: boolean }[]>`
      select attempts, settled_at is not null as "isOver" from webhook_delivery where id = ${id}`;
    return attempts === undefined ? row?.isOver : (row?.attempts ?? 0) >= attempts;
  });
  const answer = await api(t, token, `GET /connector/webhook/deliveries/${id}`);
  if (answer.status !== 200) throw new Error(answer.text);
  return answer.json as unknown as ShownDelivery;
}

/** The id of a member, from an answer that has one. */
export const memberOf = (answer: HttpAnswer, name: string): string => {
  const value = answer.json[name];
  if (typeof value !== "string") throw new Error(`${answer.status} ${answer.text}`);
  return value;
};

/** What is pushed about one firm's documents from now on; each waits for it and holds that its signature is right. */
export interface Hearing {
  /** The Connector's events of a document, by their types. */
  told(type: string, documentId: string): Promise<ReceivedCall["json"]>;
  /** The arrival of the document of a number, which has an id of its own here. */
  received(number: string): Promise<ReceivedCall["json"]>;
  /** What the buyer answered: the Connector has no event for it, the Enterprise interface has. */
  answered(documentId: string): Promise<ReceivedCall["json"]>;
  /** The types of the Connector's events of a document, in the order in which they came. */
  types(documentId: string): readonly unknown[];
  close(): Promise<void>;
}

/** Points the account's webhook of the Connector, and one of a firm for answers, at a receiver on this machine. */
export async function hear(sandbox: Sandbox, token: string, firmId: string): Promise<Hearing> {
  const receiver = await startReceiver();
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const put = await http(
    "PUT",
    `${sandbox.baseUrl}/connector/webhook`,
    headers,
    JSON.stringify({ url: `${receiver.origin}/connector` }),
  );
  const post = await http(
    "POST",
    `${sandbox.baseUrl}/webhooks`,
    { ...headers, "x-firm-id": firmId },
    JSON.stringify({ url: `${receiver.origin}/answers`, events: ["document.response_received"] }),
  );
  const secrets = { "/connector": memberOf(put, "secret"), "/answers": memberOf(post, "secret") };
  async function pushed(path: keyof typeof secrets, isIt: (json: ReceivedCall["json"]) => boolean) {
    const call = await eventually(`an event is pushed to ${path}`, () =>
      receiver.at(path).find(({ json }) => isIt(json)),
    );
    if (!isGenuine(call, secrets[path])) throw new Error(`the signature is wrong: ${call.body.toString("utf8")}`);
    return call.json;
  }
  return {
    told: (type, documentId) =>
      pushed("/connector", (json) => json["type"] === type && json["documentId"] === documentId),
    received: (number) =>
      pushed("/connector", ({ type, data }) => type === "document.received" && data["number"] === number),
    answered: (documentId) =>
      pushed(
        "/answers",
        (json) => json["event"] === "document.response_received" && json.data["document_id"] === documentId,
      ),
    types: (documentId) =>
      receiver
        .at("/connector")
        .filter(({ json }) => json["documentId"] === documentId)
        .map(({ json }) => json["type"]),
    close: () => receiver.close(),
  };
}
