/** Writes Message Level Statuses: what we, as the receiving service provider, say about a document. */
import type { ResponseFacts } from "../../../validators/responses.js";
import { LIMITS } from "../../base/limits.js";
import { aggregate, applicationResponse, basic, clipped, utcDate, utcTime } from "./application-response.js";
import { MLS_CUSTOMIZATION, MLS_PROFILE, readMls } from "./mls.js";
import type { Mls, MlsIssue } from "./mls.js";
import { PROVIDER_SCHEME } from "../seats.js";

const party = (name: "SenderParty" | "ReceiverParty", provider: string): string =>
  aggregate(name, basic("EndpointID", provider, { schemeID: PROVIDER_SCHEME }));

const textOf = (text: string): string => clipped(text, LIMITS.status_text_chars_max);

/** The issues that are written, as they are written. */
function issuesOf(mls: Mls): readonly MlsIssue[] {
  const ordered = [
    ...mls.issues.filter(({ reason }) => reason !== "BW"),
    ...mls.issues.filter(({ reason }) => reason === "BW"),
  ];
  return ordered.slice(0, LIMITS.mls_issues_max).map(({ location, reason, description }) => ({
    location: clipped(location, LIMITS.status_location_chars_max) || "NA",
    reason,
    description: textOf(description),
  }));
}

const issueXml = ({ location, reason, description }: MlsIssue): string =>
  aggregate(
    "LineResponse",
    aggregate("LineReference", basic("LineID", location)),
    aggregate("Response", basic("Description", description), aggregate("Status", basic("StatusReasonCode", reason))),
  );

const endpoint = (provider: string): ResponseFacts["sender"] => ({ schemeId: PROVIDER_SCHEME, value: provider });

/** What a reader will find in the status that is written with these issues. */
const factsOf = (mls: Mls, issues: readonly MlsIssue[]): ResponseFacts => ({
  customizationId: MLS_CUSTOMIZATION,
  profileId: MLS_PROFILE,
  id: mls.id,
  issueDate: utcDate(mls.issuedAt),
  issueTime: utcTime(mls.issuedAt),
  sender: endpoint(mls.sender),
  receiver: endpoint(mls.receiver),
  answer: {
    code: mls.code,
    description: presence(mls.description === undefined ? "" : textOf(mls.description)),
    reasons: [],
    document: { number: presence(mls.reference), issueDate: undefined, typeCode: undefined },
    otherReferences: [],
    issues: issues.some(({ description }) => description === "") ? undefined : issues,
    issueReasons: issues.map(({ reason }) => reason),
  },
});

const presence = (text: string): string | undefined => (text === "" ? undefined : text);

/**
 * Writes one status and judges it as a strict reader would, so that nothing leaves that we would refuse.
 *
 * Issues beyond LIMITS.mls_issues_max are left out, failures stay before warnings.
 * @throws Error for a status that contradicts itself (a rejection without a failure, a failure without a rejection): a
 * bug of the caller
 */
export function buildMls(mls: Mls): Buffer {
  const issues = issuesOf(mls);
  const read = readMls(factsOf(mls, issues));
  if (typeof read === "string") throw new Error(`a status of ours is refused by our own reader: ${read}`);
  return applicationResponse(
    basic("CustomizationID", MLS_CUSTOMIZATION),
    basic("ProfileID", MLS_PROFILE),
    basic("ID", mls.id),
    basic("IssueDate", utcDate(mls.issuedAt)),
    basic("IssueTime", utcTime(mls.issuedAt)),
    party("SenderParty", mls.sender),
    party("ReceiverParty", mls.receiver),
    aggregate(
      "DocumentResponse",
      aggregate(
        "Response",
        basic("ResponseCode", mls.code),
        ...(mls.description === undefined ? [] : [basic("Description", textOf(mls.description))]),
      ),
      aggregate("DocumentReference", basic("ID", mls.reference)),
      ...issues.map(issueXml),
    ),
  );
}
