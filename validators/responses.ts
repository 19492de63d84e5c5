/**
 * What an ApplicationResponse says, as plain values: a Message Level Status or an Invoice Response. Nothing is judged
 * here; what stands twice where it may stand once is as if it were not there.
 */
import { NS } from "./xml/names.js";
import { attributeOf, childrenNamed, onlyChild, parseXml, textOf } from "./xml/tree.js";
import type { XmlElement, XmlTreeLimits } from "./xml/tree.js";

/** An electronic address with its scheme. */
interface StatedEndpoint {
  readonly schemeId: string;
  readonly value: string;
}

/** A cac:Status of an Invoice Response: why, or what is to be done. */
interface StatedReason {
  readonly list: string | undefined;
  readonly code: string | undefined;
  readonly text: string | undefined;
}

/** What a Message Level Status finds wrong at one place. */
interface StatedIssue {
  readonly location: string;
  readonly reason: string;
  readonly description: string;
}

/** What the one cac:DocumentResponse says. */
interface StatedAnswer {
  readonly code: string | undefined;
  readonly description: string | undefined;
  /** Why, and what is to be done; of more than `entriesMax` the first. */
  readonly reasons: readonly StatedReason[];
  /** The document that it is about: the first that it names. */
  readonly document: {
    readonly number: string | undefined;
    readonly issueDate: string | undefined;
    readonly typeCode: string | undefined;
  };
  /** Numbers of the documents that it names behind, of the first `entriesMax`; undefined for one without a number. */
  readonly otherReferences: readonly (string | undefined)[];
  /** The first `entriesMax`; undefined when one of all of them lacks its place, its reason or its one description. */
  readonly issues: readonly StatedIssue[] | undefined;
  /** Reason codes of all issues, each once; of more than `REASON_CODES_MAX` different ones the first. */
  readonly issueReasons: readonly string[];
}

/** Texts are trimmed; undefined where there is none, an empty one, or several. */
export interface ResponseFacts {
  readonly customizationId: string | undefined;
  readonly profileId: string | undefined;
  readonly id: string | undefined;
  readonly issueDate: string | undefined;
  readonly issueTime: string | undefined;
  readonly sender: StatedEndpoint | undefined;
  readonly receiver: StatedEndpoint | undefined;
  /** Undefined when there is no cac:DocumentResponse, or more than one. */
  readonly answer: StatedAnswer | undefined;
}

export interface ResponseInput {
  readonly bytes: Uint8Array;
  readonly limits: XmlTreeLimits;
  /** So many issues and reasons are taken out at most: more would only be copied between threads. */
  readonly entriesMax: number;
}

/** The published list has four; a fifth makes a status unreadable, so that more need not be known. */
const REASON_CODES_MAX = 16;

/** @returns undefined for what is no ApplicationResponse within the limits */
export function readResponse({ bytes, limits, entriesMax }: ResponseInput): ResponseFacts | undefined {
  const read = parseXml(bytes, limits);
  if (read.kind === "refused") return undefined;
  const { root } = read;
  if (root.ns !== NS.ApplicationResponse || root.local !== "ApplicationResponse") return undefined;
  const [answer, ...others] = parts(root, "DocumentResponse");
  return {
    customizationId: value(root, "CustomizationID"),
    profileId: value(root, "ProfileID"),
    id: value(root, "ID"),
    issueDate: value(root, "IssueDate"),
    issueTime: value(root, "IssueTime"),
    sender: endpointOf(part(root, "SenderParty")),
    receiver: endpointOf(part(root, "ReceiverParty")),
    answer: answer === undefined || others.length > 0 ? undefined : answerOf(answer, entriesMax),
  };
}

function answerOf(answer: XmlElement, entriesMax: number): StatedAnswer {
  const response = part(answer, "Response");
  const [document, ...others] = parts(answer, "DocumentReference");
  const issues = issuesOf(answer);
  const kinds = [...new Set(issues?.map(({ reason }) => reason))];
  return {
    code: value(response, "ResponseCode"),
    description: value(response, "Description"),
    reasons: response === undefined ? [] : parts(response, "Status").slice(0, entriesMax).map(reasonOf),
    document: {
      number: value(document, "ID"),
      issueDate: value(document, "IssueDate"),
      typeCode: value(document, "DocumentTypeCode"),
    },
    otherReferences: others.slice(0, entriesMax).map((other) => value(other, "ID")),
    issues: issues?.slice(0, entriesMax),
    issueReasons: kinds.slice(0, REASON_CODES_MAX),
  };
}

const reasonOf = (status: XmlElement): StatedReason => ({
  list: attributeOfValue(status, "StatusReasonCode", "listID"),
  code: value(status, "StatusReasonCode"),
  text: value(status, "StatusReason"),
});

function issuesOf(answer: XmlElement): readonly StatedIssue[] | undefined {
  const found: StatedIssue[] = [];
  for (const line of parts(answer, "LineResponse")) {
    const location = value(part(line, "LineReference"), "LineID");
    if (location === undefined) return undefined;
    for (const response of parts(line, "Response")) {
      const description = value(response, "Description");
      const reason = value(part(response, "Status"), "StatusReasonCode");
      if (description === undefined || reason === undefined) return undefined;
      found.push({ location, reason, description });
    }
  }
  return found;
}

const part = (element: XmlElement, local: string): XmlElement | undefined => onlyChild(element, NS.cac, local);
const parts = (element: XmlElement, local: string): readonly XmlElement[] => childrenNamed(element, NS.cac, local);

function value(element: XmlElement | undefined, local: string): string | undefined {
  const child = element === undefined ? undefined : onlyChild(element, NS.cbc, local);
  const text = child === undefined ? undefined : textOf(child)?.trim();
  return text === undefined || text === "" ? undefined : text;
}

function endpointOf(party: XmlElement | undefined): StatedEndpoint | undefined {
  const schemeId = party === undefined ? undefined : attributeOfValue(party, "EndpointID", "schemeID");
  const text = value(party, "EndpointID");
  return schemeId === undefined || text === undefined ? undefined : { schemeId, value: text };
}

function attributeOfValue(element: XmlElement, local: string, attribute: string): string | undefined {
  const child = onlyChild(element, NS.cbc, local);
  return child === undefined ? undefined : attributeOf(child, attribute);
}
