/** The main job in the words of the Connector: one integrator's key, two of its customers, plain JSON. */
import { randomUUID } from "node:crypto";

import { bratislavaDay, DAY_MS, systemClock } from "../../../engine/base/clock.js";
import { participantParts } from "../../../engine/base/ids.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { call, DemoFailure, expectStatus, poll, token } from "./calls.js";

type Json = Readonly<Record<string, unknown>>;

/** How the demo integrator calls the two firms. */
const SELLER = "demo-sender";
const BUYER = "demo-receiver";

/** An answer is awaited by its status; everything else fails the step. */
interface Step {
  readonly name: string;
  readonly status?: number;
  readonly body?: Json;
}

const connectorOf =
  (sandbox: Sandbox, bearer: string) =>
  async (method: string, path: string, { name, status = 200, body }: Step): Promise<Json> =>
    expectStatus(
      await call(
        method,
        `${sandbox.baseUrl}/connector${path}`,
        { authorization: `Bearer ${bearer}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        body === undefined ? undefined : JSON.stringify(body),
      ),
      status,
      name,
    ).json;

/** A fresh invoice to the other firm, which waits until it is sent. */
function stagedInvoice(sandbox: Sandbox): Json {
  const externalId = `demo-${randomUUID()}`;
  const { value: taxId } = participantParts(sandbox.receiver.participantId as ParticipantId);
  return {
    customerRef: SELLER,
    externalId,
    delivery: "stage",
    number: externalId.slice(0, 13),
    dueDate: bratislavaDay(systemClock.now() + 14 * DAY_MS),
    recipient: { country: "SK", name: "Demo receiver", taxId },
    lines: [
      { description: "Papier A4", quantity: 3, unit: "ks", unitPrice: "23.90", vatRate: 23 },
      { description: "Rožky", quantity: 10, unit: "ks", unitPrice: "0.15", vatRate: 5 },
    ],
  };
}

const ENDED = new Set(["delivered", "failed", "needs_attention", "cancelled"]);

/**
 * Runs the steps of one integrator and two customers.
 * @throws DemoFailure at the first that does not do what it promises
 */
export async function runConnectorSteps(sandbox: Sandbox, say: (step: string, detail: string) => void): Promise<void> {
  const connector = connectorOf(sandbox, await token(sandbox, sandbox.integrator));
  say("token", `one access token for the integrator's customers ${SELLER} and ${BUYER}`);
  const at = (id: unknown, customerRef: string, step = ""): string =>
    `/documents/${String(id)}${step}?customerRef=${customerRef}`;
  const find = (list: unknown, member: string, value: unknown): Json | undefined =>
    (list as readonly Json[]).find((each) => each[member] === value);

  const invoice = stagedInvoice(sandbox);
  const created = await connector("POST", "/documents", { name: "create", status: 201, body: invoice });
  const { id } = created;
  const { total } = created["amounts"] as Json;
  say(
    "staged",
    `201: ${String(created["number"])} over ${String(total)} EUR was made, judged and waits; it can ${(created["actions"] as string[]).join(" or ")}`,
  );
  const repeated = await connector("POST", "/documents", { name: "repeat", body: invoice });
  say("repeated", `200 replayed ${String(repeated["replayed"])}: the same document`);
  const sent = await connector("POST", at(id, SELLER, "/send"), { name: "send" });
  say("sent", `${String(sent["state"])}: validated again and due`);
  const ended = await poll(async () => {
    const document = await connector("GET", at(id, SELLER), { name: "detail" });
    return ENDED.has(String(document["state"])) ? document : undefined;
  }, "delivery");
  if (ended["state"] !== "delivered") throw new DemoFailure(`delivery ended as ${String(ended["state"])}`);
  say("delivered", `to ${String((ended["recipient"] as Json)["networkId"])}`);

  let cursor = "";
  const told = await poll(async () => {
    const page = await connector("GET", `/events?customerRef=${SELLER}${cursor}`, { name: "events" });
    cursor = `&cursor=${String(page["nextCursor"])}`;
    return find(
      (page["events"] as readonly Json[]).filter(({ type }) => type === "document.delivered"),
      "documentId",
      id,
    );
  }, "the event of the delivery");
  say("told", `${String(told["type"])} at ${String(told["occurredAt"])}`);

  let place = "";
  const received = await poll(async () => {
    const query = `/documents?customerRef=${BUYER}&direction=inbound&limit=100${place}`;
    const page = await connector("GET", query, { name: "received" });
    if (page["nextCursor"] !== null) place = `&cursor=${String(page["nextCursor"])}`;
    return find(page["documents"], "number", created["number"]);
  }, "receipt by the recipient");
  say("received", `document ${String(received["id"])} of ${String((received["sender"] as Json)["name"])}`);
  const reference = `erp-${String(created["number"])}`;
  const done = await connector("POST", at(received["id"], BUYER, "/acknowledge"), {
    name: "acknowledge",
    body: { reference },
  });
  say("acknowledged", `${String(done["state"])} as ${reference}; nothing was sent for it`);
  await connector("POST", at(received["id"], BUYER, "/respond"), { name: "respond", body: { status: "accepted" } });
  const answered = await poll(async () => {
    const document = await connector("GET", at(id, SELLER), { name: "detail" });
    return document["response"] === null ? undefined : (document["response"] as Json);
  }, "the answer");
  say("answered", `the seller reads: ${String(answered["status"])}`);

  const body = stagedInvoice(sandbox);
  const second = await connector("POST", "/documents", { name: "create", status: 201, body });
  const gone = await connector("POST", at(second["id"], SELLER, "/cancel"), { name: "cancel" });
  say("cancelled", `${String(second["number"])} is ${String(gone["state"])} and never leaves`);
}
