/** `kurier probe`: puts hostile requests to an installation of the operator's own, and judges what comes of them. */
import { EXIT, parseArguments, UsageError } from "../command.js";
import type { Command, ExitCode } from "../command.js";
import { colour, complain, print } from "../terminal.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { probeCases } from "./cases.js";
import type { ProbeCase } from "./cases.js";
import { exchange, Unreachable } from "./wire.js";
import type { Seen, Target } from "./wire.js";

/** What came of a case. */
export interface ProbeVerdict {
  readonly case: ProbeCase;
  readonly seen: Seen;
  readonly holds: boolean;
}

/** The place that an address names. @throws UsageError for what is no address of an installation */
export function targetOf(text: string): Target {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== "" || !/^\/?$/.test(url.pathname))
    throw new UsageError("Name the installation by its address alone, such as https://ap.example.");
  const isTls = url.protocol === "https:";
  const [plain, tls] = [80, 443];
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (isTls ? tls : plain) : Number(url.port),
    isTls,
    authority: url.host,
  };
}

/**
 * Puts every case to an installation, a few at a time.
 * @param isQuick  leaves out the cases that wait until the other side has no more patience
 * @throws Unreachable where nobody answers
 */
export async function probe(target: Target, isQuick: boolean): Promise<readonly ProbeVerdict[]> {
  const cases = probeCases(target).filter(({ isSlow }) => !isQuick || isSlow === undefined);
  const judge = async (one: ProbeCase): Promise<ProbeVerdict> => {
    const seen = await exchange(
      target,
      one.sending,
      one.isSlow === true ? LIMITS.probe_slow_ms : LIMITS.probe_answer_ms,
    );
    return { case: one, seen, holds: one.expectation.holds(seen) };
  };
  // What waits for the end of a patience is asked beside all others, which come a few at a time.
  const slow = cases.filter(({ isSlow }) => isSlow === true);
  const quick = cases.filter(({ isSlow }) => isSlow !== true);
  const [patient, others] = await Promise.all([Promise.all(slow.map(judge)), inTurns(quick, judge)]);
  return [...others, ...patient];
}

/** Judges a few cases at a time. */
async function inTurns(
  cases: readonly ProbeCase[],
  judge: (one: ProbeCase) => Promise<ProbeVerdict>,
): Promise<readonly ProbeVerdict[]> {
  const found: ProbeVerdict[] = [];
  for (let at = 0; at < cases.length; at += LIMITS.probe_connections)
    found.push(...(await Promise.all(cases.slice(at, at + LIMITS.probe_connections).map(judge))));
  return found;
}

const cameOf = ({ answers, isEnded }: Seen): string => {
  const statuses = answers.map(({ status }) => String(status));
  return (
    [...statuses, ...(isEnded && statuses.length === 0 ? ["the end of the connection"] : [])].join(", ") || "nothing"
  );
};

const line = ({ case: { group, name, expectation }, seen, holds }: ProbeVerdict): string =>
  `${holds ? colour("dim", "ok  ") : colour("red", "FAIL")}  ${group}: ${name}: expected ${expectation.words}; came ${cameOf(seen)}`;

async function run(args: readonly string[]): Promise<ExitCode> {
  const { values, options } = parseArguments(args, { flags: ["yes", "quick"], words: 1 });
  const [address] = values;
  if (address === undefined) throw new UsageError("Say which installation: kurier probe URL --yes.");
  const target = targetOf(address);
  if (!options.has("yes"))
    throw new UsageError(
      `This sends hostile requests to ${target.authority}. Do so to an installation of your own only, and say --yes.`,
    );
  try {
    const verdicts = await probe(target, options.has("quick"));
    for (const verdict of verdicts) print(line(verdict));
    const failed = verdicts.filter(({ holds }) => !holds).length;
    print(`\n${verdicts.length} cases, ${failed} answered otherwise than they must be.`);
    return failed === 0 ? EXIT.ok : EXIT.failed;
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    complain(`No connection to ${target.authority}: ${error.message}.`);
    return EXIT.failed;
  }
}

export const probeCommand: Command = {
  name: "probe",
  summary: "Put hostile requests to an installation of your own, and judge the answers.",
  usage: [
    "URL      address of the public listener, such as https://ap.example; nothing else is called",
    "--yes    it is yours, and may be asked so",
    "--quick  without the cases that wait half a minute",
    "Exit code 0 when every case is answered as it must be, else 1.",
  ],
  run,
};
