/**
 * Every operation of the public listener, plugged in: which routes file makes it, and from which parts of the engine.
 *
 * This is the one place beside its routes file that a new operation touches: a port of it is one line here. The
 * operators' own operations are plugged in the same way in operators.ts.
 */
import type { Box } from "../../actors/box.js";
import { credentialKind, tokensThroughActors } from "../../actors/credential.js";
import type { Partners } from "../../actors/partner.js";
import { participantKey } from "../../engine/base/ids.js";
import { LIMITS } from "../../engine/base/limits.js";
import { readBoxDetail, readBoxItems } from "../../engine/documents/box/reads.js";
import { readFirmLicence, readIntegratorLicence } from "../../engine/billing/licences.js";
import { readDocumentEnvelope, readDocumentEvidence } from "../../engine/documents/reads/evidence.js";
import { viewDocument } from "../../engine/documents/reads/view.js";
import { readSubmissions } from "../../engine/documents/reports.js";
import { readStatistics } from "../../engine/documents/statistics.js";
import { readAccount, readKeyStatus } from "../../engine/identity/account.js";
import { readAudit, stampOf } from "../../engine/identity/audit.js";
import type { Identity } from "../../engine/identity/identity.js";
import { readConsentStatus, readOffer } from "../../engine/identity/partners/consents.js";
import { readFirm, readFirmDocuments, readFirms, readOwnFirm } from "../../engine/identity/partners/firms.js";
import { integratorOf } from "../../engine/identity/caller.js";
import { readKeys } from "../../engine/identity/partners/keys.js";
import { readTemplate, readTemplates } from "../../engine/identity/partners/templates.js";
import { hasFirmConsent, readFirmConsents } from "../../engine/identity/people/firm-consents.js";
import { resolveRecipient } from "../../engine/lookup/resolve.js";
import type { AccessPoint } from "../../engine/peppol/access-point.js";
import type { ConnectedPeers } from "../../engine/sandbox/sandbox.js";
import { openApiDocument } from "../contract/openapi.js";
import { plug } from "../contract/plug.js";
import type { Plug } from "../contract/plug.js";
import type { Route } from "../contract/route.js";
import { whiteLabelRoutes } from "../routes/white-label/white-label.js";
import type { WhiteLabel } from "./white-label.js";
import { frontRoutes } from "../routes/pages/front.js";
import { agreementRoutes } from "../routes/pages/oauth-agreement.js";
import { consentPageRoutes } from "../routes/pages/consent.js";
import { firmPageRoutes } from "../routes/pages/firm.js";
import { securityTextRoutes } from "../routes/security-txt.js";
import { signInRoutes } from "../routes/pages/sign-in.js";
import { authRoutes } from "../routes/auth.js";
import { mapperRoutes } from "../routes/connector/mapper.js";
import { connectorRoutes } from "../routes/connector/answers.js";
import { connectorDocumentRoutes } from "../routes/connector/documents.js";
import { webhookDebuggerRoutes } from "../routes/connector/debugger.js";
import { connectorWebhookRoutes } from "../routes/connector/webhook.js";
import { connectorEventRoutes, connectorRecordRoutes } from "../routes/connector/records.js";
import { boxRoutes } from "../routes/box.js";
import { documentRoutes } from "../routes/documents/lifecycle.js";
import { documentHandlingRoutes } from "../routes/documents/handling.js";
import { documentInboxRoutes } from "../routes/documents/inbox.js";
import { documentOutboxRoutes } from "../routes/documents/outbox.js";
import { documentPullRoutes } from "../routes/documents/pull.js";
import { documentSendRoutes } from "../routes/documents/send.js";
import { documentViewRoutes } from "../routes/documents/view.js";
import { pullRoutes } from "../routes/events/pull.js";
import { webhookRoutes } from "../routes/events/webhooks.js";
import { onboardingRoutes } from "../routes/people/onboarding.js";
import { oauthRoutes } from "../routes/people/oauth.js";
import { accountRoutes } from "../routes/partners/account.js";
import { consentRoutes } from "../routes/partners/consents.js";
import { licenceRoutes } from "../routes/partners/licences.js";
import { firmRoutes } from "../routes/partners/firms.js";
import { integratorKeyRoutes } from "../routes/partners/keys.js";
import { as4Routes, evidenceRoutes } from "../routes/peppol.js";
import { reportingRoutes } from "../routes/reporting.js";
import { sapiRoutes } from "../routes/sapi.js";
import { sandboxPeerRoutes } from "../routes/sandbox-peer.js";
import { smpRoutes } from "../routes/smp.js";
import { validatePageRoutes } from "../routes/validate-page.js";
import { validationRoutes } from "../routes/validation.js";
import { companyLookupRoutes } from "../routes/lookup/companies.js";
import { participantLookupRoutes } from "../routes/lookup/participants.js";
import { connectorDocumentPorts, connectorRecordPorts } from "./connector.js";
import { demoInvoice } from "./demo-invoice.js";
import { sandboxWords } from "./sandbox.js";
import type { LookupParts } from "./lookup.js";
import { handlingPorts, inboxPorts, lifecyclePorts, outboxPorts, pullPorts, sendPorts } from "./documents.js";
import type { DocumentParts } from "./documents.js";
import type { PeopleParts } from "./people.js";
import { guideRoutes } from "../routes/guide.js";
import { webRoutes } from "../routes/web.js";
import type { WebhookParts } from "./webhooks.js";

