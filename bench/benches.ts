/** Every benchmark. */
import { pollBench } from "./poll.js";
import type { Bench } from "./runner.js";
import { sendBench } from "./send.js";

export const BENCHES: readonly Bench[] = [sendBench, pollBench];
