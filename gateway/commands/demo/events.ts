/** What the demo is told of its document: a subscription, the event of the delivery, its confirmation. */
import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { call, expectStatus, poll } from "./calls.js";

interface Told {
  readonly event_id: string;
  readonly event: string;
  readonly payload: { readonly data: Readonly<Record<string, unknown>> };
}

/**
 * Subscribes to deliveries, to be pulled.
 * @returns waits for the event of a document, confirms it and ends the subscription; answers what the event said
 */
export async function subscribeToEvents(
  { baseUrl }: Pick<Sandbox, "baseUrl">,
  bearer: string,
): Promise<(documentId: string) => Promise<string>> {
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  const wish = JSON.stringify({ url: null, events: ["document.delivered"] });
  const made = expectStatus(await call("POST", `${baseUrl}/webhooks`, headers, wish), 201, "subscription");
  return async (documentId) => {
    const told = await poll(async () => {
      const page = expectStatus(await call("GET", `${baseUrl}/events/pull`, headers), 200, "pull");
      const events = page.json["events"] as readonly Told[];
      return events.find(({ payload }) => payload.data["document_id"] === documentId);
    }, "the event of the delivery");
    expectStatus(await call("POST", `${baseUrl}/events/${told.event_id}/ack`, headers), 200, "acknowledgement");
    expectStatus(await call("DELETE", `${baseUrl}/webhooks/${String(made.json["id"])}`, headers), 204, "subscription");
    const { document_number: number, status, total_amount: amount, currency } = told.payload.data;
    return `${told.event}: ${String(number)} is ${String(status)}, ${String(amount)} ${String(currency)}; confirmed`;
  };
}
