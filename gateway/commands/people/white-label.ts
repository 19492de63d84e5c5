/** `kurier white-label …`: operators' view of White Label, and the end of a review or of a customer. */
import { registrationKind, registrationsThroughActors } from "../../../actors/registration.js";
import { whiteLabelKind, whiteLabelThroughActors } from "../../../actors/registry/white-label.js";
import { systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import { ERRORS, Refusal } from "../../../engine/base/errors.js";
import type { ErrorName } from "../../../engine/base/errors.js";
import { parseUuid } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { silentLog } from "../../../engine/base/log.js";
import { listWhiteLabel } from "../../../engine/identity/white-label/reads.js";
import { findWhiteLabel } from "../../../engine/storage/identity/white-label.js";
import { WHITE_LABEL_STATES } from "../../../engine/lifecycle/white-label.js";
import { openRegistrationPorts } from "../../../engine/peppol/discovery/registrations-setup.js";
import { openOwnPki } from "../../../engine/peppol/pki/setup.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { publicUrlOf } from "../../start/addresses.js";
import { openMasterKeys } from "../../start/data-dir.js";
import { openWhiteLabelRegistry } from "../../start/white-label.js";
import { EXIT, parseArguments, reasonGiven, UsageError } from "../command.js";
import type { Command, ExitCode } from "../command.js";
import { lookInto, withDatabase } from "../database.js";
import { withActors } from "./actors.js";
import { withTenants } from "../identity.js";
import { complain, print, printRow, readStandardInput } from "../terminal.js";

/** What a refusal ends the command with, and what an operator is told; all others may be repeated later. */
const REFUSED: Partial<Record<ErrorName, { readonly code: ExitCode; readonly sentence: string }>> = {
  NOT_FOUND: { code: EXIT.failed, sentence: "There is no operation of this id." },
  WHITE_LABEL_STATE: {
    code: EXIT.failed,
    sentence: "The operation is not under review; kurier white-label list shows how far each is.",
  },
  INTEGRATOR_UNAPPROVED: { code: EXIT.failed, sentence: ERRORS.INTEGRATOR_UNAPPROVED.message },
  CUSTOMER_REF_CONFLICT: {
    code: EXIT.failed,
    sentence:
      "The customerRef of the operation was given to a firm meanwhile; nothing has changed. Release the operation.",
  },
  VERIFICATION_MISMATCH: { code: EXIT.failed, sentence: ERRORS.VERIFICATION_MISMATCH.message },
};

type Commands = ReturnType<typeof whiteLabelThroughActors>;

/** Tells why a review was not ended. @returns what the command ends with */
function refused({ reason, message }: Refusal): ExitCode {
  const { code, sentence } = REFUSED[reason] ?? { code: EXIT.away, sentence: message };
  complain(sentence);
  return code;
}

/** Does something about an operation. @throws Refusal of what is done */
async function withCommands<Result>(sql: Sql, run: (commands: Commands) => Promise<Result>): Promise<Result> {
  const config = loadConfig();
  const clock = systemClock;
  const { keys } = await openOwnPki({ config, dataDir: config.DATA_DIR, clock, log: silentLog });
  const sealer = (await openMasterKeys(sql, config)).sealer;
  const registering = openRegistrationPorts({ config, sql, sealer, keys, clock });
  return withActors(async (actors) => {
    let close: () => unknown = () => undefined;
    try {
      const registry = openWhiteLabelRegistry(
        {
          config,
          log: silentLog,
          onStop: (stop) => {
            close = stop;
          },
        },
        {
          sql,
          registrations:
            registering === undefined ? undefined : registrationsThroughActors(actors, registrationKind(registering)),
          accessPoint: { keys },
          publicUrl: publicUrlOf(config),
        },
      );
      const ports = { sql, clock, log: silentLog, sealer, registry, environment: config.ENVIRONMENT };
      return await run(whiteLabelThroughActors(actors, whiteLabelKind(ports)));
    } finally {
      await close();
    }
  });
}

/** The operation that a command is about. @throws UsageError */
function operationIn(args: readonly string[]): string {
  const { values } = parseArguments(args, { words: 1 });
  const id = parseUuid(values[0] ?? "");
  if (id === undefined) throw new UsageError("Name one operation by its id.");
  return id;
}

/**
 * Does something about an operation and prints the status that it has then, or why it was not done.
 * @param again  what is so, and left to do, where the operation is not in the state for it: a run before may have been
 *   killed before it said what it had done. @returns the status, with a sentence; undefined where none has done it
 */
async function ending(
  id: string,
  run: (commands: Commands) => Promise<string>,
  again: (commands: Commands, sql: Sql) => Promise<readonly [status: string, sentence: string] | undefined>,
): Promise<ExitCode> {
  try {
    const status = await withDatabase(loadConfig(), ({ sql }) =>
      withCommands(sql, (commands) =>
        run(commands).catch(async (error: unknown) => {
          const isPast = error instanceof Refusal && error.reason === "WHITE_LABEL_STATE";
          const done = isPast ? await again(commands, sql) : undefined;
          if (done === undefined) throw error;
          complain(done[1]);
          return done[0];
        }),
      ),
    );
    print(JSON.stringify({ id, status }, null, 2));
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refused(error);
  }
}

const releaseCommand: Command = {
  name: "white-label release",
  summary: "Ask the registry who has the participant of an operation under review, and end the review.",
  usage: [
    "kurier white-label release ID",
    "The operation succeeds where the registry has done it, and is released where it has not; the participant is free then.",
    "May be broken off and run again: what is left is done, and one whose review has ended is told.",
  ],
  run: async (args) => {
    const id = operationIn(args);
    return ending(
      id,
      async (commands) => (await commands.release(id)).status,
      async (commands) => [
        (await commands.finishRelease(id)).status,
        "No review of the operation is open; the registry was not asked.",
      ],
    );
  },
};

const vouchCommand: Command = {
  name: "white-label vouch",
  summary: "Vouch for an operation whose token our own SMP cannot check, by the token that was checked.",
  usage: [
    "kurier white-label vouch ID < FILE",
    "Ask the tax authority, or the present provider of a company that moves, which token it gave out; its text is read from standard input.",
    "The operation goes on where it came with the same token; with another one nothing changes.",
    "May be broken off and run again: one that was vouched for is told, with its status.",
  ],
  run: async (args) => {
    const id = operationIn(args);
    const token = (await readStandardInput()).toString("utf8").trim();
    if (token === "") throw new UsageError("Give the token that was checked on standard input.");
    return ending(
      id,
      async (commands) => {
        await commands.vouch({ id, token });
        return "processing";
      },
      async (_, sql) => {
        const row = await findWhiteLabel(sql, id, undefined);
        return row === undefined || row.vouchedAt === null
          ? undefined
          : [row.status, "The operation was vouched for before; the token was not compared again."];
      },
    );
  },
};

const listCommand: Command = {
  name: "white-label list",
  summary: "List operations on participants, newest first.",
  usage: [`kurier white-label list [--status ${WHITE_LABEL_STATES.join("|")}]`],
  run: async (args) => {
    const wanted = parseArguments(args, { options: ["status"] }).options.get("status");
    const status = WHITE_LABEL_STATES.find((state) => state === wanted);
    if (wanted !== undefined && status === undefined)
      throw new UsageError(`--status is one of ${WHITE_LABEL_STATES.join(", ")}.`);
    await lookInto(loadConfig(), async ({ sql }) => {
      for (const row of await listWhiteLabel(sql, status, LIMITS.operator_page_max))
        printRow([row.id, row.operationType, row.status, row.participant, row.customerRef, row.errorCode ?? ""]);
    });
    return EXIT.ok;
  },
};

/** What an operator is told of a customer that was not ended. */
const STAYS = {
  in_use: "The customer's company is, was or is being registered under its customerRef; the customer stays.",
  unknown: "There is no customer of this id.",
} as const;

const endCustomerCommand: Command = {
  name: "white-label end-customer",
  summary: "End a customer that was noted with a wrong tax id, so that its customerRef is free again.",
  usage: [
    'kurier white-label end-customer ID --reason "WHY"',
    "ID is the customer's, as POST and GET /customers show it to its integrator, who can note the right one afterwards.",
    "One whose company is registered under its customerRef stays. Its name and tax id are kept in the integrator's audit, the reason in the operators' record.",
    "May be broken off and run again.",
  ],
  run: async (args) => {
    const { values, options } = parseArguments(args, { options: ["reason"], words: 1 });
    const id = parseUuid(values[0] ?? "");
    if (id === undefined) throw new UsageError("Name one customer by its id.");
    const reason = reasonGiven(options);
    const outcome = await withTenants(loadConfig(), (tenants) => tenants.endCustomer({ id, reason }));
    if (outcome !== "ended") {
      complain(STAYS[outcome]);
      return EXIT.failed;
    }
    print(JSON.stringify({ id, status: outcome }, null, 2));
    return EXIT.ok;
  },
};

/** Commands of White Label. */
export const whiteLabelCommands: readonly Command[] = [listCommand, vouchCommand, releaseCommand, endCustomerCommand];
