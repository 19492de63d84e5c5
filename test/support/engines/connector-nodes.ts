/** Two engines on one database, an integrator that calls both, and one document that is created many times at once. */
import { expect } from "vitest";

import { connectorCalls, connectorError, connectorInvoice } from "../callers/connector.js";
import type { ConnectorCall } from "../callers/connector.js";
import { startTestEngine } from "./engine.js";
import type { HttpAnswer, TestEngine } from "./engine.js";
import { eventually } from "../eventually.js";
import { bindClient, newClient, newKey, newPartner, tokenOf } from "../callers/partners.js";

/** How the integrator calls its customer. */
export const CUSTOMER = "c";

const REPEATS_AT_ONCE = 4;

export interface ConnectorNodes {
  /** Calls through both nodes in turn, under one key after the other: one key may call so often a minute. */
  call(n: number): ConnectorCall;
  sql(): TestEngine["db"]["sql"];
  /** A fresh create body. */
  invoice(delivery: "send" | "stage"): Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

/** Keys of the integrator itself, and of its customer alone: five of each are active at most. */
const KEYS_OF_ONE_KIND = 5;

/** @param keys  at most ten */
export async function startConnectorNodes(keys: number): Promise<ConnectorNodes> {
  const first = await startTestEngine();
  const second = await startTestEngine({ db: first.db });
  const { integratorId, key } = await newPartner(first);
  const client = await newClient(first);
  await bindClient(first, { integratorId, key }, client, { customerRef: CUSTOMER });
  const made = [key];
  while (made.length < keys) {
    const scoped = made.length < KEYS_OF_ONE_KIND ? {} : { scopedFirmId: client.firmId };
    const scopes = made.length < KEYS_OF_ONE_KIND ? [] : [["documents:send", "documents:read"] as const];
    made.push(await newKey(first, { integratorId, ...scoped }, ...scopes));
  }
  const calls: ConnectorCall[] = [];
  for (const one of made)
    for (const node of [first, second]) calls.push(connectorCalls(node.sandbox, await tokenOf(node, one)));
  const dic = first.sandbox.receiver.participantId.replace(/^0245:/, "");
  return {
    call: (n) => calls[n % calls.length] as ConnectorCall,
    sql: () => first.db.sql,
    invoice: (delivery) => connectorInvoice(dic, { customerRef: CUSTOMER, delivery }),
    stop: async () => {
      await second.stop();
      await first.stop();
    },
  };
}

/**
 * Creates one document so often at once. One of the requests makes it; whoever came too early is told so and asks again
 * until it is answered, so that every one of them ends with the same document: `count` − 1 as repeats.
 */
export async function createAtOnce(
  nodes: ConnectorNodes,
  body: Readonly<Record<string, unknown>>,
  count: number,
): Promise<void> {
  const create = (n: number): Promise<HttpAnswer> => nodes.call(n)("POST", "/documents", body);
  const answers = await Promise.all(Array.from({ length: count }, (_, n) => create(n)));
  const isEarly = (answer: HttpAnswer): boolean =>
    answer.status === 409 && connectorError(answer)["code"] === "IDEMPOTENCY_IN_FLIGHT";
  const early = answers.flatMap((answer, n) => (isEarly(answer) ? [n] : []));
  // A few at a time: repeats that meet are told so as well.
  for (let at = 0; at < early.length; at += REPEATS_AT_ONCE)
    await Promise.all(
      early.slice(at, at + REPEATS_AT_ONCE).map(async (n) => {
        answers[n] = await eventually("a create that came too early is answered", async () => {
          const again = await create(n);
          return isEarly(again) ? undefined : again;
        });
      }),
    );
  const [made, ...more] = answers.filter(({ status }) => status === 201);
  expect([made?.json["replayed"], more]).toEqual([false, []]);
  const id = made?.json["id"];
  const repeats = answers.filter((answer) => answer !== made);
  expect(repeats).toHaveLength(count - 1);
  for (const { status, json } of repeats) expect([status, json["replayed"], json["id"]]).toEqual([200, true, id]);
  const rows = await nodes.sql()`select id from document where erp_document_id = ${String(body["externalId"])}`;
  expect(rows).toEqual([{ id }]);
}
