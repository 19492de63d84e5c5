/**
 * Clients of two access points that do what clients do, all at once and at a steady pace: they send, create invoices
 * through the Connector, empty their inboxes and ask for tokens; what was not accepted they repeat with the same key.
 */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import type { LoadRequest } from "../../../bench/load.js";
import { requests, templateOf } from "../../../bench/send-requests.js";
import { systemClock } from "../../../engine/base/clock.js";
import { connectorInvoice } from "../../support/callers/connector.js";
import { accessToken } from "../../support/engines/engine.js";
import type { HttpAnswer } from "../../support/engines/engine.js";
import { eventually } from "../../support/eventually.js";
import { startCallLog } from "./calls.js";
import type { Call, CallLog } from "./calls.js";
import type { Client, Point, PointName, Points } from "./points.js";

/** How often each of them happens. All are far below what a key may do. */
const PACE_MS = { sendA: 250, sendB: 400, create: 2_000, pollA: 300, pollB: 200, token: 1_500 } as const;
/** Calls under way at once: while an access point is away, its clients wait. */
const CALLS_MAX = 64;
const REPEATS_AT_ONCE = 8;
/** Documents of one inbox that a client reads at once. */
const READ_AT_ONCE = 4;
/** Rounds of a minute: who reads as fast as a key may has to wait for the next one. */
const INBOX_ROUNDS = 6;
const REPEAT_PAUSE_MS = 1_000;

/** What a client was told is accepted. */
export interface Told {
  readonly point: PointName;
  readonly id: string;
  /** Of the payload, hex; undefined where the engine writes the document. */
  readonly sha256: string | undefined;
  readonly answer: Pick<HttpAnswer, "status" | "text">;
}

/** A document that a client found in its inbox. */
export interface Read {
  readonly id: string;
  readonly sha256: string;
}

export interface Traffic {
  readonly log: CallLog;
  readonly told: readonly Told[];
  /** What stood in the inboxes of each access point. */
  readonly read: Readonly<Record<PointName, ReadonlyMap<string, Read>>>;
  /** Documents that were read twice and were not the same. */
  readonly changed: readonly string[];
  /** Begins nothing more, repeats what was not accepted, and reads until the inboxes are empty. */
  finish(settle: () => Promise<void>): Promise<void>;
}

interface Wish {
  readonly call: () => Call;
  readonly accepted: (answer: HttpAnswer) => Told;
}

const digest = (text: string): string => createHash("sha256").update(text).digest("hex");
const JSON_TYPE = { "content-type": "application/json" } as const;

/** Sends of the firms of one access point to those of the other, in turn. */
function sendsOf(from: Point, to: Point): () => Wish {
  const templates = from.firms.map((firm, n) =>
    templateOf({ ...firm, token: "" }, to.firms[n % to.firms.length]?.participantId ?? ""),
  );
  const next = requests(templates, "/document/send");
  const byParticipant = new Map(from.firms.map((firm) => [firm.participantId, firm]));
  return () => {
    const request: LoadRequest = next();
    const body = String(request.body);
    const sender = byParticipant.get(request.headers["x-peppol-participant-id"] ?? "");
    const { payload } = JSON.parse(body) as { readonly payload: string };
    return {
      call: () => ({
        kind: "send",
        point: from.name,
        method: "POST",
        url: `${from.sandbox.sapiBaseUrl}${request.path}`,
        headers: { ...request.headers, authorization: `Bearer ${sender?.token() ?? ""}` },
        body,
      }),
      accepted: (answer) => ({
        point: from.name,
        id: String(answer.json["providerDocumentId"]),
        sha256: digest(payload),
        answer,
      }),
    };
  };
}

/** Invoices of the demo sender for the demo receiver, by the integrator. */
function createsOf({ a }: Points, token: string): () => Wish {
  const dic = a.sandbox.receiver.participantId.replace(/^0245:/, "");
  return () => {
    const body = JSON.stringify(connectorInvoice(dic, { delivery: "send" }));
    return {
      call: () => ({
        kind: "create",
        point: "A",
        method: "POST",
        url: `${a.sandbox.baseUrl}/connector/documents`,
        headers: { ...JSON_TYPE, authorization: `Bearer ${token}` },
        body,
      }),
      accepted: (answer) => ({ point: "A", id: String(answer.json["id"]), sha256: undefined, answer }),
    };
  };
}

/** Reads and acknowledges what stands in a firm's inbox. @returns whether it was seen to be empty */
async function emptyInbox(log: CallLog, { name, sandbox }: Point, firm: Client, keep: (read: Read) => void) {
  const call = (kind: Call["kind"], path: string, method: Call["method"]): Promise<HttpAnswer | undefined> =>
    log.call({
      kind,
      point: name,
      method,
      url: `${sandbox.sapiBaseUrl}/document/receive${path}`,
      headers: { authorization: `Bearer ${firm.token()}`, "x-peppol-participant-id": firm.participantId },
    });
  const page = await call("list", "?limit=100", "GET");
  if (page === undefined) return false;
  const { documents } = page.json as unknown as { readonly documents: readonly { readonly documentId: string }[] };
  const take = async ({ documentId }: { readonly documentId: string }): Promise<boolean> => {
    const detail = await call("read", `/${documentId}`, "GET");
    if (detail === undefined) return false;
    keep({ id: documentId, sha256: digest(String(detail.json["payload"])) });
    return (await call("acknowledge", `/${documentId}/acknowledge`, "POST")) !== undefined;
  };
  for (let at = 0; at < documents.length; at += READ_AT_ONCE)
    if (!(await Promise.all(documents.slice(at, at + READ_AT_ONCE).map(take))).every(Boolean)) return false;
  return documents.length === 0;
}

