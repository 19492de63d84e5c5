/** Every benchmark. */
import { as4Bench } from "./as4.js";
import { pollBench } from "./poll.js";
import type { Bench } from "./runner.js";
import { sendBench } from "./send.js";

export const BENCHES: readonly Bench[] = [sendBench, pollBench, as4Bench];
