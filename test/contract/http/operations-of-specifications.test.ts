/**
 * Whether the published documents hold every operation that the specifications name, and no other without a reason. The
 * table is theirs, in the order of their tables, with its source beside each group; what is offered besides stands in a
 * list of its own, which can only shrink.
 */
import { expect, test } from "vitest";

import { publishedDocuments } from "../../support/engines/published-rows.js";

type Document = keyof typeof publishedDocuments;

/** One group of a specification: below which mount, and its operations, a line each. */
interface Group {
  readonly source: string;
  readonly document: Document;
  readonly mount: string;
  readonly operations: string;
}

const GROUPS: readonly Group[] = [
  {
    source: "spec/sapi.md, Endpoints",
    document: "sapi",
    mount: "/sapi/v1",
    operations: `
      POST /auth/token
      GET /auth/token/status
      POST /auth/renew
      POST /auth/revoke
      POST /document/send
      GET /document/receive
      GET /document/receive/{documentId}
      POST /document/receive/{documentId}/acknowledge`,
  },
  {
    source: "spec/enterprise.md, Onboarding and Consent offers; spec/shapes.md, section 3",
    document: "enterprise",
    mount: "/api/v1",
    operations: `
      POST /onboarding-requests
      GET /onboarding-requests/{id}
      POST /consent-offers
      GET /consent-offers/{offerId}
      GET /firms/consent-status
      POST /firms/consent-link
      GET /firms
      GET /firms/{id}
      GET /firms/{id}/documents
      POST /firms/assign
      POST /firms/assign/batch
      POST /firms/{id}/peppol-identifiers`,
  },
  {
    source: "spec/enterprise.md, Box",
    document: "enterprise",
    mount: "/api/v1",
    operations: `
      GET /box/items
      POST /box/items
      GET /box/items/{itemId}
      POST /box/items/{itemId}/schedule
      POST /box/items/{itemId}/send-now
      POST /box/items/{itemId}/retry
      POST /box/items/{itemId}/cancel`,
  },
  {
    source: "spec/enterprise.md, Authentication and keys; Account and licence; spec/rulings.md, section 9",
    document: "enterprise",
    mount: "/api/v1",
    operations: `
      POST /auth/token
      POST /auth/renew
      POST /auth/revoke
      GET /auth/token/status
      GET /auth/status
      POST /auth/rotate-secret
      GET /auth/ip-allowlist
      PUT /auth/ip-allowlist
      GET /integrator/keys
      POST /integrator/keys
      DELETE /integrator/keys
      DELETE /integrator/keys/{keyId}
      GET /account
      GET /audit
      GET /licenses/info
      GET /integrator/licenses/info`,
  },
  {
    source: "spec/enterprise.md, Authentication and keys: the code exchange has no version in its path",
    document: "enterprise",
    mount: "",
    operations: `POST /oauth/token`,
  },
  {
    source: "spec/enterprise.md, Webhooks, events and lifecycle; spec/shapes.md, section 5",
    document: "enterprise",
    mount: "/api/v1",
    operations: `
      POST /webhooks
      GET /webhooks
      GET /webhooks/{id}
      PATCH /webhooks/{id}
      DELETE /webhooks/{id}
      POST /webhooks/{id}/test
      GET /webhooks/{id}/deliveries
      POST /webhooks/{id}/rotate-secret
      GET /webhook-dead-letter
      POST /webhook-dead-letter/{deliveryId}/replay
      POST /webhook-dead-letter/{deliveryId}/resolve
      GET /events/pull
      POST /events/{eventId}/ack
      POST /events/batch-ack
      GET /webhook-queue/all
      POST /webhook-queue/all/batch-ack
      GET /documents/{id}/status
      GET /documents/{id}/events`,
  },
  {
    source: "spec/rulings.md, section 13, and spec/shapes.md, section 6: documents, inbox, pull",
    document: "enterprise",
    mount: "/api/v1",
    operations: `
      POST /documents/send
      POST /documents/send/batch
      POST /documents/status/batch
      POST /documents/preflight
      GET /documents/{id}
      GET /documents/{id}/evidence
      GET /documents/{id}/ubl
      GET /documents/{id}/pdf
      GET /documents/{id}/envelope
      GET /documents/{id}/support-packet
      GET /documents/{id}/responses
      POST /documents/{id}/respond
      POST /documents/{id}/mark
      GET /documents/outbox
      GET /documents/inbox
      GET /documents/inbox/all
      GET /documents/inbox/{id}
      POST /documents/inbox/{id}/acknowledge
      GET /inbound/documents
      GET /inbound/documents/{id}
      GET /inbound/documents/{id}/ubl
      POST /inbound/documents/{id}/ack
      GET /outbound/documents
      GET /outbound/documents/{id}
      GET /outbound/documents/{id}/ubl
      GET /outbound/documents/{id}/mdn
      GET /outbound/events`,
  },
  {
    source: "spec/rulings.md, section 13, and spec/shapes.md, section 6: lookup, payloads, reporting",
    document: "enterprise",
    mount: "/api/v1",
    operations: `
      GET /peppol/participants/{scheme}/{identifier}
      GET /peppol/participants/resolve
      POST /peppol/participants/batch
      POST /peppol/capabilities
      GET /peppol/directory/search
      GET /company/lookup/{ico}
      GET /company/search
      POST /payloads/validate
      POST /payloads/parse
      POST /payloads/convert
      GET /reporting/statistics
      GET /reporting/submissions`,
  },
  {
    source: "spec/rulings.md, section 13: the public validation",
    document: "enterprise",
    mount: "/api",
    operations: `POST /validate`,
  },
  {
    source: "spec/enterprise.md, White Label; spec/rulings.md, section 12",
    document: "enterprise",
    mount: "/api/v1",
    operations: `
      POST /white-label/participants/registrations
      GET /white-label/operations/{operationId}
      GET /white-label/participants
      GET /white-label/participants/{participantId}
      POST /white-label/participants/migrations
      POST /white-label/participants/{participantId}/migration-code
      POST /customers
      GET /customers`,
  },
  {
    source: "spec/enterprise.md, Connector; spec/rulings.md, section 11; spec/shapes.md, section 7",
    document: "connector",
    mount: "/api/v1",
    operations: `
      POST /connector/documents
      GET /connector/documents
      GET /connector/documents/{documentId}
      POST /connector/documents/{documentId}/send
      POST /connector/documents/{documentId}/cancel
      GET /connector/documents/{documentId}/ubl
      GET /connector/documents/{documentId}/evidence
      GET /connector/documents/{documentId}/support-packet
      GET /connector/events
      POST /connector/documents/{documentId}/acknowledge
      POST /connector/documents/{documentId}/respond
      POST /connector/mapper`,
  },
  {
    source: "spec/enterprise.md, Connector; spec/rulings.md, section 11, Webhook; spec/shapes.md, section 7",
    document: "connector",
    mount: "/api/v1",
    operations: `
      GET /connector/webhook
      PUT /connector/webhook
      DELETE /connector/webhook
      POST /connector/webhook/rotate-secret
      POST /connector/webhook/test
      POST /connector/webhook/test-suite
      GET /connector/webhook/test-suite/{suiteId}
      GET /connector/webhook/deliveries
      GET /connector/webhook/deliveries/{deliveryId}
      POST /connector/webhook/deliveries/{deliveryId}/replay`,
  },
];