async function freshToken(log: CallLog, { name, sandbox }: Point, firm: Client): Promise<void> {
  const answer = await log.call({
    kind: "token",
    point: name,
    method: "POST",
    url: `${sandbox.sapiBaseUrl}/auth/token`,
    headers: JSON_TYPE,
    body: JSON.stringify({
      grant_type: "client_credentials",
      client_id: firm.clientId,
      client_secret: firm.clientSecret,
    }),
  });
  if (answer !== undefined) firm.takeToken(String(answer.json["access_token"]));
}

/** Each in turn. */
function turns<T>(items: readonly T[]): () => T {
  let n = 0;
  return () => items[n++ % items.length] as T;
}

/** A minute at a time, as the limit of a key's calls goes. */
async function untilEmpty(poll: () => Promise<boolean>): Promise<void> {
  for (let round = 1; ; round += 1) {
    try {
      await eventually("the inbox is empty", poll);
      return;
    } catch (error) {
      if (round === INBOX_ROUNDS) throw error;
    }
  }
}

/** Begins at once, and goes on until it is finished. */
export async function startTraffic(points: Points): Promise<Traffic> {
  const { a, b } = points;
  const log = startCallLog();
  const told: Told[] = [];
  const changed: string[] = [];
  const read = { A: new Map<string, Read>(), B: new Map<string, Read>() };
  const unaccepted: Wish[] = [];
  for (const firm of b.firms) await freshToken(log, b, firm);
  const integrator = await accessToken(a.sandbox, a.sandbox.integrator);

  const make = async (wish: Wish): Promise<void> => {
    const answer = await log.call(wish.call());
    if (answer === undefined) unaccepted.push(wish);
    else told.push(wish.accepted(answer));
  };
  const repeat = async (): Promise<void> => {
    await Promise.all(unaccepted.splice(0, REPEATS_AT_ONCE).map(make));
  };
  const keep =
    (point: PointName) =>
    (one: Read): void => {
      const before = read[point].get(one.id);
      if (before !== undefined && before.sha256 !== one.sha256) changed.push(`${one.id} was read with other bytes`);
      read[point].set(one.id, one);
    };
  /** An inbox is emptied by one client at a time. */
  const busy = new Set<Client>();
  const poll = async (point: Point, firm: Client): Promise<boolean> => {
    if (busy.has(firm)) return false;
    busy.add(firm);
    try {
      return await emptyInbox(log, point, firm, keep(point.name));
    } finally {
      busy.delete(firm);
    }
  };
  const [fromA, fromB, creates] = [sendsOf(a, b), sendsOf(b, a), createsOf(points, integrator)];
  const [inboxA, inboxB] = [turns(a.firms), turns(b.firms)];
  const asker = turns([a, b].flatMap((point) => point.firms.map((firm) => ({ point, firm }))));

  let isOver = false;
  let underWay = 0;
  const failures: unknown[] = [];
  const steady = async (pace_ms: number, act: () => Promise<unknown>): Promise<void> => {
    const acts = new Set<Promise<void>>();
    for (let due = systemClock.monotonic(); !isOver; due += pace_ms) {
      await delay(Math.max(0, due - systemClock.monotonic()));
      if (underWay >= CALLS_MAX) continue;
      underWay += 1;
      const one = act()
        .then(() => undefined)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => {
          underWay -= 1;
          acts.delete(one);
        });
      acts.add(one);
    }
    await Promise.all(acts);
  };
  const lanes = [
    steady(PACE_MS.sendA, () => make(fromA())),
    steady(PACE_MS.sendB, () => make(fromB())),
    steady(PACE_MS.create, () => make(creates())),
    steady(PACE_MS.pollA, () => poll(a, inboxA())),
    steady(PACE_MS.pollB, () => poll(b, inboxB())),
    steady(REPEAT_PAUSE_MS, repeat),
    steady(PACE_MS.token, () => {
      const { point, firm } = asker();
      return freshToken(log, point, firm);
    }),
  ];
  return {
    log,
    told,
    read,
    changed,
    finish: async (settle) => {
      isOver = true;
      await Promise.all(lanes);
      if (failures.length > 0) throw new AggregateError(failures, "clients failed");
      await eventually("every document is accepted", async () => {
        await repeat();
        return unaccepted.length === 0;
      });
      await settle();
      await Promise.all([a, b].flatMap((point) => point.firms.map((firm) => untilEmpty(() => poll(point, firm)))));
    },
  };
}
