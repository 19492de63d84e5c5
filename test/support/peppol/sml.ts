/** An SML for tests: its management interface over TLS with client certificates, answers that a test decides, and a register that can be kept. */
import { createServer } from "node:https";
import type { Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";

import { pemOf } from "../../../engine/peppol/pki/certificate.js";
import { smlName } from "../../../engine/peppol/discovery/sml.js";
import { childElements, parseXml, textOf } from "../../../validators/xml/tree.js";
import { smpRecord } from "./dns-server.js";
import type { DnsBehaviour } from "./dns-server.js";
import type { TestPki } from "./test-pki.js";

/** One call as it arrived. */
export interface SmlCall {
  readonly action: string;
  readonly element: string;
  readonly values: Readonly<Record<string, string>>;
  /** Common name of the client's certificate. */
  readonly client: string;
  readonly path: string;
}

/** `reset` ends the connection, undefined never answers. */
export type SmlAnswer = { readonly status?: number; readonly body?: string } | "reset" | undefined;

export interface FakeSml {
  readonly url: string;
  /** PEM of the authority of its TLS certificate. */
  readonly ca: string;
  readonly seen: SmlCall[];
  answer: (call: SmlCall) => SmlAnswer;
  close(): void;
}

const EMPTY = '<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body/></S:Envelope>';

/** A SOAP fault with this detail. */
export const soapFault = (detail: string): { readonly status: number; readonly body: string } => ({
  status: 500,
  body: `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body><S:Fault><faultcode>S:Server</faultcode><faultstring>no</faultstring><detail>${detail}</detail></S:Fault></S:Body></S:Envelope>`,
});
/** A fault of the interface. */
export const locatorFault = (name: string): ReturnType<typeof soapFault> =>
  soapFault(`<${name} xmlns="http://busdox.org/serviceMetadata/locator/1.0/"><FaultMessage>x</FaultMessage></${name}>`);

/** @param options.clientCa  PEM of the authorities of its clients. @default the root of the PKI */
export async function startFakeSml(pki: TestPki, options: { readonly clientCa?: string } = {}): Promise<FakeSml> {
  const host = pki.leaf("smp", "localhost", { subject: { CN: "localhost" } });
  const seen: SmlCall[] = [];
  const state: { answer: FakeSml["answer"] } = { answer: () => ({}) };
  const server: Server = createServer(
    {
      key: host.privateKey.export({ type: "pkcs8", format: "pem" }),
      cert: pemOf(host.certificate) + pemOf(pki.smp.certificate),
      ca: [options.clientCa ?? pemOf(pki.root.certificate)],
      requestCert: true,
      rejectUnauthorized: true,
    },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const tree = parseXml(Buffer.concat(chunks));
        const [operation] = tree.kind === "refused" ? [] : childElements(tree.root).flatMap(childElements);
        const values = Object.fromEntries(
          (operation === undefined ? [] : childElements(operation)).map((child) => [child.local, textOf(child) ?? ""]),
        );
        const call = {
          action: String(request.headers["soapaction"]),
          element: operation?.local ?? "",
          values,
          client: String((request.socket as TLSSocket).getPeerCertificate().subject.CN),
          path: request.url ?? "",
        };
        seen.push(call);
        const given = state.answer(call);
        if (given === "reset") request.socket.destroy();
        else if (given !== undefined)
          response.writeHead(given.status ?? 200, { "content-type": "text/xml" }).end(given.body ?? EMPTY);
      });
    },
  );
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return Object.assign(state, {
    seen,
    ca: pemOf(pki.root.certificate),
    url: `https://localhost:${(server.address() as AddressInfo).port}/edelivery-sml/`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
}

/** Who holds which participant, as an SML and its DNS zone know it. */
export interface SmlRegister {
  /** Participant → id of its SMP. */
  readonly holders: Map<string, string>;
  /** Participant → migration key that its holder has prepared. */
  readonly keys: Map<string, string>;
  /** What the management interface answers. */
  readonly answer: (call: SmlCall) => SmlAnswer;
  /** What DNS answers. */
  readonly dns: DnsBehaviour;
}

/** @param addresses  id of each SMP → its address in DNS */
export function smlRegister(zone: string, addresses: Readonly<Record<string, string>>): SmlRegister {
  const holders = new Map<string, string>();
  const keys = new Map<string, string>();
  const operations: Readonly<Record<string, (participant: string, smp: string, key: string) => SmlAnswer>> = {
    CreateParticipantIdentifier: (participant, smp) =>
      holders.has(participant) ? locatorFault("BadRequestFault") : (holders.set(participant, smp), {}),
    DeleteParticipantIdentifier: (participant, smp) => {
      if (!holders.has(participant)) return locatorFault("NotFoundFault");
      return holders.get(participant) === smp ? (holders.delete(participant), {}) : locatorFault("UnauthorizedFault");
    },
    PrepareMigrationRecord: (participant, smp, key) =>
      holders.get(participant) === smp ? (keys.set(participant, key), {}) : locatorFault("UnauthorizedFault"),
    CompleteMigrationRecord: (participant, smp, key) =>
      keys.get(participant) === key
        ? (keys.delete(participant), holders.set(participant, smp), {})
        : locatorFault("NotFoundFault"),
  };
  return {
    holders,
    keys,
    answer: ({ element, values }) =>
      operations[element]?.(
        values["ParticipantIdentifier"] ?? "",
        values["ServiceMetadataPublisherID"] ?? "",
        values["MigrationKey"] ?? "",
      ),
    dns: (name) => {
      const [, smp] = [...holders].find(([participant]) => smlName(participant, zone) === name) ?? [];
      const address = smp === undefined ? undefined : addresses[smp];
      return address === undefined ? { rcode: 3 } : { naptr: [smpRecord(address)] };
    },
  };
}
