/**
 * Those who are in the way: slow uploads and garbage at /as4, logins with made-up names, statuses of a peer that cost
 * whoever reads them, and a tenant whose documents have 20 MB. Each kind comes at its own pace from addresses of its
 * own, so that the one machine has processor time left for whoever is measured.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

import { systemClock } from "../../engine/base/clock.js";
import { within } from "../../engine/base/waiting/wake.js";
import { accessPointKey } from "../rsa.js";
import { templateOf } from "../send-requests.js";
import type { Offender, OffendersJob, Statuses } from "./jobs.js";
import { hostileStatuses } from "./statuses.js";

const SLOW_UPLOADS = 40;
const SLOW_LENGTH = 1_000_000;
const SLOW_PIECE = 512;
const SLOW_PIECE_EVERY_MS = 250;
/** Requests a second. */
const RATES = { garbage: 30, logins: 120, statuses: 2, documents: 0.2 } as const;
/** The longest wait for answers when a phase is over. */
const ANSWERS_MS = 30_000;
const CUT = "cut";

/** Counts what a kind was answered. */
class Counted {
  readonly statuses: Record<string, number> = {};
  add(status: string): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
  }
}

interface Posted {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** In pieces, so that a large one is not copied. */
  readonly body: readonly Buffer[];
}

/** @returns the status, or CUT */
const post = (url: string, agent: Agent, { path, headers, body }: Posted): Promise<string> =>
  new Promise((resolve) => {
    const length = body.reduce((sum, piece) => sum + piece.length, 0);
    const outgoing = request(
      `${url}${path}`,
      { method: "POST", agent, headers: { ...headers, "content-length": String(length) } },
      (answer) => {
        answer
          .resume()
          .on("end", () => {
            resolve(String(answer.statusCode ?? CUT));
          })
          .on("error", () => {
            resolve(CUT);
          });
      },
    );
    outgoing.on("error", () => {
      resolve(CUT);
    });
    for (const piece of body) outgoing.write(piece);
    outgoing.end();
  });

interface Kind {
  /** Requests a second. */
  readonly rate: number;
  /** The last octet but one of the addresses it comes from. */
  readonly network: number;
  readonly next: () => Posted | Promise<Posted>;
}

/** How many addresses each kind has. */
const ADDRESSES = 4;

/** Posts at an even pace until the phase is over. */
async function paced(url: string, seconds: number, { rate, network, next }: Kind): Promise<Statuses> {
  const counted = new Counted();
  const agents = Array.from(
    { length: ADDRESSES },
    (_, at) => new Agent({ keepAlive: true, localAddress: `127.0.${network}.${at + 1}` }),
  );
  const start = systemClock.monotonic();
  const underWay = new Set<Promise<void>>();
  for (let sent = 0; sent < seconds * rate; sent += 1) {
    await pause(Math.max(0, start + (sent * 1_000) / rate - systemClock.monotonic()));
    const asked = post(url, agents[sent % ADDRESSES] as Agent, await next()).then((status) => {
      counted.add(status);
      underWay.delete(asked);
    });
    underWay.add(asked);
  }
  await within(Promise.all(underWay), ANSWERS_MS, undefined);
  for (const agent of agents) agent.destroy();
  for (let left = 0; left < underWay.size; left += 1) counted.add("unanswered");
  return counted.statuses;
}

/** One upload after the other, each as slow as it is let. */
async function uploadSlowly(url: string, until: number, at: number, counted: Counted): Promise<void> {
  const { hostname, port } = new URL(url);
  while (systemClock.monotonic() < until) {
    const socket = connect({ host: hostname, port: Number(port), localAddress: `127.0.2.${(at % ADDRESSES) + 1}` });
    let status = "";
    const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    socket
      .on("error", () => undefined)
      .on("data", (answer: Buffer) => {
        status ||= /^HTTP\/1.1 (\d{3})/.exec(answer.toString("latin1"))?.[1] ?? "";
      });
    socket.write(
      `POST /as4 HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/related\r\nContent-Length: ${SLOW_LENGTH}\r\n\r\n`,
    );
    while (!socket.destroyed && status === "" && systemClock.monotonic() < until) {
      socket.write(randomBytes(SLOW_PIECE));
      await within(ended, SLOW_PIECE_EVERY_MS, undefined);
    }
    const wasCut = socket.destroyed;
    socket.destroy();
    if (status !== "" || wasCut) counted.add(status === "" ? CUT : status);
    await ended;
  }
}

