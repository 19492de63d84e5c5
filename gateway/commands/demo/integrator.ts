/**
 * An integrator's way: it invites a firm, the firm's administrator follows the link, signs in with the code of a letter
 * and accepts; then the integrator makes a key for that firm alone and sends with it.
 */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { CONSENT_SCOPES } from "../../../engine/identity/partners/consents.js";
import { participantParts } from "../../../engine/base/ids.js";
import type { ParticipantId } from "../../../engine/base/ids.js";
import type { Sandbox } from "../../../engine/identity/sandbox.js";
import { call, DemoFailure, expectStatus, poll, token } from "./calls.js";
import type { DemoAnswer } from "./calls.js";

/** What the way needs of the demo around it. */
interface Stage {
  readonly sandbox: Sandbox;
  /** Folder of the letters; undefined where they leave by mail, and nobody could read the code. */
  readonly mail: string | undefined;
  readonly say: (step: string, detail: string) => void;
  /** Sends a fresh invoice from the sender with this token. @returns the id of the document */
  readonly send: (bearer: string) => Promise<string>;
  /** Waits until a document is delivered. */
  readonly delivered: (id: string, bearer: string) => Promise<void>;
}

/** One browser: it keeps its cookie and sends the form of the last page. */
class Visit {
  #cookie = "";
  #page = "";
  readonly #origin: string;

  constructor(origin: string) {
    this.#origin = origin;
  }

  async open(path: string): Promise<DemoAnswer> {
    return this.#keep(await call("GET", new URL(path, this.#origin).href, this.#headers()));
  }

  /** Sends the page's form to `action` with these fields, and follows where it leads. */
  async submit(action: string, fields: Readonly<Record<string, string>>): Promise<DemoAnswer> {
    const form = [...this.#page.matchAll(/<form[^>]*action="([^"]*)"[^>]*>([\s\S]*?)<\/form>/g)].find(
      ([, target]) => target === action,
    );
    if (form === undefined) throw new DemoFailure(`the page has no form for ${action}`);
    const hidden = [...(form[2] ?? "").matchAll(/name="([^"]*)"\s+value="([^"]*)"/g)].map(
      ([, name = "", value = ""]) => [name, value] as [string, string],
    );
    const answer = this.#keep(
      await call(
        "POST",
        new URL(action, this.#origin).href,
        { ...this.#headers(), "content-type": "application/x-www-form-urlencoded" },
        new URLSearchParams({ ...Object.fromEntries(hidden), ...fields }).toString(),
      ),
    );
    const next = answer.headers.get("location");
    return answer.status === 303 && next !== null ? this.open(next) : answer;
  }

  #headers(): Record<string, string> {
    return { "accept-language": "en", ...(this.#cookie === "" ? {} : { cookie: this.#cookie }) };
  }

  #keep(answer: DemoAnswer): DemoAnswer {
    this.#cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? this.#cookie;
    this.#page = answer.text;
    return answer;
  }
}

/** The code in the newest letter to an address. */
function codeIn(folder: string, email: string): string | undefined {
  const letters = readdirSync(folder)
    .filter((name) => name.endsWith(".eml") && !name.startsWith("."))
    .sort()
    .map((name) => readFileSync(join(folder, name), "utf8"));
  return letters.flatMap((text) => (text.includes(email) ? (/^ {4}(\d{6})\r?$/m.exec(text)?.[1] ?? []) : [])).at(-1);
}

/** The steps. @throws DemoFailure at the first that does not do what it promises */
export async function runIntegratorSteps({ sandbox, mail, say, send, delivered }: Stage): Promise<void> {
  if (mail === undefined) {
    say("integrator", "skipped: letters leave by mail here (SMTP_URL), and the demo cannot read them");
    return;
  }
  const central = {
    authorization: `Bearer ${await token(sandbox, sandbox.integrator)}`,
    "content-type": "application/json",
  };
  const operator = { authorization: `Bearer ${sandbox.admin.token}`, "content-type": "application/json" };

  const { value: dic } = participantParts(sandbox.sender.participantId as ParticipantId);
  const offer = expectStatus(
    await call(
      "POST",
      `${sandbox.baseUrl}/consent-offers`,
      central,
      JSON.stringify({ targetIdentifier: dic, requestedInterface: "all", requestedScopes: CONSENT_SCOPES }),
    ),
    201,
    "consent offer",
  ).json;
  say("invited", `the integrator asks DIČ ${dic} for its consent; the link is shown once`);

  // Somebody new each time: one address gets five codes an hour.
  const email = `demo-${randomUUID()}@odosielatel.example`;
  expectStatus(
    await call(
      "POST",
      `${sandbox.adminUrl}/admin/people`,
      operator,
      JSON.stringify({ email, firmId: sandbox.sender.firmId, role: "admin" }),
    ),
    201,
    "administrator",
  );
  const link = new URL(String(offer["consentUrl"]));
  const visit = new Visit(link.origin);
  expectStatus(await visit.open(link.pathname), 200, "consent page");
  await visit.open(`/sign-in?next=${encodeURIComponent(link.pathname)}`);
  await visit.submit("/sign-in", { email });
  const code = await poll(async () => codeIn(mail, email), "the letter with the code");
  const page = await visit.submit("/sign-in/code", { code });
  expectStatus(page, 200, "sign-in");
  const accepted = await visit.submit(link.pathname, { firm: sandbox.sender.firmId, decision: "accept" });
  if (!expectStatus(accepted, 200, "acceptance").text.includes("The consent is given."))
    throw new DemoFailure("acceptance: the page does not say that the consent is given");
  say("accepted", `${email} signed in with the code of a letter and accepted`);

  const key = expectStatus(
    await call(
      "POST",
      `${sandbox.baseUrl}/integrator/keys`,
      central,
      JSON.stringify({
        name: "Demo",
        scopedFirmId: sandbox.sender.firmId,
        scopes: ["documents:send", "documents:read"],
      }),
    ),
    201,
    "key",
  ).json;
  say("key", `${String(key["keyPrefix"])} for this firm alone`);
  const bearer = await token(sandbox, { clientId: String(key["clientId"]), clientSecret: String(key["key"]) });
  const id = await send(bearer);
  await delivered(id, bearer);
  say("sent", `${id} is delivered, sent by the integrator for the firm`);
  expectStatus(
    await call("DELETE", `${sandbox.baseUrl}/integrator/keys/${String(key["clientId"])}`, {
      authorization: central.authorization,
    }),
    200,
    "end of the key",
  );
}
