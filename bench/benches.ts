/** Every benchmark. */
import { as4Bench } from "./as4.js";
import { boxBench } from "./box/box.js";
import { fairnessBench } from "./delivery/fairness.js";
import { webhooksBench } from "./events/webhooks.js";
import { endToEndBench } from "./end-to-end.js";
import { tokenBench } from "./identity/token.js";
import { hostileBench } from "./hostile/hostile.js";
import { lookupBench } from "./lookup/lookup.js";
import { loopBlockBench } from "./loop/loop-block.js";
import { pollBench } from "./poll.js";
import type { Bench } from "./runner.js";
import { historyBench } from "./scale/history.js";
import { keysBench } from "./scale/keys.js";
import { memoryBench } from "./scale/memory.js";
import { participantsBench } from "./scale/participants.js";
import { startBench } from "./scale/start.js";
import { sendBench } from "./send.js";
import { sendLatencyBench } from "./send-latency.js";
import { validateBench } from "./validate.js";
import { rowsBench } from "./rows.js";

/** Every benchmark, in the order in which `kurier bench` runs them. */
export const BENCHES: readonly Bench[] = [
  validateBench,
  sendBench,
  sendLatencyBench,
  pollBench,
  loopBlockBench,
  as4Bench,
  endToEndBench,
  fairnessBench,
  boxBench,
  rowsBench,
  tokenBench,
  webhooksBench,
  lookupBench,
  hostileBench,
  keysBench,
  participantsBench,
  historyBench,
  startBench,
  memoryBench,
];