async function uploadsOf(job: OffendersJob): Promise<Statuses> {
  const counted = new Counted();
  const until = systemClock.monotonic() + job.seconds * 1_000;
  await Promise.all(Array.from({ length: SLOW_UPLOADS }, (_, at) => uploadSlowly(job.url, until, at, counted)));
  return counted.statuses;
}

const garbage = (): Posted => ({
  path: "/as4",
  headers: { "content-type": 'multipart/related; boundary="b"; type="application/soap+xml"' },
  body: [Buffer.from("--b\r\nContent-Type: application/soap+xml\r\n\r\n<a"), randomBytes(8_000)],
});

const login = (): Posted => ({
  path: "/sapi/v1/auth/token",
  headers: { "content-type": "application/json" },
  body: [
    Buffer.from(
      JSON.stringify({
        grant_type: "client_credentials",
        client_id: randomUUID(),
        client_secret: `sk_live_test_${randomUUID()}`,
      }),
    ),
  ],
});

/** Stands where the file goes; JSON and XML leave it as it is. */
const MARK = "FILE-GOES-HERE";
const REFERENCE =
  "<cac:AdditionalDocumentReference><cbc:ID>1</cbc:ID><cac:Attachment>" +
  '<cbc:EmbeddedDocumentBinaryObject mimeCode=\\"application/pdf\\" filename=\\"a.pdf\\">' +
  `${MARK}</cbc:EmbeddedDocumentBinaryObject></cac:Attachment></cac:AdditionalDocumentReference>`;

/** Valid invoices with a file in each, of which there is one copy in memory. */
function documents({ tenant, receiver, fileBytes }: OffendersJob): () => Posted {
  const file = Buffer.from(randomBytes(Math.floor(fileBytes / 4) * 3).toString("base64"));
  const { parts } = templateOf(tenant, receiver);
  return () => {
    const id = randomUUID();
    const [before = "", after = ""] = parts
      .join(id)
      .replace("<cac:AccountingSupplierParty>", `${REFERENCE}<cac:AccountingSupplierParty>`)
      .split(MARK);
    return {
      path: "/sapi/v1/document/send",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${tenant.token}`,
        "x-peppol-participant-id": tenant.participantId,
        "idempotency-key": id,
      },
      body: [Buffer.from(before), file, Buffer.from(after)],
    };
  };
}

type Offence = (job: OffendersJob) => Promise<Statuses>;

/** What each kind does for a phase. */
const OFFENCES: Readonly<Record<Offender, Offence>> = {
  uploads: uploadsOf,
  garbage: ({ url, seconds }) => paced(url, seconds, { rate: RATES.garbage, network: 3, next: garbage }),
  logins: ({ url, seconds }) => paced(url, seconds, { rate: RATES.logins, network: 4, next: login }),
  statuses: async ({ url, seconds, peerKeys, ownKeys }) => {
    const status = hostileStatuses(await accessPointKey(peerKeys), await accessPointKey(ownKeys));
    return paced(url, seconds, {
      rate: RATES.statuses,
      network: 5,
      next: async () => {
        const { contentType, body } = await status();
        return { path: "/as4", headers: { "content-type": contentType }, body: [Buffer.from(body)] };
      },
    });
  },
  documents: (job) => paced(job.url, job.seconds, { rate: RATES.documents, network: 6, next: documents(job) }),
};

const NAMES: Readonly<Record<Offender, string>> = {
  uploads: "slow uploads at /as4",
  garbage: "garbage at /as4",
  logins: "logins with fresh client ids",
  statuses: "statuses of hostile XML",
  documents: "documents of one tenant",
};

/** Runs a phase. @returns what each kind was answered */
export async function offend(job: OffendersJob): Promise<Readonly<Record<string, Statuses>>> {
  const told = job.kinds.map(async (kind) => [NAMES[kind], await OFFENCES[kind](job)] as const);
  return Object.fromEntries(await Promise.all(told));
}
