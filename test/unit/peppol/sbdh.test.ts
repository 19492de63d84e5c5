/** Goal: what we put into an envelope comes out byte for byte, and an envelope that could be read in two ways is refused. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";

import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { BILLING_CAPABILITIES } from "../../../engine/peppol/envelope/identifiers.js";
import { bareDocument, buildSbd } from "../../../engine/peppol/envelope/build.js";
import type { NewSbd } from "../../../engine/peppol/envelope/build.js";
import { readSbd, SBDH_FAULTS } from "../../../engine/peppol/envelope/read.js";
import type { SbdhFault } from "../../../engine/peppol/envelope/read.js";
import { Random, seedFrom } from "../../support/random.js";
import { scan } from "../../../validators/xml/scanner.js";

const [invoiceType = { documentTypeId: "", processId: "" }] = BILLING_CAPABILITIES;
const INVOICE = '<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"><ID>Č-1</ID></Invoice>';

const sbd = (changes: Partial<NewSbd> = {}): NewSbd => ({
  sender: "0245:2020202020" as ParticipantId,
  receiver: "0245:1234567890" as ParticipantId,
  documentType: invoiceType.documentTypeId,
  process: invoiceType.processId,
  instanceId: "0d3e6fd7-1d3e-4f3a-9d3e-6fd71d3e4f3a",
  createdAt: Date.parse("2026-11-20T09:00:00.123Z"),
  countryC1: "SK",
  payload: Buffer.from(INVOICE),
  ...changes,
});

function built(changes: Partial<NewSbd> = {}): string {
  const result = buildSbd(sbd(changes));
  if (result.kind === "refused") throw new Error(`refused: ${result.fault}`);
  return result.bytes.toString("utf8");
}

const read = (text: string, mode: "strict" | "inbound" = "strict"): ReturnType<typeof readSbd> =>
  readSbd(Buffer.from(text), { mode });
const faultOf = (text: string): SbdhFault | undefined => {
  const result = read(text);
  return result.kind === "refused" ? result.fault : undefined;
};

test("every value of the header is read as it was written", () => {
  expect(read(built({ mlsType: "ALWAYS_SEND", mlsTo: "0242:987654" }))).toMatchObject({
    header: {
      sender: "0245:2020202020",
      receiver: "0245:1234567890",
      documentType: invoiceType.documentTypeId,
      documentTypeScheme: "busdox-docid-qns",
      process: invoiceType.processId,
      processScheme: "cenbii-procid-ubl",
      instanceId: "0d3e6fd7-1d3e-4f3a-9d3e-6fd71d3e4f3a",
      createdAt: Date.parse("2026-11-20T09:00:00.123Z"),
      standard: "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2",
      type: "Invoice",
      typeVersion: "2.1",
      countryC1: "SK",
      mls: { type: "ALWAYS_SEND", to: "0242:987654" },
      otherScopes: [],
    },
    warnings: [],
  });
});

test("the payload comes out byte for byte, without its declaration and the white space around it, whatever its text", () => {
  const seed = seedFrom(20261120);
  const space = fc.stringMatching(/^[ \t\r\n]{0,4}$/);
  const declaration = fc.constantFrom(
    "",
    '<?xml version="1.0"?>',
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>',
    "\ufeff<?xml version='1.0' encoding='utf-8' ?>",
  );
  const escape = (text: string): string => text.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`);
  fc.assert(
    fc.property(
      declaration,
      space,
      fc.string({ unit: "grapheme", maxLength: 80 }),
      space,
      fc.constantFrom("", "<!-- </sh:StandardBusinessDocument> -->", "<!-- before -->"),
      (head, before, text, after, comment) => {
        const body = `${comment}<q:Invoice xmlns:q="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" a="x > y">${escape(text)}</q:Invoice>`;
        const result = buildSbd(sbd({ payload: Buffer.from(head + before + body + after) }));
        if (result.kind === "refused") throw new Error(result.fault);
        const back = readSbd(result.bytes, { mode: "strict" });
        return back.kind === "sbd" && back.payload.bytes.toString() === body && back.payload.inherited.length === 0;
      },
    ),
    { seed, numRuns: 300 },
  );
});

describe("an envelope is refused", () => {
  const good = built();
  const cases: readonly (readonly [string, string, SbdhFault])[] = [
    ["that is no XML", "no", "not_xml"],
    ["with a DOCTYPE", good.replace("<sh:Standard", "<!DOCTYPE x><sh:Standard"), "not_xml"],
    [
      "in another namespace",
      good.replaceAll("http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader", "urn:x"),
      "header_missing",
    ],
    ["with another header version", good.replace(">1.0<", ">1.1<"), "header_version"],
    ["with a comment inside a value", good.replace("0245:2020202020", "0245:20<!-- -->20202020"), "sender_value"],
    [
      "with a participant that carries its scheme",
      good.replace("0245:2020202020", "iso6523-actorid-upis::0245:2020202020"),
      "sender_value",
    ],
    ["whose creation time has no zone", good.replace("09:00:00.123Z", "09:00:00.123"), "creation_date"],
    ["whose creation month does not exist", good.replace("2026-11-20T", "2026-13-20T"), "creation_date"],
    ["whose creation day does not exist", good.replace("2026-11-20T", "2026-02-31T"), "creation_date"],
    [
      "that says it holds several documents",
      good.replace("<sh:CreationDateAndTime>", "<sh:MultipleType>true</sh:MultipleType><sh:CreationDateAndTime>"),
      "multiple_type",
    ],
    [
      "with two DOCUMENTID scopes",
      good.replace(
        "<sh:Scope>",
        "<sh:Scope><sh:Type>DOCUMENTID</sh:Type><sh:InstanceIdentifier>x</sh:InstanceIdentifier></sh:Scope><sh:Scope>",
      ),
      "scope_twice",
    ],
    [
      "with too many scopes",
      good.replace(
        "<sh:Scope>",
        `${"<sh:Scope><sh:Type>x</sh:Type><sh:InstanceIdentifier>1</sh:InstanceIdentifier></sh:Scope>".repeat(LIMITS.sbdh_scopes_max)}<sh:Scope>`,
      ),
      "scopes_too_many",
    ],
    ["with a country in small letters", good.replace(">SK<", ">sk<"), "country_c1"],
    [
      "whose type is another element",
      good.replace("<sh:Type>Invoice</sh:Type>", "<sh:Type>CreditNote</sh:Type>"),
      "type",
    ],
    [
      "whose document type is of another root",
      good.replaceAll("Invoice-2::Invoice##", "Invoice-2::Other##"),
      "document_type_mismatch",
    ],
    ["whose payload is text", good.replace(/<Invoice.*<\/Invoice>/, "text"), "business_message"],
    ["with text before the payload", good.replace("<Invoice", "x<Invoice"), "business_message"],
    ["with text behind the payload", good.replace("</Invoice>", "</Invoice>x"), "business_message"],
    ["with a declaration inside", good.replace("<Invoice", '<?xml version="1.0"?><Invoice'), "business_message"],
    [
      "that ends with the end of something else",
      good.replace("</sh:StandardBusinessDocument>", "</sh:StandardBusinessDocumenX>"),
      "business_message",
    ],
    ["that is cut off", good.slice(0, -10), "business_message"],
    ["with something behind its end", `${good}<x/>`, "business_message"],
    [
      "whose end stands in a comment",
      good.replace("</sh:StandardBusinessDocument>", "<!-- </sh:StandardBusinessDocument> -->"),
      "business_message",
    ],
    [
      "whose payload is a header again",
      good.replace(/<Invoice.*<\/Invoice>/, "<sh:StandardBusinessDocumentHeader/>"),
      "business_message",
    ],
    [
      "with a start tag that never ends",
      good.replace("<Invoice ", `<Invoice a="${"x".repeat(LIMITS.sbdh_start_tag_bytes_max)}" `),
      "business_message",
    ],
  ];
  test.each(cases)("an envelope is refused: %s", (_, text, fault) => expect(faultOf(text)).toBe(fault));

  test("an envelope that is not UTF-8 is refused", () => {
    expect(readSbd(Buffer.from(good.replace("Č", "\xc8"), "latin1"), { mode: "strict" })).toEqual({
      kind: "refused",
      fault: "not_xml",
    });
  });

  test("two payloads make a slice that is no document", () => {
    const two = read(good.replace(INVOICE, INVOICE + INVOICE));
    expect(two.kind === "sbd" && scan(two.payload.bytes).kind).toBe("refused");
  });
});

test("comments behind the end, any prefix and any order of scopes are accepted", () => {
  const good = built();
  expect(read(`${good}\n<!-- sent by x -->\n`).kind).toBe("sbd");
  expect(read(good.replaceAll("<sh:", "<").replaceAll("</sh:", "</").replace("xmlns:sh", "xmlns")).kind).toBe("sbd");
  expect(read(good.replace(/(<sh:Scope>.*?<\/sh:Scope>)(<sh:Scope>.*?<\/sh:Scope>)/, "$2$1")).kind).toBe("sbd");
});

test("a scope that the specification does not name is tolerated, however long its value is", () => {
  const long = "x".repeat(LIMITS.sbdh_value_chars_max + 1);
  const scope = (type: string): string =>
    `<sh:Scope><sh:Type>${type}</sh:Type><sh:InstanceIdentifier>${long}</sh:InstanceIdentifier></sh:Scope>`;
  const result = read(built().replace("<sh:Scope>", `${scope("LOCAL")}<sh:Scope>`));
  expect(result).toMatchObject({ kind: "sbd", header: { otherScopes: [{ type: "LOCAL", value: long }] } });
  expect(read(built().replace(/<sh:Scope><sh:Type>COUNTRY_C1.*?<\/sh:Scope>/, scope("COUNTRY_C1")))).toMatchObject({
    kind: "refused",
    fault: "scope_malformed",
  });
});

test("a payload that relies on the envelope's declarations becomes a document of its own", () => {
  const envelope = built()
    .replace(
      "<sh:StandardBusinessDocument ",
      '<sh:StandardBusinessDocument xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:c="urn:c" xmlns:unused="urn:u" ',
    )
    .replace(INVOICE, "<Invoice><c:ID>1</c:ID></Invoice>");
  const result = read(envelope);
  expect(result).toMatchObject({
    kind: "sbd",
    payload: { inherited: ["", "c"], rootNamespace: "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" },
  });
  expect(result.kind === "sbd" && result.payload.bytes.toString()).toBe(
    '<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2" xmlns:c="urn:c"><c:ID>1</c:ID></Invoice>',
  );
});

test("nothing is built that we would refuse ourselves", () => {
  expect(buildSbd(sbd({ payload: Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><Invoice/>') }))).toEqual({
    kind: "refused",
    fault: "encoding",
  });
  expect(buildSbd(sbd({ countryC1: "" }))).toEqual({ kind: "refused", fault: "country_c1" });
  expect(buildSbd(sbd({ instanceId: "" }))).toEqual({ kind: "refused", fault: "instance_identifier" });
  expect(buildSbd(sbd({ documentType: "x" }))).toEqual({ kind: "refused", fault: "standard_missing" });
  expect(buildSbd(sbd({ payload: Buffer.from("<CreditNote/>") }))).toEqual({ kind: "refused", fault: "standard" });
  expect(buildSbd(sbd({ payload: Buffer.from("") }))).toEqual({ kind: "refused", fault: "business_message" });
  expect(buildSbd(sbd({ mlsTo: "1" }))).toEqual({ kind: "refused", fault: "mls_to_value" });
});

test("an id of any letters fits an index: as many octets as the limit, not one more", () => {
  const most = LIMITS.sbdh_id_bytes_max;
  expect(read(built({ instanceId: "x".repeat(most) }))).toMatchObject({ kind: "sbd" });
  for (const instanceId of ["x".repeat(most + 1), "\u4e00".repeat(Math.ceil((most + 1) / 3))]) {
    expect(faultOf(built({ instanceId: "the-id" }).replace("the-id", instanceId))).toBe("instance_identifier");
  }
});

test.each(["0000-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])(
  "the date %s, which no database reads back, is refused",
  (date) => {
    expect(faultOf(built().replace(/(<sh:CreationDateAndTime>)[^<]*/, `$1${date}`))).toBe("creation_date");
  },
);

