/** Writes Message Level Statuses: what we, as the receiving service provider, say about a document. */
import { LIMITS } from "../../base/limits.js";
import { aggregate, applicationResponse, basic, clipped, utcDate, utcTime } from "./application-response.js";
import { MLS_CUSTOMIZATION, MLS_PROFILE, readMls } from "./mls.js";
import type { Mls, MlsIssue } from "./mls.js";
import { PROVIDER_SCHEME } from "../seats.js";

const party = (name: "SenderParty" | "ReceiverParty", provider: string): string =>
  aggregate(name, basic("EndpointID", provider, { schemeID: PROVIDER_SCHEME }));

const issue = ({ location, reason, description }: MlsIssue): string =>
  aggregate(
    "LineResponse",
    aggregate("LineReference", basic("LineID", clipped(location, LIMITS.status_location_chars_max) || "NA")),
    aggregate(
      "Response",
      basic("Description", clipped(description, LIMITS.status_text_chars_max)),
      aggregate("Status", basic("StatusReasonCode", reason)),
    ),
  );

/**
 * Writes one status and reads it back strictly, so that nothing leaves that we would refuse.
 *
 * Issues beyond LIMITS.mls_issues_max are left out, failures stay before warnings.
 * @throws Error for a status that contradicts itself (a rejection without a failure, a failure without a rejection): a
 * bug of the caller
 */
export function buildMls(mls: Mls): Buffer {
  const ordered = [
    ...mls.issues.filter(({ reason }) => reason !== "BW"),
    ...mls.issues.filter(({ reason }) => reason === "BW"),
  ];
  const bytes = applicationResponse(
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
        ...(mls.description === undefined
          ? []
          : [basic("Description", clipped(mls.description, LIMITS.status_text_chars_max))]),
      ),
      aggregate("DocumentReference", basic("ID", mls.reference)),
      ...ordered.slice(0, LIMITS.mls_issues_max).map(issue),
    ),
  );
  const read = readMls(bytes);
  if (typeof read === "string") throw new Error(`a status of ours is refused by our own reader: ${read}`);
  return bytes;
}
