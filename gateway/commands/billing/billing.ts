/** `kurier meter rebuild`, `meter show` and `plan set`: what operators do about money. */
import { addDays, bratislavaMidnight, systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import { parseBratislavaDay } from "../../../engine/base/dates.js";
import { parseFirmId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { rebuildUsage } from "../../../engine/billing/meter.js";
import { PLAN_CODES } from "../../../engine/billing/plans.js";
import { OPERATOR, stampOf } from "../../../engine/identity/audit.js";
import { putPlan } from "../../../engine/storage/billing/plans.js";
import { listUsage } from "../../../engine/storage/billing/usage.js";
import { findFirm } from "../../../engine/storage/identity/partner-firms.js";
import { EXIT, parseArguments, UsageError } from "../command.js";
import type { Command } from "../command.js";
import { lookInto, withDatabase } from "../database.js";
import { print, printRow } from "../terminal.js";

const rebuildCommand: Command = {
  name: "meter rebuild",
  summary: "Count what is paid for anew from the events.",
  usage: [
    "kurier meter rebuild",
    "Safe while engines run: a firm's figures change from the old to the new in one step. Exit code 1 when any were others before.",
  ],
  run: async (args) => {
    parseArguments(args, {});
    const { firms, changed } = await withDatabase(
      loadConfig(),
      ({ sql }) => rebuildUsage({ sql, clock: systemClock }),
      { statement_timeout_ms: LIMITS.meter_rebuild_statement_ms },
    );
    print(`${firms} firms counted, ${changed} with other figures than before`);
    return changed === 0 ? EXIT.ok : EXIT.failed;
  },
};

const showCommand: Command = {
  name: "meter show",
  summary: "Show what a firm has used in each month.",
  usage: [
    "kurier meter show FIRM_ID",
    "Documents that count as sent and as received, newest month of Europe/Bratislava first; the licence shows the current one alone.",
  ],
  run: async (args) => {
    const [firm = ""] = parseArguments(args, { words: 1 }).values;
    const firmId = parseFirmId(firm);
    if (firmId === undefined) throw new UsageError("meter show takes the id of a firm.");
    const months = await lookInto(loadConfig(), async ({ sql }) =>
      (await findFirm(sql, firmId)) === undefined ? undefined : listUsage(sql, firmId),
    );
    if (months === undefined) throw new UsageError("There is no firm with this id.");
    for (const { month, outbound, inbound } of months.toReversed())
      printRow([month.slice(0, 7), `${outbound} sent`, `${inbound} received`]);
    if (months.length === 0) print("Nothing is counted of this firm.");
    return EXIT.ok;
  },
};

const planCommand: Command = {
  name: "plan set",
  summary: "Give a firm a plan.",
  usage: [
    `kurier plan set FIRM_ID ${PLAN_CODES.join("|")} [--until YYYY-MM-DD]`,
    "--until is the last day of the plan in Europe/Bratislava; without it the plan has no end.",
  ],
  run: async (args) => {
    const { values, options } = parseArguments(args, { options: ["until"], words: 2 });
    const [firm = "", plan = ""] = values;
    const firmId = parseFirmId(firm);
    const code = PLAN_CODES.find((known) => known === plan);
    const until = options.get("until");
    if (firmId === undefined || code === undefined)
      throw new UsageError(`plan set takes the id of a firm and one of ${PLAN_CODES.join(", ")}.`);
    if (until !== undefined && parseBratislavaDay(until) === undefined)
      throw new UsageError("--until is a day, YYYY-MM-DD, of the years 1900 to 9998; without it the plan has no end.");
    const next = until === undefined ? undefined : addDays(until, 1);
    const isKnown = await withDatabase(loadConfig(), ({ sql }) =>
      putPlan(
        sql,
        {
          firmId,
          code,
          expiresAt: next === undefined ? undefined : bratislavaMidnight(next),
          audit: stampOf(OPERATOR, systemClock),
        },
        systemClock.now(),
      ),
    );
    if (!isKnown) throw new UsageError("There is no firm with this id.");
    print(`${firmId} has the plan ${code}${until === undefined ? "" : ` until ${until}`}`);
    return EXIT.ok;
  },
};

/** Commands about what is paid for. */
export const billingCommands: readonly Command[] = [rebuildCommand, showCommand, planCommand];