/** Operations that no specification names, each with what it is there for. None is added without a specification. */
const EXTRAS: readonly (Pick<Group, "document" | "mount" | "operations"> & { readonly why: string })[] = [
  {
    why: "access tokens can be verified by others",
    document: "enterprise",
    mount: "",
    operations: "GET /.well-known/jwks.json",
  },
  {
    why: "spec/shapes.md, section 9: a picture of the invoice (HTML, PDF) beside its XML",
    document: "enterprise",
    mount: "/api/v1",
    operations: "GET /documents/{id}/html",
  },
  {
    why: "the mapper's templateKey names a template, which has to come from somewhere",
    document: "connector",
    mount: "/api/v1",
    operations: `
      GET /connector/mapper/templates
      GET /connector/mapper/templates/{templateKey}
      PUT /connector/mapper/templates/{templateKey}
      DELETE /connector/mapper/templates/{templateKey}`,
  },
];
const EXTRAS_MAX = 6;

/** What a document offers, parameters without their names. */
const offeredBy = (document: Document): ReadonlySet<string> => {
  const { paths } = publishedDocuments[document] as unknown as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  return new Set(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => unnamed(`${method.toUpperCase()} ${path}`)),
    ),
  );
};

/** The specifications call a path's parameters now so, now so. */
const unnamed = (operation: string): string => operation.replace(/\{\w+\}/gu, "{}");

/** The operations of a table, a mount before each path. */
const namedIn = ({ mount, operations }: Pick<Group, "mount" | "operations">): readonly string[] =>
  operations
    .trim()
    .split("\n")
    .map((line) => {
      const [method = "", path = "", ...more] = line.trim().split(" ");
      expect([line, path.startsWith("/"), more]).toEqual([line, true, []]);
      return `${method} ${mount}${path}`;
    });

test.each(GROUPS)("the published documents hold every operation of $source", (group) => {
  const offered = offeredBy(group.document);
  expect(namedIn(group).filter((operation) => !offered.has(unnamed(operation)))).toEqual([]);
});

test.each(Object.keys(publishedDocuments) as Document[])(
  "every operation of the %s document is one of the specifications, or one of the named extras",
  (document) => {
    const known = [...GROUPS, ...EXTRAS].filter((group) => group.document === document).flatMap(namedIn);
    expect([...offeredBy(document)].filter((operation) => !known.map(unnamed).includes(operation))).toEqual([]);
  },
);

test.each(EXTRAS)("what is offered besides ($why) is offered, and named by no specification", (extra) => {
  const offered = offeredBy(extra.document);
  const specified = GROUPS.filter(({ document }) => document === extra.document)
    .flatMap(namedIn)
    .map(unnamed);
  const extras = namedIn(extra).map(unnamed);
  expect(extras.filter((operation) => !offered.has(operation))).toEqual([]);
  expect(extras.filter((operation) => specified.includes(operation))).toEqual([]);
});

test("the list of extras does not grow", () => {
  expect(EXTRAS.flatMap(namedIn).length).toBeLessThanOrEqual(EXTRAS_MAX);
});
