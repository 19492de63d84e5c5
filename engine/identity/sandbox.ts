/** The sandbox: two demo firms and an integrator that acts for both, made once, written down for tools. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import type { Clock } from "../base/clock.js";
import { replaceFile } from "../base/files/durable.js";
import { newId, parseFirmId, parseIntegratorId, participantKey, participantParts } from "../base/ids.js";
import type { Email, FirmId, IntegratorId, ParticipantId, PersonId } from "../base/ids.js";
import { PARTICIPANT_CAPABILITIES } from "../peppol/discovery/capabilities.js";
import { SCOPES } from "../base/scopes.js";
import type { Scope } from "../base/scopes.js";
import { addCapabilities, findOwnParticipant } from "../storage/documents/received.js";
import { putMember } from "../storage/identity/people/people.js";
import type { Sql } from "../storage/sql.js";
import { bindFirm, createFirm, createIntegrator, registerParticipant } from "./firms.js";
import { createKey } from "./keys.js";
import type { KeyOwner } from "./keys.js";
import { FIRM_KEY_SCOPES } from "./scopes.js";

interface SandboxFirm {
  readonly firmId: string;
  readonly participantId: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** @source design/interface.md, DATA_DIR/sandbox.json */
export interface Sandbox {
  readonly baseUrl: string;
  readonly sapiBaseUrl: string;
  readonly adminUrl: string;
  readonly sender: SandboxFirm;
  readonly receiver: SandboxFirm;
  readonly integrator: {
    readonly integratorId: string;
    readonly clientId: string;
    readonly clientSecret: string;
    readonly customerRefs: { readonly sender: string; readonly receiver: string };
  };
  readonly admin: { readonly token: string };
  /** Addresses that may sign in: the owners of the demo firms and the integrator's administrator. */
  readonly people: { readonly sender: string; readonly receiver: string; readonly integrator: string };
}

interface SandboxSettings {
  readonly publicUrl: string;
  readonly adminUrl: string;
  /** The operator's token where the configuration gives one; otherwise the sandbox makes its own once and keeps it. */
  readonly adminToken: string | undefined;
}

/** Names and participants of the demo firms; the IČO and DIČ are made up. */
export const DEMO_FIRMS = {
  sender: {
    name: "Odosielateľ s. r. o.",
    ico: "99000017",
    participantId: "0245:2120000017" as ParticipantId,
    customerRef: "demo-sender",
  },
  receiver: {
    name: "Príjemca a. s.",
    ico: "99000025",
    participantId: "0245:2120000025" as ParticipantId,
    customerRef: "demo-receiver",
  },
} as const;

/** Who may sign in to the sandbox. No mail leaves for them: the top-level domain example exists nowhere. */
const DEMO_PEOPLE = {
  sender: "owner@odosielatel.example" as Email,
  receiver: "owner@prijemca.example" as Email,
  integrator: "admin@integrator.example" as Email,
} as const;

/** A demo key reads evidence and events too, so that everything can be tried out. */
const DEMO_KEY_SCOPES: readonly Scope[] = [...FIRM_KEY_SCOPES, "events:read", "evidence:read"];

interface Ports {
  readonly sql: Sql;
  readonly clock: Clock;
}

const FILE = "sandbox.json";

const sandboxFile = (dataDir: string): string => join(dataDir, FILE);

