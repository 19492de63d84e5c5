/** A little of everything that the dashboards show: sends, polls, repeats, refusals, events, receivers that fail. */
import { makeFirms } from "../../../bench/engine.js";
import type { BenchFirm } from "../../../bench/engine.js";
import { runPacedLoad } from "../../../bench/load.js";
import type { LoadRequest } from "../../../bench/load.js";
import { originOf, requests, templateOf } from "../../../bench/send-requests.js";
import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { FATES } from "../../../engine/sandbox/fates.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { startReceiver, status } from "../../support/webhooks/receiver.js";

/** Two have parts of their own: one sends to receivers that fail, one asks for more than it may. */
const FIRMS = 10;
/** Requests a second, far below what a machine can; those of a firm add up to less than it may ask for, repeats apart. */
const RATES = { sends: 8, fates: 0.5, polls: 12, repeats: 4, refusals: 1 };
/** Every tenth event is answered by a fault, so that some deliveries come again. */
const FAULT_EVERY = 10;

/** The same request again and again, or each of these in turn. */
const inTurns = (made: readonly LoadRequest[]): (() => LoadRequest) => {
  let n = 0;
  return () => made[n++ % made.length] as LoadRequest;
};

const poll = ({ token, participantId }: BenchFirm): LoadRequest => ({
  method: "GET",
  path: "/sapi/v1/document/receive",
  headers: { authorization: `Bearer ${token}`, "x-peppol-participant-id": participantId },
});

async function subscribe(sandbox: Sandbox, firms: readonly BenchFirm[], origin: string): Promise<void> {
  for (const { token } of firms) {
    const answer = await fetch(`${sandbox.baseUrl}/webhooks`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ url: `${origin}/events`, events: ["document.received", "document.delivered"] }),
    });
    if (answer.status !== 201) throw new Error(`no subscription: ${answer.status}`);
  }
}

/**
 * Loads an engine of the sandbox for so many seconds.
 * @throws Error where a send or a poll that is as it should be was not answered so
 */
export async function loadEverything(
  engine: { readonly sandbox: Sandbox; readonly sql: Sql },
  seconds: number,
): Promise<void> {
  const { sandbox } = engine;
  const firms = await makeFirms(engine, FIRMS);
  const receiver = await startReceiver();
  receiver.script("/events", (response, call, nth) => {
    status(nth % FAULT_EVERY === 0 ? 503 : 200)(response, call, nth);
  });
  await subscribe(sandbox, firms, receiver.origin);
  const [fated, repeating, ...senders] = firms as [BenchFirm, BenchFirm, ...BenchFirm[]];
  const next = (at: number): string => senders[(at + 1) % senders.length]?.participantId ?? "";
  const sends = requests(senders.map((firm, at) => templateOf(firm, next(at))));
  const fates = requests([...FATES.keys()].map((fate) => templateOf(fated, fate)));
  const once = requests([templateOf(repeating, fated.participantId)])();
  const refusals = inTurns([
    { ...poll(fated), headers: { authorization: "Bearer nobody", "x-peppol-participant-id": fated.participantId } },
    { method: "GET", path: "/api/v1/documents/nothing", headers: { authorization: `Bearer ${fated.token}` } },
    { ...once, body: String(once.body).replace("T09:00:00Z", "T09:00:01Z") },
    {
      method: "POST",
      path: "/sapi/v1/auth/token",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ grant_type: "client_credentials", client_id: fated.clientId, client_secret: "wrong" }),
    },
  ]);
  const url = originOf(sandbox);
  const paced = (next: () => LoadRequest, rate: number): ReturnType<typeof runPacedLoad> =>
    runPacedLoad({ url, seconds, rate, next });
  const [sent, , polled] = await Promise.all([
    paced(sends, RATES.sends),
    paced(fates, RATES.fates),
    paced(inTurns(senders.map(poll)), RATES.polls),
    paced(() => once, RATES.repeats),
    paced(refusals, RATES.refusals),
  ]);
  await receiver.close();
  for (const [{ errors, statuses }, right] of [
    [sent, 202],
    [polled, 200],
  ] as const)
    if (errors > 0 || [...statuses.keys()].some((answer) => answer !== right))
      throw new Error(`${right} was expected: ${errors} errors, ${JSON.stringify([...statuses])}`);
}