/** What of the running engine the ports of the rows are made of. Reads use what holds data, commands ask the actors. */
interface EngineParts extends Omit<PeopleParts, "mayReceive">, DocumentParts {
  readonly identity: Identity;
  /** Keys, firms and consents, through their actors. */
  readonly partners: Partners;
  readonly lookups: LookupParts;
  readonly whiteLabel: WhiteLabel;
  readonly webhooks: WebhookParts;
  /** Items of the Box, through their actors. */
  readonly box: Box;
}

/** The published contract, in the order of the reference. */
export const API_OPERATIONS: readonly Plug<EngineParts>[] = [
  plug(authRoutes, ({ actors, identity }) => ({
    ...tokensThroughActors(actors, credentialKind(identity), identity),
    jwks: identity.jwks,
  })),
  plug(onboardingRoutes, ({ onboarding, pfsSecret }) => ({ ...onboarding, pfsSecret })),
  plug(oauthRoutes, ({ oauth }) => oauth),
  plug(accountRoutes, ({ sql, clock, cursors, partners }) => ({
    ...partners,
    keyStatus: (caller) => readKeyStatus({ sql, clock }, caller),
    account: (caller) => readAccount({ sql, clock }, caller),
    audit: (caller, asked) => readAudit({ sql, cursors }, caller, asked),
  })),
  plug(licenceRoutes, ({ sql, clock }) => ({
    firmLicence: (firmId) => readFirmLicence({ sql, clock }, firmId),
    integratorLicence: (caller, page) =>
      readIntegratorLicence(
        { sql, clock },
        { integratorId: integratorOf(caller), onlyFirmId: caller.scopedFirmId, ...page },
      ),
  })),
  plug(integratorKeyRoutes, ({ sql, partners }) => ({
    ...partners,
    keys: async (caller) => readKeys(sql, integratorOf(caller)),
  })),
  plug(firmRoutes, ({ sql, clock, cursors, environment, partners }) => ({
    ...partners,
    firms: (caller, page) => readFirms({ sql, cursors }, caller, page),
    firm: (caller, firmId) => readFirm({ sql, environment }, caller, firmId),
    documents: (caller, firmId, asked) => readFirmDocuments({ sql, clock, environment }, caller, firmId, asked),
  })),
  plug(consentRoutes, ({ sql, clock, partners }) => ({
    ...partners,
    offer: async (caller, id) => readOffer({ sql, clock }, integratorOf(caller), id),
    consentStatus: (caller, subject) => readConsentStatus({ sql, clock }, caller, subject),
  })),
  plug(boxRoutes, ({ sql, sealer, clock, box }) => ({
    create: (wish, actor) => box.create({ ...wish, audit: stampOf(actor, clock) }),
    items: (firmId, query) => readBoxItems({ sql, clock }, firmId, query),
    item: (firmId, asked) => readBoxDetail({ sql, sealer, clock }, firmId, asked),
    operate: (wish, actor) => box.operate({ ...wish, audit: stampOf(actor, clock) }),
  })),
  plug(sapiRoutes, ({ actors, participant, inbox }) => ({
    send: (request) => actors.ask(participant, participantKey(request.sender), "ClaimSend", request),
    inbox,
    acknowledge: async (reader, id) => {
      const asked = { reader, document: { id } };
      return (await actors.ask(participant, participantKey(reader.participantId), "Acknowledge", asked)).at;
    },
  })),
  plug(documentSendRoutes, sendPorts),
  plug(documentRoutes, lifecyclePorts),
  plug(documentOutboxRoutes, outboxPorts),
  plug(documentInboxRoutes, inboxPorts),
  plug(documentPullRoutes, pullPorts),
  plug(documentHandlingRoutes, handlingPorts),
  plug(documentViewRoutes, (parts) => ({
    view: parts.validators.view.bind(parts.validators),
    document: (firmId, id, options) => viewDocument({ ...parts, ...outboxPorts(parts) }, firmId, id, options),
  })),
  plug(webhookRoutes, ({ webhooks }) => webhooks),
  plug(pullRoutes, ({ webhooks }) => webhooks),
  plug(connectorDocumentRoutes, connectorDocumentPorts),
  plug(connectorRecordRoutes, connectorRecordPorts),
  plug(connectorEventRoutes, connectorRecordPorts),
  plug(connectorRoutes, ({ actors, document }) => ({
    respond: ({ documentId, ...request }) => actors.ask(document, documentId, "Respond", request),
  })),
  plug(connectorWebhookRoutes, ({ webhooks }) => webhooks),
  plug(webhookDebuggerRoutes, ({ webhooks }) => webhooks),
  plug(mapperRoutes, ({ validators, sql, partners }) => ({
    ...partners,
    templates: (caller) => readTemplates(sql, caller),
    template: (caller, templateKey) => readTemplate(sql, caller, templateKey),
    map: validators.map.bind(validators),
    ownFirm: (firmId) => readOwnFirm(sql, firmId),
  })),
  plug(validationRoutes, ({ validators, sql }) => ({
    report: validators.report.bind(validators),
    parse: validators.parse.bind(validators),
    convert: validators.convert.bind(validators),
    ownFirm: (firmId) => readOwnFirm(sql, firmId),
  })),
  plug(whiteLabelRoutes, ({ whiteLabel }) => whiteLabel),
  plug(participantLookupRoutes, ({ lookups }) => lookups.participants),
  plug(companyLookupRoutes, ({ lookups }) => ({
    directory: lookups.directory,
    resolve: (key, asked) => resolveRecipient(lookups, key, asked),
  })),
  plug(evidenceRoutes, ({ sql, archive, log, sealer, validators }) => ({
    evidence: (firmId, id) => readDocumentEvidence({ sql, archive, log, sealer, validators }, firmId, id),
    envelope: (firmId, id) => readDocumentEnvelope({ sql, archive, log }, firmId, id),
  })),
  plug(reportingRoutes, ({ sql, clock }) => ({
    statistics: (firmId, asked) => readStatistics(sql, firmId, asked, clock.now()),
    submissions: (type, page) => readSubmissions(sql, type, page),
  })),
];