test.each([
  ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
  ["9999-12-31T23:59:59.9999Z", "9999-12-31T23:59:59.999Z"],
  ["2026-11-20T10:00:00.123456789+01:00", "2026-11-20T09:00:00.123Z"],
])("the date %s is read as %s", (date, expected) => {
  const result = read(built().replace(/(<sh:CreationDateAndTime>)[^<]*/, `$1${date}`));
  expect(result.kind === "sbd" && new Date(result.header.createdAt).toISOString()).toBe(expected);
});

test("markup in values is written as text", () => {
  expect(read(built({ process: 'urn:a<b>&"c' }))).toMatchObject({ header: { process: 'urn:a<b>&"c' } });
});

test("the bare document keeps processing instructions that only look like a declaration", () => {
  expect(bareDocument(Buffer.from("<?xml-stylesheet href='x'?><a/>"))?.toString()).toBe(
    "<?xml-stylesheet href='x'?><a/>",
  );
});

test("damaged envelopes are read or refused, never a crash, and what is read has a payload inside the bytes", () => {
  const seed = seedFrom(20261120);
  const random = new Random(seed);
  const good = Buffer.from(built({ mlsType: "ALWAYS_SEND", mlsTo: "0242:987654" }));
  for (let round = 0; round < 3_000; round += 1) {
    const bytes = Buffer.from(good);
    for (let i = 0; i <= random.int(4); i += 1)
      bytes[random.int(bytes.length)] =
        random.int(3) === 0 ? random.int(256) : random.pick([...Buffer.from("<>/&\"'!-?: ")]);
    const from = random.int(bytes.length);
    const cut =
      random.int(3) === 0 ? Buffer.concat([bytes.subarray(0, from), bytes.subarray(from + random.int(60))]) : bytes;
    const result = readSbd(cut, { mode: random.pick(["strict", "inbound"] as const) });
    if (result.kind === "refused") expect(SBDH_FAULTS, `SEED=${seed} round ${round}`).toContain(result.fault);
    else
      expect(
        result.payload.start < result.payload.end && result.payload.end < cut.length,
        `SEED=${seed} round ${round}`,
      ).toBe(true);
  }
});
