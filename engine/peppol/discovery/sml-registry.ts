/**
 * Registers participants in the SML: the management interface ManageParticipantIdentifier, SOAP 1.1 over TLS with the
 * certificate of our SMP. DNS is the only anonymous way to read; this is the way to write.
 * @source Peppol SML 1.3.0 (ManageBusinessIdentifierService-1.0.wsdl); design/as4.md section 10
 */
import { randomInt } from "node:crypto";

import { escapeText } from "../../../validators/xml/c14n.js";
import { childElements, onlyChild, parseXml } from "../../../validators/xml/tree.js";
import type { XmlElement } from "../../../validators/xml/tree.js";
import { PARTICIPANT_SCHEME } from "../../base/ids.js";
import type { ParticipantId } from "../../base/ids.js";
import { LIMITS } from "../../base/limits.js";
import { createHttpClient } from "../network/http.js";
import type { Http, HttpResult } from "../network/http.js";
import { pemOf } from "../pki/certificate.js";
import type { OwnIdentity } from "../pki/own-keys.js";
import { IDS_NS } from "./smp-document.js";

/** Addresses of the network. @source design/as4.md section 10 */
export const SML_MANAGEMENT_URLS = {
  production: "https://api.sml.prod.tech.peppol.org/edelivery-sml",
  test: "https://api.sml.test.tech.peppol.org/edelivery-sml",
} as const;

const SOAP_NS = "http://schemas.xmlsoap.org/soap/envelope/";
const LOCATOR_NS = "http://busdox.org/serviceMetadata/locator/1.0/";
/** The nine spaces are part of the published name. */
const ACTION = "http://busdox.org/serviceMetadata/ManageBusinessIdentifierService/1.0/         :";

/** Operation → the element of its body and the end of its SOAPAction. */
const OPERATIONS = {
  create: { element: "CreateParticipantIdentifier", action: "createIn" },
  delete: { element: "DeleteParticipantIdentifier", action: "deleteIn" },
  prepareToMigrate: { element: "PrepareMigrationRecord", action: "prepareMigrateIn" },
  migrate: { element: "CompleteMigrationRecord", action: "migrateIn" },
} as const satisfies Record<string, { readonly element: string; readonly action: string }>;
type RegistryOperation = keyof typeof OPERATIONS;

/** How a call to the SML can end, and whether the same call may be made again. */
export const REGISTRY_OUTCOMES = {
  done: { retryable: false },
  /** The SML or the participant's record is not there, or the migration key is not the prepared one. */
  not_found: { retryable: false },
  /** Our certificate is not that of the SMP, or the participant belongs to another one. */
  unauthorized: { retryable: false },
  /** The SML does not accept the request: the participant is registered already, or its id is of the wrong form. */
  bad_request: { retryable: false },
  /** A fault of the SML. */
  internal_error: { retryable: true },
  /** Nothing was sent: the SML could not be reached. */
  unreachable: { retryable: true },
  /** Sent, and no answer that could be read: it may have been done. Ask DNS before anything is repeated. */
  unknown: { retryable: false },
} as const satisfies Record<string, { readonly retryable: boolean }>;
/** How a call to the SML ended. */
export type RegistryOutcomeKind = keyof typeof REGISTRY_OUTCOMES;

/** How a call to the SML ended, with a code for the operator. */
export interface RegistryOutcome {
  readonly kind: RegistryOutcomeKind;
  /** Short: a fault's name, an HTTP status, a code of the network. */
  readonly code: string;
}

/** The registry as the rest of the engine sees it. No operation throws. */
export interface Registry {
  /** Says in the network that our SMP speaks for a participant. */
  create(participant: ParticipantId): Promise<RegistryOutcome>;
  delete(participant: ParticipantId): Promise<RegistryOutcome>;
  /** Allows whoever knows the key to take the participant over. @param migrationKey from newMigrationKey */
  prepareToMigrate(participant: ParticipantId, migrationKey: string): Promise<RegistryOutcome>;
  /** Takes over a participant of another SMP with the key that its holder was given. */
  migrate(participant: ParticipantId, migrationKey: string): Promise<RegistryOutcome>;
}

