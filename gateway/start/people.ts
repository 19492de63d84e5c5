/** What people need of the engine: the way of letters, and sign-in in turns. */
import { onboardingThroughActors } from "../../actors/onboarding.js";
import { oauthThroughActors, peopleThroughActors } from "../../actors/people.js";
import type { ActorSystem } from "../../actors/system.js";
import { parseEmail } from "../../engine/base/ids.js";
import type { Email } from "../../engine/base/ids.js";
import type { Identity } from "../../engine/identity/identity.js";
import { LIMITS } from "../../engine/base/limits.js";
import { errorFields } from "../../engine/base/log.js";
import { every } from "../../engine/base/waiting/every.js";
import { createOnboarding } from "../../engine/identity/onboarding/onboarding.js";
import type { Onboarding } from "../../engine/identity/onboarding/onboarding.js";
import { createReceiving } from "../../engine/identity/onboarding/receiving.js";
import { openMailer } from "../../engine/identity/people/mail.js";
import type { Mailer } from "../../engine/identity/people/mail.js";
import { createOAuth } from "../../engine/identity/people/oauth.js";
import type { OAuth } from "../../engine/identity/people/oauth.js";
import { createPeople } from "../../engine/identity/people/people.js";
import type { People } from "../../engine/identity/people/people.js";
import type { Sql } from "../../engine/storage/sql.js";
import { createPresses } from "../web/pages/presses.js";
import { createVisitors } from "../web/pages/visitor.js";
import type { PageSettings } from "../web/pages/desk.js";
import type { Base } from "./infrastructure.js";

/** A host that is a bare name or an address has no mail: letters from there are files of the sandbox. */
const senderAt = (publicUrl: string): Email =>
  parseEmail(`kurier@${new URL(publicUrl).hostname}`) ?? ("kurier@localhost.localdomain" as Email);

/** Opens the way of letters that the configuration names. */
export const mailerOf = (base: Pick<Base, "config" | "dataDir" | "clock" | "log">, publicUrl: string): Mailer =>
  openMailer({ ...base, url: base.config.SMTP_URL, from: base.config.MAIL_FROM ?? senderAt(publicUrl) });

/** What pages, rows and operators need of all that. */
export interface PeopleParts {
  readonly people: People;
  readonly oauth: OAuth;
  readonly onboarding: Onboarding;
  /** The secret of the tax authority's confirmations; undefined where none is configured. */
  readonly pfsSecret: string | undefined;
  readonly securityContact: string | undefined;
  readonly pages: PageSettings;
  readonly mayReceive: ReturnType<typeof createReceiving>;
}

/** Sign-in, offices and OAuth for one process; letters under way are waited for when it stops. */
export function startPeople(
  base: Base,
  parts: {
    readonly sql: Sql;
    readonly actors: ActorSystem;
    readonly identity: Pick<Identity, "deactivateKey" | "revokeConsent">;
    readonly publicUrl: string;
  },
): PeopleParts {
  const { sql, actors, identity, publicUrl } = parts;
  const { clock, config } = base;
  const mailer = mailerOf(base, publicUrl);
  base.stack.add("mailer", () => mailer.stop());
  const environment = config.ENVIRONMENT;
  const onboarding = onboardingThroughActors(
    actors,
    createOnboarding({ sql, clock, environment, identity, isOn: config.ONBOARDING_PREVIEW === "on" }),
  );
  activateNowAndThen(base, onboarding);
  return {
    onboarding,
    mayReceive: createReceiving(sql),
    pfsSecret: config.PFS_WEBHOOK_SECRET,
    securityContact: config.SECURITY_CONTACT,
    pages: {
      visitors: createVisitors(publicUrl),
      isSandbox: environment === "sandbox",
      publicUrl,
      presses: createPresses(clock),
    },
    people: peopleThroughActors(actors, createPeople({ sql, clock, mailer })),
    oauth: oauthThroughActors(actors, createOAuth({ sql, clock, environment, publicUrl, identity })),
  };
}

/** Finishes activations that a process left behind. */
function activateNowAndThen({ log, stack }: Base, onboarding: Onboarding): void {
  const activate = (): Promise<unknown> =>
    onboarding.activateDue().catch((error: unknown) => {
      log.warn("onboarding.activation_failed", errorFields(error));
    });
  stack.add("sweep of sign-ins", every(LIMITS.onboarding_activation_ms, activate));
}
