/** Valid but odd exchanges, made from a seed. */
import { Random } from "../random.js";
import type { Answer, OutboundPlan, ResponseStep, Step } from "./model.js";

/** Two access points that may have a document, and one that has nothing to do with any. */
const SEATS = ["POP000777", "POP000778", "POP000999"] as const;
const ANSWERS: readonly Answer[] = ["AB", "IP", "UQ", "CA", "RE", "AP", "PD"];
const ORDERS = ["PO-1", "PO-2"] as const;
const COUNTRIES = ["SK", "AT", "CZ"] as const;

/** Documents of one firm, and what happens to them. */
export interface Story {
  readonly seed: number;
  readonly documents: readonly OutboundPlan[];
  readonly steps: readonly (Step | { readonly kind: "again"; readonly step: number })[];
}

const dayFrom = (today: string, days: number): string =>
  new Date(Date.parse(`${today}T12:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);

/** Orders have dice of their own, so that the rest of a seed's story stays what it was without them. */
interface Dice {
  readonly all: Random;
  readonly orders: Random;
}

function documentOf({ all: random, orders }: Dice, seed: number, today: string): OutboundPlan {
  const selfBilling = random.int(4) === 0;
  return {
    selfBilling,
    typeCode: random.pick(selfBilling ? ["389", "261"] : ["380", "381"]),
    number: `S${seed}-${random.int(4) === 0 ? 2 : 1}`,
    issueDate: dayFrom(today, -random.int(3)),
    supplierCountry: random.pick(COUNTRIES),
    customerCountry: random.pick(COUNTRIES),
    receiver: random.int(3) === 0 ? "ours" : "foreign",
    order: orders.int(3) === 0 ? undefined : orders.pick(ORDERS),
  };
}

/** Mostly the seat that has taken most documents, so that what is said often counts. */
const seatOf = (random: Random): string => (random.int(4) > 0 ? SEATS[0] : random.pick(SEATS));

function responseOf({ all: random, orders }: Dice, about: OutboundPlan, today: string): ResponseStep {
  return {
    kind: "response",
    id: `${about.number}/${random.int(40)}`,
    code: random.pick(ANSWERS),
    number: about.number,
    typeCode: random.int(8) === 0 ? random.pick(["380", "381", "389", "261"]) : about.typeCode,
    invoiceDay: random.int(2) === 0 ? undefined : random.int(8) === 0 ? dayFrom(today, -1) : about.issueDate,
    day:
      random.int(4) === 0
        ? random.pick(["1990-01-01", "2099-12-31", dayFrom(today, 2), dayFrom(about.issueDate, -1)])
        : dayFrom(today, random.int(3) - 1),
    seat: seatOf(random),
    from: random.int(10) === 0 ? "ours" : about.receiver,
    lies: random.int(12) === 0,
    otherReferences: [
      ...(about.order !== undefined && orders.int(3) === 0 ? [about.order] : []),
      ...(orders.int(8) === 0 ? [orders.pick(ORDERS)] : []),
    ],
  };
}

function stepOf(dice: Dice, documents: readonly OutboundPlan[], today: string): Step {
  const random = dice.all;
  const document = random.int(documents.length);
  const about = documents[document];
  if (about === undefined) throw new RangeError("no such document");
  const kind = random.int(10);
  if (kind < 3)
    return {
      kind: "attempt",
      document,
      outcome: random.pick(["receipt", "receipt", "unconfirmed", "unconfirmed", "transport_failed", "peer_refused"]),
      seat: seatOf(random),
    };
  if (kind < 6) {
    const seat = seatOf(random);
    return {
      kind: "mls",
      document: random.int(12) === 0 ? undefined : document,
      code: random.pick(["AP", "AB", "RE"]),
      seat,
      says: random.int(10) === 0 ? random.pick(SEATS) : seat,
    };
  }
  return responseOf(dice, about, today);
}

const STEPS = 6;

/** The story of a seed. @param today  day in Bratislava on which it begins */
export function storyOf(seed: number, today: string): Story {
  const random = new Random(seed);
  const dice = { all: random, orders: new Random(~seed) };
  const documents = Array.from({ length: 1 + random.int(3) }, () => documentOf(dice, seed, today));
  const first = documents.map((_, document): Step => ({
    kind: "attempt",
    document,
    outcome: random.pick(["receipt", "receipt", "receipt", "unconfirmed", "transport_failed"]),
    seat: seatOf(random),
  }));
  const rest = Array.from({ length: STEPS }, (_, i) =>
    i > 0 && random.int(10) === 0
      ? { kind: "again" as const, step: first.length + random.int(i) }
      : stepOf(dice, documents, today),
  );
  return { seed, documents, steps: [...first, ...rest] };
}