/** What the calls to the SML need. */
export interface SmlRegistryOptions {
  /** Base address of the management interface. */
  readonly url: string;
  /** Id of our SMP in the SML. */
  readonly smpId: string;
  /** Identity of our SMP, asked for each call so that a new certificate is used at once. */
  readonly identity: () => OwnIdentity;
  /** PEM of authorities that TLS servers may be certified by; for tests and private networks. @default the system's */
  readonly ca?: readonly string[];
  /** @default LIMITS.outbound_total_ms */
  readonly timeout_ms?: number;
}

/** Makes the registry that calls the SML. Its address is not judged, because the operator has configured it. */
export function createSmlRegistry(options: SmlRegistryOptions): Registry {
  const { request } = createHttpClient({
    policy: { allowLoopback: false, ownOrigins: [new URL(options.url).origin] },
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  });
  const call = async (
    operation: RegistryOperation,
    participant: ParticipantId,
    migrationKey?: string,
  ): Promise<RegistryOutcome> => {
    if (migrationKey !== undefined && !isMigrationKey(migrationKey))
      return { kind: "bad_request", code: "MIGRATION_KEY" };
    return outcomeOf(
      await send(options, request, operation, envelope(operation, options.smpId, participant, migrationKey)),
    );
  };
  return {
    create: (participant) => call("create", participant),
    delete: (participant) => call("delete", participant),
    prepareToMigrate: (participant, migrationKey) => call("prepareToMigrate", participant, migrationKey),
    migrate: (participant, migrationKey) => call("migrate", participant, migrationKey),
  };
}

function envelope(
  operation: RegistryOperation,
  smpId: string,
  participant: ParticipantId,
  migrationKey: string | undefined,
): string {
  const { element } = OPERATIONS[operation];
  const publisher = `<l:ServiceMetadataPublisherID>${escapeText(smpId)}</l:ServiceMetadataPublisherID>`;
  const identifier = `<i:ParticipantIdentifier scheme="${PARTICIPANT_SCHEME}">${escapeText(participant.toLowerCase())}</i:ParticipantIdentifier>`;
  const key = migrationKey === undefined ? "" : `<l:MigrationKey>${escapeText(migrationKey)}</l:MigrationKey>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<s:Envelope xmlns:s="${SOAP_NS}"><s:Body><l:${element} xmlns:l="${LOCATOR_NS}" xmlns:i="${IDS_NS}">${publisher}${identifier}${key}</l:${element}></s:Body></s:Envelope>`;
}

function send(
  { url, identity, timeout_ms }: SmlRegistryOptions,
  http: Http,
  operation: RegistryOperation,
  body: string,
): Promise<HttpResult> {
  const { certificate, chain, privateKey } = identity();
  return http({
    method: "POST",
    url: `${url.replace(/\/+$/, "")}/manageparticipantidentifier`,
    use: "sml",
    headers: {
      "content-type": "text/xml; charset=utf-8",
      soapaction: `"${ACTION}${OPERATIONS[operation].action}"`,
    },
    body: Buffer.from(body),
    bytes_max: LIMITS.sml_answer_bytes_max,
    // node's TLS takes keys as PEM only; the text lives as long as this call.
    identity: {
      key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      cert: [certificate, ...chain.slice(0, -1)].map(pemOf).join(""),
    },
    ...(timeout_ms === undefined ? {} : { timeout_ms }),
  });
}

/** What the faults of the interface mean, by the name of their element. */
const FAULTS: Readonly<Record<string, RegistryOutcomeKind>> = {
  NotFoundFault: "not_found",
  UnauthorizedFault: "unauthorized",
  BadRequestFault: "bad_request",
  InternalErrorFault: "internal_error",
};

