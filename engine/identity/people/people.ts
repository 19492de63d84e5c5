/**
 * People sign in with a one-time code that is sent to their address, and hold an office of a firm or an integrator.
 *
 * Nothing that a stranger can measure or read tells whether an address is known: each request for a code writes one
 * row and is answered before a letter leaves.
 */
import { createHmac, randomBytes, randomInt } from "node:crypto";

import { addressGroup, parseAddress } from "../../base/addresses.js";
import type { Clock } from "../../base/clock.js";
import { newId } from "../../base/ids.js";
import type { Email, FirmId, IntegratorId, PersonId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import type { PersonRole } from "../../base/roles.js";
import {
  deleteMember,
  deleteSession,
  findSession,
  insertSignIn,
  listMembers,
  putMember,
  redeemSignIn,
} from "../../storage/identity/people/people.js";
import type { ListedMember, SignedIn, SignInOutcome } from "../../storage/identity/people/people.js";
import type { Sql } from "../../storage/sql.js";
import { orTemporary } from "../../storage/sql.js";
import { sha256 } from "../tokens/secrets.js";
import type { Mailer } from "./mail.js";

/** What a letter says; the language and the words are the pages'. */
interface LetterText {
  readonly subject: string;
  readonly text: string;
}

/** Somebody asks for a code. */
export interface CodeRequest {
  readonly email: Email;
  /** Random, from the cookie of the browser that asks: the code is good only there. */
  readonly visit: string;
  /** The network address that asks. Those from which the person has signed in before have codes of their own. */
  readonly address: string;
  /** The letter around a code. */
  readonly letter: (code: string) => LetterText;
}

/** Whom a person is to act for. */
interface NewOffice {
  readonly firmId?: FirmId;
  readonly integratorId?: IntegratorId;
  readonly role: PersonRole;
}

/** An invitation as operators give it. */
export interface Invitation extends NewOffice {
  readonly email: Email;
  readonly letter: LetterText;
}

/** What is done with people. */
export interface People {
  /** Sends a code where the address is known; says nothing either way. */
  startSignIn(request: CodeRequest): Promise<void>;
  /** @returns the new session's token where the code was right */
  finishSignIn(request: {
    readonly visit: string;
    readonly address: string;
    readonly code: string;
  }): Promise<{ readonly outcome: SignInOutcome; readonly session?: string }>;
  /** Who is signed in under a token; a token of any form is answered in the same time. */
  session(token: string): Promise<SignedIn | undefined>;
  signOut(token: string): Promise<void>;
  /** Gives an office and sends a letter. @returns false when there is no such firm or integrator */
  invite(invitation: Invitation): Promise<boolean>;
  /** Takes an office away, from the next request on. @returns false when the person has none there */
  dismiss(email: Email, owner: Omit<NewOffice, "role">): Promise<boolean>;
  members(owner: {
    readonly firmId?: FirmId | undefined;
    readonly integratorId?: IntegratorId | undefined;
  }): Promise<readonly ListedMember[]>;
}

const CODE_DIGITS = 6;
const CODES = 10 ** CODE_DIGITS;
const TOKEN_BYTES = 32;

/** A token of 256 random bits for a cookie: of a visit or of a session. */
const newBrowserToken = (): string => randomBytes(TOKEN_BYTES).toString("base64url");

/** Six digits, each number as likely as any other. */
const newCode = (): string => String(randomInt(CODES)).padStart(CODE_DIGITS, "0");

const digest = (purpose: string, text: string): Buffer => sha256(`${purpose}:${text}`);

/**
 * What is kept of a code. The visit's token is the key and is stored nowhere: a copy of the database does not tell the
 * million codes apart.
 */
const codeHmac = (visit: string, code: string): Buffer => createHmac("sha256", visit).update(code).digest();

/** What is kept of a network address: an IPv6 one counts with its /64, as one customer owns at least that many. */
const placeDigest = (text: string): Buffer => {
  const address = parseAddress(text);
  return digest("place", address === undefined ? text : addressGroup(address));
};

/** Puts sign-in together for one node. */
export function createPeople(ports: { readonly sql: Sql; readonly clock: Clock; readonly mailer: Mailer }): People {
  const { sql, clock, mailer } = ports;
  return {
    startSignIn: async ({ email, visit, address, letter }) => {
      const code = newCode();
      const isKnown = await orTemporary(
        insertSignIn(
          sql,
          {
            visitSha256: digest("visit", visit),
            email,
            addressSha256: digest("address", email),
            placeSha256: placeDigest(address),
            codeHmac: codeHmac(visit, code),
          },
          clock.now(),
        ),
      );
      const written = { to: email, ...letter(code) };
      if (isKnown) mailer.post(written);
      else mailer.rehearse(written);
    },
    finishSignIn: async ({ visit, address, code }) => {
      const session = newBrowserToken();
      const outcome = await orTemporary(
        redeemSignIn(
          sql,
          {
            visitSha256: digest("visit", visit),
            placeSha256: placeDigest(address),
            codeHmac: codeHmac(visit, code),
            sessionSha256: digest("session", session),
          },
          clock.now(),
        ),
      );
      return outcome === "signed_in" ? { outcome, session } : { outcome };
    },
    session: (token) => orTemporary(findSession(sql, digest("session", token), clock.now())),
    signOut: (token) => orTemporary(deleteSession(sql, digest("session", token))),
    invite: async ({ email, letter, firmId, integratorId, role }) => {
      const personId = newId(clock) as PersonId;
      const isPut = await orTemporary(putMember(sql, { personId, email, firmId, integratorId, role }, clock.now()));
      if (isPut) mailer.post({ to: email, ...letter });
      return isPut;
    },
    dismiss: (email, owner) => orTemporary(deleteMember(sql, email, owner)),
    members: (owner) => orTemporary(listMembers(sql, owner, LIMITS.operator_page_max)),
  };
}
