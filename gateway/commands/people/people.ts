/** `kurier owner invite` and `kurier people list`: who may sign in for a firm or an integrator. */
import { peopleThroughActors } from "../../../actors/people.js";
import { systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import { parseEmail } from "../../../engine/base/ids.js";
import type { FirmId, IntegratorId } from "../../../engine/base/ids.js";
import { createLog } from "../../../engine/base/log.js";
import { PERSON_ROLES } from "../../../engine/base/roles.js";
import { createPeople } from "../../../engine/identity/people/people.js";
import type { People } from "../../../engine/identity/people/people.js";
import type { Config } from "../../../engine/base/config.js";
import { isOwnerKnown } from "../../../engine/storage/identity/keys.js";
import type { Sql } from "../../../engine/storage/sql.js";
import { publicUrlOf } from "../../start/addresses.js";
import { invitationOf } from "../../start/letters.js";
import { mailerOf } from "../../start/people.js";
import { EXIT, parseArguments, UsageError } from "../command.js";
import type { Command, ParsedArguments } from "../command.js";
import { lookInto, withDatabase } from "../database.js";
import { withActors } from "./actors.js";
import { oneOwnerIn } from "../identity.js";
import { print, printRow } from "../terminal.js";

/** Runs `use` with the people of the database; letters leave before it returns. */
const withPeople = <T>(
  config: Config,
  use: (people: People, sql: Sql) => Promise<T>,
  run: typeof lookInto = withDatabase,
): Promise<T> =>
  run(config, ({ sql }) => {
    const log = createLog("warn");
    return withActors(async (actors) => {
      const mailer = mailerOf({ config, log, clock: systemClock, dataDir: config.DATA_DIR }, publicUrlOf(config));
      try {
        return await use(peopleThroughActors(actors, createPeople({ sql, clock: systemClock, mailer })), sql);
      } finally {
        await mailer.stop();
      }
    }, log);
  });

const ownerOf = (parsed: ParsedArguments): { readonly firmId?: FirmId; readonly integratorId?: IntegratorId } =>
  oneOwnerIn(parsed);

const inviteCommand: Command = {
  name: "owner invite",
  summary: "Let somebody sign in for a firm or an integrator.",
  usage: [
    "kurier owner invite --firm ID --email name@example.com [--role owner|admin]",
    "kurier owner invite --integrator ID --email name@example.com",
    "The person gets a letter with the address of the sign-in page. Safe to repeat.",
  ],
  run: async (args) => {
    const parsed = parseArguments(args, { options: ["firm", "integrator", "email", "role"] });
    const owner = ownerOf(parsed);
    const email = parseEmail(parsed.options.get("email") ?? "");
    if (email === undefined) throw new UsageError("--email must be an e-mail address.");
    const wanted = parsed.options.get("role") ?? (owner.firmId === undefined ? "admin" : "owner");
    const role = PERSON_ROLES.find((known) => known === wanted);
    if (role === undefined || (owner.integratorId !== undefined && role !== "admin"))
      throw new UsageError("--role is owner or admin; an integrator has admins only.");
    const config = loadConfig();
    const order = { email, role, ...owner };
    if (!(await withPeople(config, (people) => people.invite(invitationOf(order, publicUrlOf(config))))))
      throw new UsageError("There is no such firm or integrator.");
    print(JSON.stringify(order, null, 2));
    return EXIT.ok;
  },
};

const dismissCommand: Command = {
  name: "owner remove",
  summary: "Take a firm or an integrator away from somebody.",
  usage: [
    "kurier owner remove --firm ID --email name@example.com",
    "kurier owner remove --integrator ID --email name@example.com",
    "Holds from the next request on, also where the person is signed in.",
  ],
  run: async (args) => {
    const parsed = parseArguments(args, { options: ["firm", "integrator", "email"] });
    const owner = ownerOf(parsed);
    const email = parseEmail(parsed.options.get("email") ?? "");
    if (email === undefined) throw new UsageError("--email must be an e-mail address.");
    if (!(await withPeople(loadConfig(), (people) => people.dismiss(email, owner))))
      throw new UsageError("This person has no such office.");
    print(JSON.stringify({ email, ...owner, removed: true }, null, 2));
    return EXIT.ok;
  },
};

const listCommand: Command = {
  name: "people list",
  summary: "List who may sign in for a firm or an integrator.",
  usage: ["kurier people list --firm ID", "kurier people list --integrator ID"],
  run: async (args) => {
    const owner = ownerOf(parseArguments(args, { options: ["firm", "integrator"] }));
    const members = await withPeople(
      loadConfig(),
      async (people, sql) => {
        const found = await people.members(owner);
        if (found.length === 0 && !(await isOwnerKnown(sql, owner)))
          throw new UsageError("No people are listed: owner unknown.");
        return found;
      },
      lookInto,
    );
    for (const member of members) printRow([member.email, member.role, member.name]);
    return EXIT.ok;
  },
};

export const peopleCommands: readonly Command[] = [inviteCommand, dismissCommand, listCommand];
