/**
 * The data model of the Invoice Response: which elements it has, which are required, which values are coded. The basic
 * rules (PEPPOL-T111-B…) follow from it, and so do their numbers: three digits count the elements and attributes of the
 * model in order, two the claims about each.
 */
import type { ElementId, XmlDocument } from "../../xml/document.js";
import { EAS, ICD } from "../codes/schemes.js";
import { nameId } from "../path.js";
import { textNode } from "../peppol/xpath.js";
import { fatal, rule } from "../rule.js";
import type { Assert, Rule, Test } from "../rule.js";
import { normalizeSpace } from "../values.js";
import { CLARIFICATION_LISTS, DOCUMENT_CODES, RESPONSE_CODES, STATUS_ACTIONS, STATUS_REASONS } from "./codes.js";

interface CodeSet {
  readonly name: string;
  readonly codes: ReadonlySet<string>;
}

interface AttributeModel {
  readonly term: string;
  readonly required: boolean;
  readonly list: CodeSet;
}

interface ElementModel {
  readonly term: string;
  readonly required?: boolean;
  readonly list?: CodeSet;
  readonly attribute?: AttributeModel;
  readonly children?: readonly ElementModel[];
  /** No rule against other children: UBL has none. */
  readonly open?: boolean;
}

const must = (term: string, more: Omit<ElementModel, "term" | "required"> = {}): ElementModel => ({
  term,
  required: true,
  ...more,
});
const may = (term: string, more: Omit<ElementModel, "term" | "required"> = {}): ElementModel => ({ term, ...more });

const ADDRESS = must("cbc:EndpointID", {
  attribute: { term: "schemeID", required: true, list: { name: "electronic address schemes (EAS)", codes: EAS.codes } },
});
const PARTY_ID = may("cac:PartyIdentification", {
  open: true,
  children: [
    must("cbc:ID", {
      attribute: {
        term: "schemeID",
        required: false,
        list: { name: "identifier schemes (ISO 6523)", codes: ICD.codes },
      },
    }),
  ],
});
const LEGAL_NAME = must("cac:PartyLegalEntity", { children: [must("cbc:RegistrationName")] });
const CONTACT = may("cac:Contact", { children: [may("cbc:Name"), may("cbc:Telephone"), may("cbc:ElectronicMail")] });
const NAMED_PARTY = [PARTY_ID, must("cac:PartyName", { open: true, children: [must("cbc:Name")] })];

const STATUS = may("cac:Status", {
  children: [
    may("cbc:StatusReasonCode", {
      list: { name: "clarification reasons and actions", codes: new Set([...STATUS_REASONS, ...STATUS_ACTIONS]) },
      attribute: {
        term: "listID",
        required: true,
        list: { name: "clarification lists (OPStatusReason, OPStatusAction)", codes: CLARIFICATION_LISTS },
      },
    }),
    may("cbc:StatusReason"),
    may("cac:Condition", { children: [must("cbc:AttributeID"), may("cbc:Description")] }),
  ],
});

const RESPONSE = must("cac:Response", {
  children: [
    must("cbc:ResponseCode", {
      list: { name: "invoice status codes (AB, IP, UQ, CA, RE, AP, PD)", codes: RESPONSE_CODES },
    }),
    may("cbc:EffectiveDate"),
    STATUS,
  ],
});

const REFERENCE = must("cac:DocumentReference", {
  children: [
    must("cbc:ID"),
    may("cbc:IssueDate"),
    must("cbc:DocumentTypeCode", { list: { name: "document name codes (UNTDID 1001)", codes: DOCUMENT_CODES } }),
  ],
});

const MODEL: ElementModel = must("ApplicationResponse", {
  children: [
    must("cbc:CustomizationID"),
    must("cbc:ProfileID"),
    must("cbc:ID"),
    must("cbc:IssueDate"),
    may("cbc:IssueTime"),
    may("cbc:Note"),
    must("cac:SenderParty", { children: [ADDRESS, PARTY_ID, LEGAL_NAME, CONTACT] }),
    must("cac:ReceiverParty", { children: [ADDRESS, PARTY_ID, LEGAL_NAME] }),
    must("cac:DocumentResponse", {
      children: [
        RESPONSE,
        REFERENCE,
        may("cac:IssuerParty", { children: NAMED_PARTY }),
        may("cac:RecipientParty", { children: NAMED_PARTY }),
      ],
    }),
  ],
});

/** The basic rules, each element before its children and a rule for unknown children behind them. */
export function basicRules(): readonly Rule[] {
  let last = 0;
  return elementRules(MODEL, "", () => (last += 1));
}

/** @param next  the next number of the official list, in which an attribute has one of its own */
function elementRules(model: ElementModel, above: string, next: () => number): Rule[] {
  const path = `${above}/${model.term}`;
  const element = String(next()).padStart(3, "0");
  if (model.attribute !== undefined) next();
  const claims = [...claimsAbout(model), ...(model.term === "ApplicationResponse" ? [noSchemaLocation] : [])];
  const number = (index: number): string => `PEPPOL-T111-B${element}${String(index + 1).padStart(2, "0")}`;
  const known = (model.children ?? []).flatMap((child) => elementRules(child, path, next));
  const others =
    model.children === undefined || model.open === true
      ? []
      : [
          rule(
            `${path}/*`,
            fatal(
              number(claims.length),
              "",
              `${model.term} of an invoice response has no such element. Remove it.`,
              () => false,
            ),
          ),
        ];
  return [rule(path, ...claims.map((claim, index) => claim(number(index)))), ...known, ...others];
}

type Claim = (id: string) => Assert;

const noSchemaLocation: Claim = (id) =>
  fatal(
    id,
    "",
    "The document names the location of a schema. Remove the attribute schemaLocation.",
    hasNoSchemaLocation,
  );

/** Holds when the document does not say where its schema lies: a receiver must not be sent elsewhere for it. */
export const hasNoSchemaLocation: Test = (doc, e) => {
  for (let i = 0; i < doc.attrCount(e); i += 1)
    if (doc.expanded(doc.attrName(e, i)).local === "schemaLocation") return false;
  return true;
};

/** What is claimed of one element: required children, coded text, attribute. */
function claimsAbout(model: ElementModel): Claim[] {
  const { list, attribute } = model;
  return [
    ...(model.children ?? [])
      .filter((child) => child.required === true)
      .map((child): Claim => {
        const name = nameId(child.term);
        return (id) => fatal(id, "", `${model.term} needs ${child.term}. Add it.`, (doc, e) => doc.has(e, name));
      }),
    ...(list === undefined
      ? []
      : [
          (id: string) =>
            fatal(
              id,
              "",
              `The code in ${model.term} is not one of the ${list.name}.`,
              (doc: XmlDocument, e: ElementId) => list.codes.has(normalizeSpace(textNode(doc, e))),
            ),
        ]),
    ...(attribute === undefined ? [] : attributeClaims(model.term, attribute)),
  ];
}

function attributeClaims(element: string, { term, required, list }: AttributeModel): Claim[] {
  const name = nameId(`@${term}`);
  const present: Claim = (id) =>
    fatal(id, "", `${element} needs the attribute ${term}. Add it.`, (doc, e) => doc.attr(e, name) !== undefined);
  const listed: Claim = (id) =>
    fatal(id, "", `The attribute ${term} of ${element} is not one of the ${list.name}.`, (doc, e) => {
      const value = doc.attr(e, name);
      return value === undefined || list.codes.has(value);
    });
  return required ? [present, listed] : [listed];
}
