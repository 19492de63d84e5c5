/**
 * Goal: whatever another provider signs as a status or an answer is read with values of the closed lists, or refused with a
 * fault of the list. Bounded and seeded: `SEED=… RUNS=…` repeats or extends a run.
 */
import { expect, test } from "vitest";

import type { ParticipantId } from "../../engine/base/ids.js";
import { buildInvoiceResponse, RESPONSE_FAULTS } from "../../engine/peppol/responses/invoice-response.js";
import { RESPONSE_CODES } from "../../engine/lifecycle/response.js";
import { buildMls } from "../../engine/peppol/responses/mls-builder.js";
import { MLS_CODES, MLS_FAULTS, MLS_REASONS } from "../../engine/peppol/responses/mls.js";
import { parseXml } from "../../validators/xml/tree.js";
import { Random, seedFrom } from "../support/random.js";
import { invoiceResponseIn, mlsIn } from "../support/as4/responses.js";

const SEED = seedFrom(20_261_120);
const ROUNDS = 2_000 * Number(process.env["RUNS"] ?? 1);
const AT = Date.parse("2026-11-20T12:00:00Z");

const status = buildMls({
  id: "1",
  issuedAt: AT,
  sender: "123456",
  receiver: "987654",
  code: "RE",
  description: "Rejected for its total.",
  reference: "90f14eff-3705-4869-ad3c-caae270a234e",
  issues: [
    { location: "/Invoice/cbc:ID", reason: "BV", description: "The total is wrong." },
    { location: "NA", reason: "SV", description: "x" },
  ],
});
const PIECES = [
  "<",
  ">",
  "/>",
  "&",
  "&amp;",
  "&#0;",
  "<!--x-->",
  "<![CDATA[RE]]>",
  "<?x?>",
  "<!DOCTYPE x>",
  '"',
  " ",
  "\0",
  "\xff",
  "RE",
  "AP",
  "AB",
  "BV",
  "NA",
  "0242:",
  "9".repeat(400),
  "<cbc:ResponseCode>RE</cbc:ResponseCode>",
  "<cac:DocumentResponse/>",
  "<cac:LineResponse><cac:LineReference><cbc:LineID>1</cbc:LineID></cac:LineReference></cac:LineResponse>",
  ' schemeID="0242"',
  ' xmlns="urn:x"',
];

function damaged(source: Buffer, random: Random): Buffer {
  let bytes = source;
  for (let i = 0; i <= random.int(4); i += 1) {
    const [at, length] = [random.int(bytes.length), random.int(120)];
    const from = random.int(source.length);
    bytes = Buffer.concat(
      random.pick([
        [bytes.subarray(0, at), bytes.subarray(at + length)],
        [bytes.subarray(0, at), Buffer.from(random.pick(PIECES), "latin1"), bytes.subarray(at)],
        [bytes.subarray(0, at), source.subarray(from, from + length), bytes.subarray(at)],
        [bytes.subarray(0, at), Buffer.from([random.int(256)]), bytes.subarray(at + 1)],
      ]),
    );
    if (bytes.length === 0) bytes = Buffer.from("<");
  }
  return bytes;
}

test("a damaged Message Level Status is read with values of the lists, or refused with a fault of the list", () => {
  const random = new Random(SEED);
  expect(mlsIn(status)).toMatchObject({ code: "RE" });
  let read = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const bytes = damaged(status, random);
    const result = mlsIn(bytes);
    const where = `SEED=${SEED} round ${round}`;
    if (typeof result === "string") {
      expect(MLS_FAULTS, where).toContain(result);
      continue;
    }
    read += 1;
    expect(parseXml(bytes).kind, where).toBe("document");
    expect(MLS_CODES, where).toContain(result.code);
    for (const { reason } of result.issues) expect(MLS_REASONS, where).toContain(reason);
    // A rejection has a reason, a success has none that would contradict it.
    expect(
      result.issues.some(({ reason }) => reason !== "BW"),
      where,
    ).toBe(result.code === "RE");
    expect(
      [
        Number.isFinite(result.issuedAt),
        result.reference !== "",
        /^\d{6}/.test(result.sender),
        /^\d{6}/.test(result.receiver),
      ],
      where,
    ).toEqual([true, true, true, true]);
  }
  expect(read, "some damage does no harm, or nothing is tested").toBeGreaterThan(10);
});

test("a damaged Invoice Response is read with values of the lists, or refused with a fault of the list", () => {
  const random = new Random(SEED);
  const response = buildInvoiceResponse({
    id: "1",
    issuedAt: AT,
    sender: { participant: "0245:2020202020" as ParticipantId, name: "A" },
    receiver: { participant: "0245:1234567890" as ParticipantId, name: "B" },
    code: "UQ",
    note: "The order number is missing.",
    invoice: { number: "F-1", issueDate: "2026-11-20", typeCode: "380" },
  });
  expect(invoiceResponseIn(response)).toMatchObject({ code: "UQ" });
  let read = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const result = invoiceResponseIn(damaged(response, random));
    const where = `SEED=${SEED} round ${round}`;
    if (typeof result === "string") expect(RESPONSE_FAULTS, where).toContain(result);
    else {
      read += 1;
      expect(RESPONSE_CODES, where).toContain(result.code);
      expect(result.invoice.number, where).not.toBe("");
    }
  }
  expect(read, "some damage does no harm, or nothing is tested").toBeGreaterThan(10);
});

test.each([
  ["0000-01-01", "00:00:00Z"],
  ["0001-01-01", "00:00:00+14:00"],
  ["9999-12-31", "23:59:59-14:00"],
  ["12026-01-01", "00:00:00Z"],
])("a status of %s at %s, which no database reads back, is refused", (date, time) => {
  const dated = status
    .toString()
    .replace(/(<cbc:IssueDate>)[^<]*/, `$1${date}`)
    .replace(/(<cbc:IssueTime>)[^<]*/, `$1${time}`);
  expect(mlsIn(Buffer.from(dated))).toBe("issued");
});