/** What people see. The rows are no part of the published contract. */
const PAGES: readonly Plug<EngineParts>[] = [
  plug(frontRoutes, ({ pages, people }) => ({ ...pages, people })),
  plug(agreementRoutes, ({ pages, people, oauth }) => ({ ...pages, people, oauth })),
  plug(consentPageRoutes, ({ pages, people, partners, sql }) => ({
    ...pages,
    people,
    consents: partners,
    holds: (integratorId, firmId) => hasFirmConsent(sql, integratorId, firmId),
  })),
  plug(firmPageRoutes, ({ pages, people, partners, sql }) => ({
    ...pages,
    people,
    consents: (firmId) => readFirmConsents(sql, firmId),
    revokeConsent: partners.revokeConsent,
  })),
  plug(signInRoutes, ({ pages, people }) => ({ ...pages, people })),
];

/** What other service providers call; only an access point that is in the network answers there. */
const NETWORK_OPERATIONS: readonly Plug<AccessPoint>[] = [
  plug(as4Routes, ({ receiver }) => ({ receive: receiver })),
  plug(smpRoutes, ({ smpServer }) => smpServer),
];

/** The rows of the published contract for those who only read them. */
export const describedOperations = (): readonly Route[] =>
  API_OPERATIONS.flatMap((operations) => operations.described());

/** All rows of the public listener: the contract, the pages and documents that describe it, and the network's doors. */
export function publicRows(
  parts: EngineParts,
  accessPoint: AccessPoint | undefined,
  peers: ConnectedPeers | undefined,
): readonly Route[] {
  const contract = API_OPERATIONS.flatMap((operations) => operations.rows(parts));
  const words = peers === undefined ? undefined : sandboxWords();
  const { securityContact: contact } = parts;
  return [
    ...contract,
    ...PAGES.flatMap((pages) => pages.rows(parts)),
    ...webRoutes({
      document: (name) => openApiDocument(name, contract, words),
      sampleInvoice: () => demoInvoice(parts.clock, LIMITS.reference_invoice_lines),
      isMadeAtStart: parts.environment === "production",
    }),
    ...guideRoutes(),
    ...(contact === undefined ? [] : securityTextRoutes({ contact, publicUrl: parts.pages.publicUrl })),
    ...validatePageRoutes(),
    ...(accessPoint === undefined ? [] : NETWORK_OPERATIONS.flatMap((operations) => operations.rows(accessPoint))),
    ...(peers === undefined ? [] : sandboxPeerRoutes(peers)),
  ];
}
