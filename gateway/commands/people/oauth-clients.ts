/** `kurier oauth-clients create` and `list`: programs that may ask integrators for keys. */
import { systemClock } from "../../../engine/base/clock.js";
import { loadConfig } from "../../../engine/base/config.js";
import { LIMITS } from "../../../engine/base/limits.js";
import {
  isRedirectUri,
  listOAuthPrograms,
  REDIRECT_RULE,
  registerOAuthProgram,
} from "../../../engine/identity/people/oauth.js";
import { EXIT, parseArguments, UsageError } from "../command.js";
import type { Command } from "../command.js";
import { lookInto, withDatabase } from "../database.js";
import { nameIn } from "../identity.js";
import { print, printRow } from "../terminal.js";

const createCommand: Command = {
  name: "oauth-clients create",
  summary: "Register a program that may ask integrators for keys with OAuth.",
  usage: [
    "kurier oauth-clients create --name NAME --redirect-uri https://example.com/callback[,…]",
    "Prints the client's id and secret, which is shown this once.",
  ],
  run: async (args) => {
    const { options } = parseArguments(args, { options: ["name", "redirect-uri"] });
    const name = nameIn("key", options.get("name") ?? "");
    const redirectUris = (options.get("redirect-uri") ?? "").split(",").filter((uri) => uri !== "");
    if (redirectUris.length === 0 || redirectUris.length > LIMITS.oauth_redirects_max)
      throw new UsageError(`--redirect-uri is needed, ${LIMITS.oauth_redirects_max} addresses at most.`);
    if (!redirectUris.every(isRedirectUri)) throw new UsageError(`--redirect-uri: ${REDIRECT_RULE}`);
    await withDatabase(
      loadConfig(),
      async ({ sql }) => {
        const { id, secret } = await registerOAuthProgram({ sql, clock: systemClock }, { name, redirectUris });
        print(JSON.stringify({ clientId: id, clientSecret: secret, name, redirectUris }, null, 2));
      },
      { begins: true },
    );
    return EXIT.ok;
  },
};

const listCommand: Command = {
  name: "oauth-clients list",
  summary: "List the programs that may ask integrators for keys.",
  usage: ["kurier oauth-clients list"],
  run: async (args) => {
    parseArguments(args, {});
    await lookInto(loadConfig(), async ({ sql }) => {
      for (const { id, name, redirectUris } of await listOAuthPrograms(sql)) printRow([id, name, ...redirectUris]);
    });
    return EXIT.ok;
  },
};

export const oauthClientCommands: readonly Command[] = [createCommand, listCommand];