/** Reads DATA_DIR/sandbox.json; undefined when there is none or it is not whole. */
export function readSandbox(dataDir: string): Sandbox | undefined {
  if (!existsSync(sandboxFile(dataDir))) return undefined;
  try {
    const parsed = JSON.parse(readFileSync(sandboxFile(dataDir), "utf8")) as Partial<Sandbox>;
    return parsed.sender !== undefined &&
      parsed.receiver !== undefined &&
      parsed.integrator !== undefined &&
      parsed.admin !== undefined
      ? (parsed as Sandbox)
      : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const writeSandbox = (dataDir: string, sandbox: Sandbox): Promise<void> => {
  const path = sandboxFile(dataDir);
  return replaceFile(path, `${JSON.stringify(sandbox, null, 2)}\n`, `${path}.${process.pid}`);
};

async function demoFirm(
  ports: Ports,
  firm: { readonly name: string; readonly ico: string; readonly participantId: ParticipantId },
): Promise<FirmId> {
  const existing = await findOwnParticipant(ports.sql, participantKey(firm.participantId));
  const { value: dic } = participantParts(firm.participantId);
  const firmId =
    existing?.firmId ??
    (await createFirm(ports, {
      name: firm.name,
      ico: firm.ico,
      dic,
      icDph: `SK${dic}`,
      sandbox: true,
    }));
  await registerParticipant(ports, firmId, firm.participantId);
  await addCapabilities(ports.sql, participantKey(firm.participantId), PARTICIPANT_CAPABILITIES);
  return firmId;
}

async function demoKey(
  ports: Ports,
  owner: KeyOwner,
  scopes: readonly Scope[],
  name: string,
): Promise<{ readonly clientId: string; readonly clientSecret: string }> {
  const key = await createKey({ ...ports, environment: "sandbox" }, { owner, scopes, name });
  if (typeof key === "string") throw new Error(`the sandbox could not make a key: ${key}`);
  return { clientId: key.id, clientSecret: key.secret };
}

async function createSandbox(ports: Ports): Promise<Pick<Sandbox, "sender" | "receiver" | "integrator">> {
  const firms = {
    sender: await demoFirm(ports, DEMO_FIRMS.sender),
    receiver: await demoFirm(ports, DEMO_FIRMS.receiver),
  };
  const integratorId: IntegratorId = await createIntegrator(ports, {
    name: "Demo integrator",
    productionAuthorized: false,
  });
  for (const role of ["sender", "receiver"] as const) {
    await bindFirm(ports, {
      integratorId,
      firmId: firms[role],
      customerRef: DEMO_FIRMS[role].customerRef,
      scopes: SCOPES,
      interfaces: ["enterprise", "sapi", "connector"],
    });
  }
  const firmOf = async (role: "sender" | "receiver"): Promise<SandboxFirm> => ({
    firmId: firms[role],
    participantId: DEMO_FIRMS[role].participantId,
    ...(await demoKey(ports, { firmId: firms[role] }, DEMO_KEY_SCOPES, "Demo key")),
  });
  return {
    sender: await firmOf("sender"),
    receiver: await firmOf("receiver"),
    integrator: {
      integratorId,
      ...(await demoKey(ports, { integratorId }, SCOPES, "Demo central key")),
      customerRefs: { sender: DEMO_FIRMS.sender.customerRef, receiver: DEMO_FIRMS.receiver.customerRef },
    },
  };
}

/** Gives the demo people their offices, also in a sandbox from before there were any. */
async function demoPeople(
  { sql, clock }: Ports,
  { sender, receiver, integrator }: Pick<Sandbox, "sender" | "receiver" | "integrator">,
): Promise<void> {
  const offices = [
    { email: DEMO_PEOPLE.sender, role: "owner", firmId: parseFirmId(sender.firmId), integratorId: undefined },
    { email: DEMO_PEOPLE.receiver, role: "owner", firmId: parseFirmId(receiver.firmId), integratorId: undefined },
    {
      email: DEMO_PEOPLE.integrator,
      role: "admin",
      firmId: undefined,
      integratorId: parseIntegratorId(integrator.integratorId),
    },
  ] as const;
  for (const office of offices) await putMember(sql, { ...office, personId: newId(clock) as PersonId }, clock.now());
}

/** An operator's token of 256 random bits. */
const newAdminToken = (): string => randomBytes(32).toString("base64url");

/**
 * Makes the sandbox's firms, keys and file when they are not there; otherwise only brings the file's URLs up to date.
 * Safe to repeat, also after a crash between the rows and the file: the firms stay, only the keys are made again.
 */
export async function ensureSandbox(ports: Ports, dataDir: string, settings: SandboxSettings): Promise<Sandbox> {
  const found = readSandbox(dataDir);
  const known =
    found !== undefined &&
    (await findOwnParticipant(ports.sql, participantKey(found.sender.participantId as ParticipantId))) !== undefined;
  const tenants = known
    ? { sender: found.sender, receiver: found.receiver, integrator: found.integrator }
    : await createSandbox(ports);
  await demoPeople(ports, tenants);
  const sandbox: Sandbox = {
    baseUrl: `${settings.publicUrl}/api/v1`,
    sapiBaseUrl: `${settings.publicUrl}/sapi/v1`,
    adminUrl: settings.adminUrl,
    ...tenants,
    people: DEMO_PEOPLE,
    admin: { token: settings.adminToken ?? found?.admin.token ?? newAdminToken() },
  };
  await writeSandbox(dataDir, sandbox);
  return sandbox;
}