function outcomeOf(answer: HttpResult): RegistryOutcome {
  // TLS 1.3 lets us send before the server has judged our certificate, so that a refusal comes after the request.
  if (answer.kind === "failed")
    return { kind: answer.uploaded && answer.fault !== "tls" ? "unknown" : "unreachable", code: answer.code };
  const code = `http_${answer.status}`;
  const body = soapBody(answer.body);
  if (answer.status >= 200 && answer.status < 300)
    return {
      kind: answer.body.length === 0 || (body !== undefined && faultIn(body) === undefined) ? "done" : "unknown",
      code,
    };
  const fault = body && faultIn(body);
  if (fault !== undefined)
    return { kind: FAULTS[fault] ?? "internal_error", code: FAULTS[fault] === undefined ? code : fault };
  if (answer.status === 401 || answer.status === 403) return { kind: "unauthorized", code };
  return { kind: answer.status === 503 || answer.status === 429 ? "unreachable" : "unknown", code };
}

function soapBody(bytes: Buffer): XmlElement | undefined {
  const tree = parseXml(bytes);
  return tree.kind === "refused" || tree.root.ns !== SOAP_NS || tree.root.local !== "Envelope"
    ? undefined
    : onlyChild(tree.root, SOAP_NS, "Body");
}

/** The name of the fault in a body: that of its detail's element; `Fault` when it says nothing more. */
function faultIn(body: XmlElement): string | undefined {
  const fault = onlyChild(body, SOAP_NS, "Fault");
  if (fault === undefined) return undefined;
  const detail = childElements(fault).find(({ local }) => local === "detail");
  const named =
    detail === undefined
      ? undefined
      : childElements(detail).find(({ ns, local }) => ns === LOCATOR_NS && Object.hasOwn(FAULTS, local));
  return named?.local ?? "Fault";
}

const LETTERS_AND_DIGITS = ["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"] as const;
// Without `%`: an SMP takes the key as a segment of a path, and servers such as Jetty refuse an escaped `%` there.
const KEY_KINDS = [...LETTERS_AND_DIGITS, "@#$()[]{}*^-!~|+="] as const;
const KEY_KINDS_TAKEN = [...LETTERS_AND_DIGITS, "@#$%()[]{}*^_-!~|+="] as const;
const KEY_SHAPE = /^[\x21-\x7e]{8,24}$/;
const KEY_CHARS = 24;
const KEY_CHARS_OF_EACH_KIND = 2;

/**
 * A migration key: 24 characters, at least two of each kind, drawn by the system's random source.
 * @source Peppol SML 1.3.0: 8 to 24 characters, at least two small and two capital letters, two digits, two of
 * @#$%()[]{}*^-!~|+= (we draw no `%`, D-341)
 */
export function newMigrationKey(): string {
  const all = KEY_KINDS.join("");
  const pick = (text: string): string => text[randomInt(text.length)] ?? "";
  const chars = [...KEY_KINDS.flatMap((kind) => Array.from({ length: KEY_CHARS_OF_EACH_KIND }, () => pick(kind)))];
  while (chars.length < KEY_CHARS) chars.push(pick(all));
  for (let i = chars.length - 1; i > 0; i -= 1) {
    const j = randomInt(i + 1);
    [chars[i], chars[j]] = [chars[j] ?? "", chars[i] ?? ""];
  }
  return chars.join("");
}

/**
 * Whether the registry takes a text as a migration key. The one that another provider gives us may hold more signs than
 * we draw: the registry counts `_` among the special ones, and lets pass what is no white space.
 * @source peppol-commons CSMLDefault.MIGRATION_CODE_PATTERN and issue #37 (the registry's own words, ERR-106)
 */
export const isMigrationKey = (text: string): boolean =>
  KEY_SHAPE.test(text) &&
  KEY_KINDS_TAKEN.every((kind) => [...text].filter((char) => kind.includes(char)).length >= KEY_CHARS_OF_EACH_KIND);
