/**
 * XML whose cost could be more than its size: work is counted, not timed. Bindings of prefixes are written to maps and
 * colons are looked for in buffers, so that both are counted there.
 */
import { serialize } from "node:v8";
import { expect, test, vi } from "vitest";

import { buildIfNeeded } from "../../../deploy/build.mjs";
import type { ParticipantId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import { smpWorkers } from "../../../engine/documents/inbound/arrival-workers.js";
import { serviceGroupXml } from "../../../engine/peppol/discovery/smp-document.js";
import { readSbd } from "../../../engine/peppol/envelope/read.js";
import { RESPONSE_LIMITS } from "../../../engine/peppol/responses/application-response.js";
import { sampleInvoice } from "../../../engine/invoices/sample-invoice.js";
import { createPool, workerEntry } from "../../../validators/pool.js";
import type { JobOwner } from "../../../validators/pool.js";
import { readResponse } from "../../../validators/responses.js";
import { validateDocument } from "../../../validators/validate.js";
import { ALG } from "../../../validators/wss/names.js";
import { signedOctets } from "../../../validators/wss/part-content.js";
import type { ParsedReference } from "../../../validators/wss/signature-info.js";
import { elementDigestHolds } from "../../../validators/wss/verify.js";
import { NONE, XmlDocument as ScannedDocument } from "../../../validators/xml/document.js";
import { canonicalizeDocument, canonicalOctets } from "../../../validators/xml/c14n.js";
import { within } from "../../../validators/schematron/runtime/deadline.js";
import { normalizeSpace } from "../../../validators/rules/values.js";
import { SCAN_LIMITS } from "../../../validators/xml/limits.js";
import { cac, NS } from "../../../validators/xml/names.js";
import { scan } from "../../../validators/xml/scanner.js";
import { trim } from "../../../validators/xml/space.js";
import { parseXml, parseXmlHead, textOf, XML_TREE_LIMITS } from "../../../validators/xml/tree.js";
import type { XmlDocument } from "../../../validators/xml/tree.js";
import { smpRecord, startDnsServer } from "../../support/peppol/dns-server.js";
import { fakeClock } from "../../support/fake-clock.js";
import { networkLookup, question, RECEIVER, signedMetadata, startFakeSmp } from "../../support/peppol/smp.js";
import { makeTestPki } from "../../support/peppol/test-pki.js";

const LARGE = { ...XML_TREE_LIMITS, bytes: 30_000_000, elements: 250_000, attributes: 256 };

function parsed(text: string, limits = LARGE): XmlDocument {
  const tree = parseXml(Buffer.from(text), limits);
  if (tree.kind === "refused") throw new Error(`${tree.fault} at ${tree.at}`);
  return tree;
}

/** How often an entry of a map is written while `act` runs; an entry that is copied counts like a new one. */
function written(act: () => unknown): number {
  const set = vi.spyOn(Map.prototype, "set");
  try {
    act();
    return set.mock.calls.length;
  } finally {
    set.mockRestore();
  }
}

/** So many prefixes around so many children, each with a declaration of its own. */
function declaring(prefixes: number, children: number): string {
  const depth = Math.ceil(prefixes / 200);
  const open = Array.from({ length: depth }, (_, level) => {
    const count = Math.min(200, prefixes - level * 200);
    return `<e ${Array.from({ length: count }, (_, i) => `xmlns:p${level * 200 + i}="urn:${i}"`).join(" ")}>`;
  });
  return `${open.join("")}${'<c xmlns:p1="urn:c"><p1:d/></c>'.repeat(children)}${"</e>".repeat(depth)}`;
}

/** How often a long text is taken apart while `act` runs. */
function longTextsRead(act: () => unknown): number {
  const splits = vi.spyOn(String.prototype, "split");
  const matches = vi.spyOn(RegExp.prototype, "exec");
  try {
    act();
    const texts = [...splits.mock.contexts.map(String), ...matches.mock.calls.map(([text]) => text)];
    return texts.filter(({ length }) => length >= LONG && length < 2 * LONG).length;
  } finally {
    splits.mockRestore();
    matches.mockRestore();
  }
}
const LONG = 1_000_000;
const BLANKS = " ".repeat(LONG);
const SAMPLE = sampleInvoice({
  sender: "0245:1234567890" as ParticipantId,
  receiver: "0245:1234567891" as ParticipantId,
  ...{ senderName: "A", receiverName: "B", number: "1", issueDate: "2026-11-20", lines: 1 },
});
const PERIOD =
  "<cac:InvoicePeriod><cbc:StartDate>2026-11-01</cbc:StartDate><cbc:EndDate>2026-11-30</cbc:EndDate></cac:InvoicePeriod>";

test.each([
  [
    "the country of an address",
    SAMPLE.replaceAll("<cbc:IdentificationCode>SK", `<cbc:IdentificationCode>DE${BLANKS}`),
    (many: number) => "<cac:PaymentMeans/>".repeat(many),
  ],
  [
    "the period of the document",
    SAMPLE.replace("<cbc:BuyerReference>", `${PERIOD.replaceAll("2026-11", `${BLANKS}2026-11`)}$&`),
    (many: number) => `<cac:InvoiceLine>${PERIOD}</cac:InvoiceLine>`.repeat(many),
  ],
])("%s is read as often for 200 elements that ask for it as for 20, however long it is", (_what, document, asking) => {
  const work = (many: number): number => {
    const bytes = Buffer.from(document.replace("<cac:TaxTotal>", `${asking(many)}$&`));
    return longTextsRead(() => validateDocument(bytes, { limits: SCAN_LIMITS, day: "2026-11-20" }));
  };
  const few = work(20);
  expect(few).toBeGreaterThan(0);
  expect(work(200)).toBe(few);
});

/** Steps from an element to its next sibling while `act` runs. */
function siblingsPassed(document: ScannedDocument, act: () => void): number {
  const { nexts } = document;
  let passed = 0;
  document.nexts = new Proxy(nexts, {
    get: (array, index) => {
      passed += 1;
      return Reflect.get(array, index) as unknown;
    },
  });
  act();
  document.nexts = nexts;
  return passed;
}

test("a child that stands behind thousands of others is walked to once, however often it is asked for", () => {
  const siblings = 10_000;
  const { x, y } = { x: "<cbc:CompanyID>1</cbc:CompanyID>".repeat(siblings), y: "<cac:TaxScheme/>" };
  const party = `<cac:PartyTaxScheme>${x}${y}${x}${y}${x}</cac:PartyTaxScheme>`;
  const scanned = scan(
    Buffer.from(`<Invoice xmlns="${NS.Invoice}" xmlns:cac="${NS.cac}" xmlns:cbc="${NS.cbc}">${party}</Invoice>`),
  );
  if (scanned.kind === "refused") throw new Error("not well-formed");
  const { document } = scanned;
  const [first, second] = [siblings + 2, 2 * siblings + 3];
  const passed = siblingsPassed(document, () => {
    for (let asked = 0; asked < 500; asked += 1) {
      expect(document.child(1, cac.TaxScheme)).toBe(first);
      expect(document.nextSame(first)).toBe(second);
      expect(document.nextSame(second)).toBe(NONE);
    }
  });
  expect(passed).toBeLessThan(3 * siblings + 500 * 3 * 100);
});

test("the registrations of a Greek seller are gone through once, however many numbers its invoice has", () => {
  const work = (many: number): number => {
    const ids = "<cbc:ID>094259216|20/11/2026|1|1.1|A|1</cbc:ID>".repeat(many);
    const bytes = Buffer.from(
      SAMPLE.replace("<cbc:IdentificationCode>SK", "<cbc:IdentificationCode>GR")
        .replace(/<cac:PartyTaxScheme>.*?<\/cac:PartyTaxScheme>/su, "<cac:PartyTaxScheme/>".repeat(many))
        .replace("<cbc:IssueDate>", `${ids}$&`),
    );
    const steps = vi.spyOn(ScannedDocument.prototype, "nextSame");
    try {
      validateDocument(bytes, { limits: SCAN_LIMITS, day: "2026-11-20" });
      return steps.mock.calls.length;
    } finally {
      steps.mockRestore();
    }
  };
  expect(work(400)).toBeLessThan(3 * work(200));
});

test("imported rules go over the blanks within a text once, however many there are", () => {
  const text = `a${BLANKS}b`;
  // The end of the text was looked for behind each blank: half a million million steps.
  expect(within(10_000, () => [normalizeSpace(text), trim(` ${text}\n`) === text])).toEqual(["a b", true]);
});

test("8,000 prefixes around 2,000 declaring children are refused at the first declaration too many", () => {
  const bytes = Buffer.from(declaring(8_000, 2_000));
  let fault = "";
  const work = written(() => {
    const tree = parseXml(bytes, LARGE);
    fault = tree.kind === "refused" ? tree.fault : "";
  });
  expect(fault).toBe("declarations");
  // A declaration is a binding, a name, its local half and a namespace.
  expect(work).toBeLessThan(4 * XML_TREE_LIMITS.declarations);
});

test.each([
  ["parsing", undefined],
  ["exclusive canonical form", "exclusive"],
  ["inclusive canonical form", "inclusive"],
] as const)("%s costs as much for each declaration, however many prefixes are in scope around it", (_, method) => {
  const work = (prefixes: number, children: number): number => {
    const text = declaring(prefixes, children);
    if (method === undefined) return written(() => parsed(text));
    const tree = parsed(text);
    return written(() => canonicalizeDocument(tree, { method }));
  };
  const few = work(10, 1_000);
  expect(work(1_010, 1_000) - few).toBeLessThanOrEqual(4 * 1_000);
  expect(work(2_010, 1_000) - few).toBeLessThanOrEqual(4 * 2_000);
  expect(work(10, 2_000)).toBeLessThanOrEqual(2 * few);
});

test("a namespace of thousands of characters is refused: each element that has it would carry it", () => {
  const tree = (length: number) => parseXml(Buffer.from(`<a xmlns:p="urn:${"n".repeat(length - 4)}"><p:b/></a>`));
  expect(tree(1_024).kind).toBe("document");
  expect(tree(1_025)).toMatchObject({ kind: "refused", fault: "namespace" });
});

test("a canonical form that grows by a namespace at each of thousands of elements ends at a bound, and nothing holds for it", () => {
  const tree = parsed(`<a xmlns:p="urn:${"n".repeat(1_000)}">${"<p:b/>".repeat(18_000)}</a>`);
  expect(canonicalOctets(() => canonicalizeDocument(tree, { method: "exclusive" }))).toBeUndefined();
  const nobodys: ParsedReference = {
    ...{ uri: "#a", transform: ALG.exclusiveC14n, digestMethod: ALG.sha256, digest: "" },
    ...{ hash: "sha256", value: Buffer.alloc(32) },
  };
  expect(elementDigestHolds(nobodys, [tree.root])).toBe(false);
  const part = Buffer.from(`<a xmlns:p="urn:${"n".repeat(1_000)}">${"<p:b/>".repeat(100_000)}</a>`);
  expect(signedOctets(nobodys, part, { xml: true, bytesMax: 1_000_000 })).toBeUndefined();
});

test("a text of a million bare ampersands is refused at the first, without a look at the others", () => {
  const looks = vi.spyOn(RegExp.prototype, "exec");
  const tree = parseXml(Buffer.from(`<a>${"&".repeat(1_000_000)}</a>`));
  const looked = looks.mock.calls.length;
  looks.mockRestore();
  expect(tree).toMatchObject({ kind: "refused", fault: "entity" });
  expect(looked).toBeLessThan(20);
});

test("a text of thousands of references is read as what they stand for, in one piece after another", () => {
  const count = 10_000;
  expect(textOf(parsed(`<a>${"x&#233;&amp;".repeat(count)}y</a>`).root)).toBe(`${"xé&".repeat(count)}y`);
});

test("a long text is escaped as a short one is, wherever it is cut", () => {
  const text = `${"a".repeat(65_535)}&amp;&lt;${"&gt;".repeat(70_000)}`;
  const tree = parsed(`<a b="${text.replaceAll("&gt;", "&quot;")}">${text}</a>`);
  expect(canonicalizeDocument(tree, { method: "exclusive" })).toBe(
    `<a b="${text.replaceAll("&gt;", "&quot;")}">${text}</a>`,
  );
});

test("the head of a document is looked for in the node that was read last, however many comments stand before it", () => {
  const looks = vi.spyOn(Array.prototype, "find");
  const head = parseXmlHead(Buffer.from(`<r>${"<!---->".repeat(5_000)}<h/></r>`), { ns: "", local: "h" });
  const looked = looks.mock.calls.length;
  looks.mockRestore();
  expect(head).toMatchObject({ kind: "head", head: { local: "h" } });
  expect(looked).toBe(0);
});

test("a PrefixList of thousands of prefixes is gone through once, not at every element", () => {
  const listed = Array.from({ length: 5_000 }, (_, i) => `q${i}`);
  const tree = parsed(`<a xmlns:q1="urn:1">${"<b/>".repeat(1_000)}</a>`);
  const has = vi.spyOn(Map.prototype, "has");
  const text = canonicalizeDocument(tree, { method: "exclusive", inclusivePrefixes: listed });
  const asked = has.mock.calls.length;
  has.mockRestore();
  expect(text.startsWith('<a xmlns:q1="urn:1"><b></b>')).toBe(true);
  expect(asked).toBeLessThanOrEqual(listed.length + 1_000);
});

const SBDH_NS = "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader";

/** A standard business document that is read to its payload: so many prefixes are declared around it. */
function business(prefixes: readonly string[], payload: string): Buffer {
  const declared = prefixes.map((prefix) => ` xmlns:${prefix}="urn:${prefix}"`).join("");
  const party = (name: string): string =>
    `<${name}><Identifier Authority="iso6523-actorid-upis">0245:2020202020</Identifier></${name}>`;
  const scope = (type: string, value: string): string =>
    `<Scope><Type>${type}</Type><InstanceIdentifier>${value}</InstanceIdentifier></Scope>`;
  return Buffer.from(
    `<StandardBusinessDocument xmlns="${SBDH_NS}"${declared}><StandardBusinessDocumentHeader>` +
      `<HeaderVersion>1.0</HeaderVersion>${party("Sender")}${party("Receiver")}<DocumentIdentification>` +
      `<Standard>urn:x</Standard><TypeVersion>2.1</TypeVersion><InstanceIdentifier>i</InstanceIdentifier>` +
      `<Type>Invoice</Type><CreationDateAndTime>2026-11-20T10:00:00Z</CreationDateAndTime></DocumentIdentification>` +
      `<BusinessScope>${scope("DOCUMENTID", "d")}${scope("PROCESSID", "p")}${scope("COUNTRY_C1", "SK")}</BusinessScope>` +
      `</StandardBusinessDocumentHeader>${payload}</StandardBusinessDocument>`,
  );
}

function searches(bytes: Buffer): { readonly kind: string; readonly count: number; readonly inherited: number } {
  const indexOf = vi.spyOn(Buffer.prototype, "indexOf");
  try {
    const read = readSbd(bytes, { mode: "inbound" });
    const inherited = read.kind === "sbd" ? read.payload.inherited.length : 0;
    return { kind: read.kind === "sbd" ? "sbd" : read.fault, count: indexOf.mock.calls.length, inherited };
  } finally {
    indexOf.mockRestore();
  }
}

test("a payload of p:p:p:… is walked once, however many prefixes its envelope declares", () => {
  const prefixes = Array.from({ length: 60 }, (_, i) => "p".repeat(i + 1));
  const colons = 20_000;
  const payload = `<Invoice xmlns="urn:x">x${`${"p".repeat(60)}:`.repeat(colons)}</Invoice>`;
  const many = searches(business(prefixes, payload));
  const one = searches(business(["p"], payload));
  expect([many.kind, one.kind, many.inherited]).toEqual(["sbd", "sbd", 0]);
  expect(many.count).toBeLessThanOrEqual(one.count + prefixes.length);
});

test("a prefix that only the envelope declares is still found where a name or a value begins, and nowhere else", () => {
  const inherited = (payload: string): readonly string[] => {
    const read = readSbd(business(["cac", "c", "x"], payload), { mode: "inbound" });
    return read.kind === "sbd" ? read.payload.inherited : [read.fault];
  };
  expect(inherited('<Invoice xmlns="urn:x"><cac:A/></Invoice>')).toEqual(["cac"]);
  expect(inherited('<Invoice xmlns="urn:x"><A t="x:int">c:d</A></Invoice>')).toEqual(["c", "x"]);
  expect(inherited('<Invoice xmlns="urn:x">ac:d a(c:d) cac :: xx:y</Invoice>')).toEqual([]);
});

test("a payload of colons is read with one search for each", () => {
  const text = ":".repeat(100_000);
  const { kind, count } = searches(business(["p", "q"], `<Invoice xmlns="urn:x">${text}</Invoice>`));
  expect(kind).toBe("sbd");
  expect(count).toBeLessThanOrEqual(text.length + 100);
});

/** As large as what inflates to a message may be, and half of it. */
const SIZES = [10_500_000, 21_000_000] as const;

/** Payloads and what stands around them that make a reader of envelopes look far, each of about so many octets. */
const FILLINGS: Readonly<Record<string, (octets: number) => Buffer>> = {
  "an ordinary payload": (octets) =>
    business(["p"], `<Invoice xmlns="urn:x">${"<a>b</a>".repeat(octets / 8)}</Invoice>`),
  "names with a prefix of the envelope's": (octets) =>
    business(["p", "q"], `<Invoice xmlns="urn:x">${`<p:a>${"b".repeat(109)}</p:a>`.repeat(octets / 120)}</Invoice>`),
  "p:p:p:…": (octets) =>
    business(["p", "pp"], `<Invoice xmlns="urn:x">${`${"p".repeat(60)}:`.repeat(octets / 61)}</Invoice>`),
  "one word": (octets) => business(["p"], `<Invoice xmlns="urn:x">${"p".repeat(octets)}:</Invoice>`),
  "white space behind the payload": (octets) => business(["p"], `<Invoice xmlns="urn:x"/>${" ".repeat(octets)}`),
  "a comment before the payload": (octets) => business(["p"], `<!--${"<".repeat(octets)}--><Invoice xmlns="urn:x"/>`),
  "a comment behind the envelope": (octets) =>
    Buffer.concat([business(["p"], '<Invoice xmlns="urn:x"/>'), Buffer.from(`<!--${"<".repeat(octets)}-->`)]),
  "an end tag that is never written": (octets) =>
    business(["p"], `<Invoice xmlns="urn:x"/>${"<".repeat(octets)}`).subarray(0, -20),
  "a header that never ends": (octets) =>
    Buffer.from(
      `<StandardBusinessDocument xmlns="${SBDH_NS}"><StandardBusinessDocumentHeader>${"<x/>".repeat(octets / 4)}`,
    ),
};

/** Searches in octets, and octets that become text, while an envelope is read. */
function lookedAt(bytes: Buffer): number {
  const spies = (["indexOf", "lastIndexOf", "toString"] as const).map((name) => vi.spyOn(Buffer.prototype, name));
  try {
    readSbd(bytes, { mode: "inbound" });
    return spies.reduce(
      (sum, { mock }) =>
        mock.results.reduce((all, { value }) => all + 1 + (typeof value === "string" ? value.length : 0), sum),
      0,
    );
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

test.each(Object.entries(FILLINGS))(
  "an envelope of 21 MB with %s costs each octet no more than one of half its size, and less than a look at each",
  (_, filled) => {
    const [half, whole] = [filled(SIZES[0]), filled(SIZES[1])];
    const work = lookedAt(whole);
    expect(work).toBeLessThanOrEqual(2 * lookedAt(half) + 100);
    expect(work).toBeLessThan(whole.length);
  },
);

test("a status of 332 KB costs as much for each declaration, however many prefixes its root declares", () => {
  const UBL = "urn:oasis:names:specification:ubl:schema:xsd";
  const line = `<cac:LineResponse xmlns:cac="${UBL}:CommonAggregateComponents-2"/>`;
  const prefixes = Array.from({ length: 30 }, (_, i) => ` xmlns:p${i}="urn:p"`).join("");
  const lines = Math.floor(332_000 / line.length);
  const bytes = Buffer.from(
    `<ApplicationResponse xmlns="${UBL}:ApplicationResponse-2"${prefixes}>` +
      `<cac:DocumentResponse xmlns:cac="urn:other">${line.repeat(lines)}</cac:DocumentResponse></ApplicationResponse>`,
  );
  const work = written(() => readResponse({ bytes, limits: RESPONSE_LIMITS, entriesMax: 20 }));
  expect(bytes.length).toBeLessThan(LIMITS.status_bytes_max);
  expect(work).toBeLessThanOrEqual(4 * (lines + 32));
});

test("what an SMP answers is verified and read by workers, and of its octets only the values come back", async () => {
  await buildIfNeeded();
  const [pki, dns, smp] = await Promise.all([makeTestPki(), startDnsServer(() => ({})), startFakeSmp()]);
  const pool = createPool({
    threads: { small: 1, large: 1 },
    queueMax: 100,
    queueBytesMax: 100_000_000,
    jobTimeoutMs: 20_000,
    workerFile: workerEntry("gateway/start/worker.js"),
  });
  const jobs: { readonly kind: string; readonly owner: JobOwner | undefined; readonly octets: number }[] = [];
  const reader = smpWorkers({
    ask: async (kind, input, owner) => {
      const output = await pool.ask(kind, input, owner);
      jobs.push({ kind, owner, octets: serialize(output).length });
      return output;
    },
  });
  try {
    dns.answer = () => ({ naptr: [smpRecord(smp.url)] });
    const accessPoint = pki.leaf("ap", "PSK000002");
    const filling = `<Extension>${"<x>0123456789</x>".repeat(15_000)}</Extension></ServiceMetadata>`;
    const document = signedMetadata(pki.leaf("smp", "PSK000010"), accessPoint, (text) =>
      text.replace("</ServiceMetadata>", filling),
    );
    smp.answer = (path) =>
      path.includes("/services/")
        ? { body: document }
        : {
            body: serviceGroupXml(
              RECEIVER,
              Array.from({ length: 2_000 }, (_, n) => `urn:a::B##${n}::2.1`),
              smp.url,
            ),
          };
    const lookup = networkLookup(dns, pki, fakeClock(), { reader, timeout_ms: 20_000 });
    expect(await lookup.lookup(question())).toMatchObject({ status: "ready", endpoint: { seat: "PSK000002" } });
    const types = await lookup.documentTypes(RECEIVER);
    expect(types.kind === "types" && types.documentTypes.length).toBe(2_000);
    expect(jobs.map(({ kind }) => kind)).toEqual(["smp.metadata", "smp.group"]);
    expect(jobs.map(({ owner }) => owner?.own)).toEqual([true, true]);
    expect(document.length).toBeGreaterThan(200_000);
    expect(jobs[0]?.octets).toBeLessThan(10_000);
  } finally {
    await Promise.all([pool.stop(), dns.close(), smp.close()]);
  }
});
