/**
 * What subscriptions add to the price of a delivered document: blocks of documents in one engine, in turns with the
 * subscriptions of all firms off and on, so that what changes on the machine meanwhile meets both alike. The figures
 * are processor time, which who else works on the machine changes little; each block ends when everything is told.
 */
import { processorTime } from "../cpu.js";
import type { BenchEngine } from "../engine.js";
import type { BenchOptions, Figure } from "../runner.js";
import type { Subscribed } from "./subscribed.js";

const BLOCK = { tiny: 8, full: 400 };
/** Blocks of each kind. */
const BLOCKS = { tiny: 1, full: 10 };
/** Sends and their ends are told at the sender and at the receiver. */
const TOLD_OF_EACH = 2;

/** Whose time is the engine's: not that of the client, nor that of who is told. */
const OTHERS: readonly string[] = ["client", "receiver"];

type Times = ReadonlyMap<string, number>;

/** Milliseconds of a document by part of the engine, and of all parts together. */
function spent(before: Times, after: Times, documents: number): Times {
  const parts = [...after]
    .filter(([part]) => !OTHERS.includes(part))
    .map(([part, seconds]) => [part, ((seconds - (before.get(part) ?? 0)) * 1_000) / documents] as const);
  return new Map([...parts, ["all of it", parts.reduce((sum, [, value]) => sum + value, 0)]]);
}

const meanOf = (blocks: readonly Times[], part: string): number =>
  blocks.reduce((sum, block) => sum + (block.get(part) ?? 0), 0) / blocks.length;

/** What is measured, and how a block of documents is sent and delivered. */
interface Turns {
  readonly options: BenchOptions;
  readonly engine: BenchEngine;
  readonly subscribed: Subscribed;
  /** Sends so many, and waits until all are delivered. @returns how many were accepted */
  readonly deliver: (amount: number) => Promise<number>;
}

/** One block. @throws Error when not all of it, or more of it, was told */
async function block({ options, engine, subscribed, deliver }: Turns, on: boolean): Promise<Times> {
  await engine.sql`update webhook_subscription set active = ${on} where active <> ${on}`;
  const calls = await subscribed.calls();
  const before = processorTime(engine.pid, subscribed.pid);
  const documents = await deliver(options.tiny ? BLOCK.tiny : BLOCK.full);
  const told = (await subscribed.calls()) - calls;
  if (told !== (on ? TOLD_OF_EACH * documents : 0)) throw new Error(`${documents} documents, ${told} events told`);
  const times = spent(before, processorTime(engine.pid, subscribed.pid), documents);
  const parts = [...times].map(([part, value]) => `${part} ${value.toFixed(3)}`).join(", ");
  options.say(`${on ? "subscribed" : "nobody"}: ${parts}`);
  return times;
}

/** Blocks in turns. @returns the price of a document without and with subscriptions, and what they add, by part */
export async function inTurns(turns: Turns): Promise<readonly Figure[]> {
  const { tiny } = turns.options;
  const [off, on]: [Times[], Times[]] = [[], []];
  // The first of each is warm-up: plans are made, connections to the receiver opened.
  for (const isSubscribed of [true, false]) await block(turns, isSubscribed);
  for (let pair = 0; pair < (tiny ? BLOCKS.tiny : BLOCKS.full); pair += 1)
    // Turned round each time, so that what grows with what is stored meets both alike.
    for (const isSubscribed of pair % 2 === 0 ? [false, true] : [true, false])
      (isSubscribed ? on : off).push(await block(turns, isSubscribed));
  const parts = [...(on[0]?.keys() ?? [])];
  const [without, all] = [meanOf(off, "all of it"), meanOf(on, "all of it")];
  const runs = on.map((times, pair) => (times.get("all of it") ?? 0) / (off[pair]?.get("all of it") ?? 1));
  return [
    {
      name: "a delivered document, nobody subscribed",
      value: without,
      unit: "ms",
      note: `processor time of the engine and its children; ${off.length} blocks of ${tiny ? BLOCK.tiny : BLOCK.full}`,
    },
    ...parts.map((part): Figure => {
      const value = meanOf(on, part) - meanOf(off, part);
      return { name: `what subscriptions add: ${part}`, value, unit: "ms" };
    }),
    {
      name: "subscribed ÷ nobody subscribed",
      value: all / without,
      unit: "ratio",
      note: `${TOLD_OF_EACH} events a document; at most 1.05 is the goal`,
      runs,
    },
  ];
}
