/** Hostile input: XML and HTTP with JSON (H-01 to H-14). @source design/reliability.md, sections 3.3 and 3.4 */
import { by, partly, row } from "./row.js";
import type { FaultRow } from "./row.js";

export const XML_INPUT: readonly FaultRow[] = [
  row(
    "X-01",
    "entities that grow",
    by(
      "unit/validators/xml/scanner",
      "a document is refused by name: %s",
      "every fault of the catalogue is shown by an example",
    ),
    by(
      "integration/validation/validation-hostile",
      "public validation answers every kind of hostile document: %s",
      "memory is flat: the same hostile documents again leave no more behind",
    ),
  ),
  row(
    "X-02",
    "entities, schemas and includes that lead outside",
    by("unit/validators/xml/scanner", "a document is refused by name: %s"),
    by(
      "unit/validators/schematron/schematron-hostile",
      "compiled rules reach nothing but their document and the functions of XPath, with %s",
    ),
  ),
  row(
    "X-03",
    "XML that is very deep, wide or long",
    by(
      "unit/validators/xml/scanner",
      "100,000-deep nesting, a million attributes and a million declarations are refused by the start values",
      "a million siblings and a text of 15 MB are read",
    ),
    by(
      "bulkheads/bytes/costly-xml",
      "8,000 prefixes around 2,000 declaring children are refused at the first declaration too many",
    ),
  ),
  row(
    "X-04",
    "a body at the limit, above it, or grown from a small one",
    by(
      "contract/http/http",
      "a body of exactly the limit is read, one byte more is 413",
      "26 MB in chunks without a length are 413 as soon as the limit is passed, and the connection ends",
    ),
    by(
      "contract/http/codings",
      "a bomb is 413, and is not inflated beyond the limit: what comes behind is never looked at",
    ),
    by("unit/as4/messages/round-trip", "a user message that unpacks a thousandfold is stopped at the cap"),
  ),
  row(
    "X-05",
    "octets that are not the encoding they claim",
    by("unit/validators/xml/scanner", "a document is refused by name: %s"),
    by(
      "integration/validation/validation-hostile",
      "a byte order mark before the document is allowed",
      "half of a surrogate pair and NUL in the JSON of a send are 400 before any worker sees them",
    ),
  ),
  row(
    "X-06",
    "a document that is not of the declared type",
    by(
      "contract/sapi/sapi",
      "VALIDATION: metadata.documentTypeId does not match the UBL root element, Invoice against CreditNote",
      "VALIDATION: a payload that is no UBL: %j",
    ),
    by("unit/validators/rules/typical-mistakes", "wrong namespaces are one finding each, not one for every element"),
  ),
  row(
    "X-07",
    "forged and wrapped signatures",
    by(
      "unit/as4/messages/attacks",
      "several SignedInfo are refused (CVE-2025-29774)",
      "HMAC keyed with the public RSA key is refused",
      "a reference to something else besides is refused",
    ),
    by(
      "unit/as4/messages/every-octet",
      "every octet of the message of $folder counts: whatever is changed is refused, or outside of what was signed",
    ),
  ),
  row(
    "X-08",
    "a certificate that is valid for something else, or no more",
    by(
      "integration/peppol/pki",
      "%s is refused: %3$s",
      "%s leaves it unknown: soft believes, hard refuses, off does not ask",
    ),
    by(
      "integration/access-points/as4-pki-engine",
      "a message is answered by what is known of its sender's certificate: %s",
    ),
  ),
  row(
    "X-09",
    "broken MIME parts and compression",
    by(
      "unit/peppol/as4-receiver",
      "a message whose parts, encryption or compression are wrong is refused: %s",
      "a boundary of 10 MB, ten thousand parts, no parts, and no MIME at all are refused",
    ),
    by(
      "integration/access-points/as4-http",
      "the gateway refuses what is signed and hostile: half a gigabyte in a small gzip, a wrapped signature, parts without end; in bounded memory",
    ),
  ),
  partly(
    "the curve is that of the bench of validation, not of a test",
    row(
      "X-10",
      "rules over very many lines",
      by(
        "unit/validators/rules/repeated-lines",
        "any number of changes in any lines is found the same, whether lines are judged together or one by one",
      ),
      by("integration/operators/bench", "kurier bench %s --tiny works and checks its own work"),
    ),
  ),
  row(
    "X-11",
    "a document that hangs or kills a worker",
    by(
      "unit/validators/runner/pool",
      "hostile documents of every kind are answered by name, and the same worker goes on",
      "a document that makes two workers end (%s) is quarantined; those in its batch get their reports",
    ),
    by(
      "unit/as4/threads/workers",
      "a message whose document kills the workers that judge it is still taken in, without a verdict",
    ),
  ),
  partly(
    "in a pool that is warm: the first hostile documents of a cold one delay some good ones longer, 0.36 s in a short run",
    row(
      "X-12",
      "good documents beside hostile ones",
      by(
        "faults/loads/beside-hostile",
        "every good document is found good beside as many hostile ones, and the figures say how long it waits",
      ),
      by(
        "unit/validators/runner/pool",
        "a large document has a lane of its own: small ones are judged while it hangs",
        "a participant with one document does not wait for another's two hundred",
      ),
      by("bulkheads/shares/lanes", "one key holds a quarter of a lane's queue, and every other key is still taken"),
    ),
  ),
  row(
    "X-13",
    "our verdicts beside the official ones",
    by(
      "conformance/peppol-differential",
      "billing: our rules and the official ones agree on every document and fragment with a stored result, and on the document of every other rule",
    ),
    by(
      "property/validation-agreement",
      "our rules, the official rules and libxml2 agree on ${MUTATIONS} damaged documents (seed ${SEED})",
    ),
  ),
  row(
    "X-14",
    "numbers and days that are none, or beyond any type",
    by("property/decimal", "sum, difference, product and comparison are exact"),
    by("property/send-dates", "the engine and the grammar agree on what is a day"),
    by(
      "contract/documents/documents-send",
      "10^400 and NaN as numbers: 422 naming the member, 400 for what is no JSON",
    ),
  ),
  row(
    "X-15",
    "ids that look alike",
    by(
      "contract/sapi/sapi",
      "rulings §14: documentIds are compared exactly: case, inner space and form of an accent tell them apart; 255 characters count as such",
    ),
    by("unit/engine/base/base", "a participant is read with and without its scheme, and compared without case"),
  ),
  partly(
    "a short run of each in CI; nights are the operator's own: npx vitest run test/fuzz with a longer time",
    row(
      "X-16",
      "mutated input for every parser",
      by("fuzz/findings", "%s: nothing crashes, hangs or hoards, and new places are reached"),
      by("property/as4-fuzz", "opening, checking and verifying answer, never throw"),
      by("property/scanner-fuzz", "${CASES} damaged documents are read as libxml2 reads them (seed ${SEED})"),
    ),
  ),
];

export const HTTP_INPUT: readonly FaultRow[] = [
  row(
    "H-01",
    "slow and idle connections",
    by(
      "contract/http/http",
      "a body that comes too slowly ends the connection; others are not disturbed",
      "10 MB of answer reach a client that reads slowly, byte for byte",
    ),
    by(
      "bulkheads/bytes/bytes",
      "a reader that takes less than the least rate is cut off in the middle, and its octets are given back",
    ),
    by(
      "bulkheads/bytes/files",
      "connections beyond the bound are closed unread, those within it are answered, and a place that becomes free is taken",
    ),
  ),
  row(
    "H-02",
    "two readings of where a request ends",
    by(
      "bulkheads/shares/framing",
      "nothing behind a chunked body with %s is taken for a request",
      "a request with %s is answered 400 in the words of its family and with its id, and none behind it is served",
    ),
    by("contract/http/http", "%s is refused and the connection ends"),
  ),
  row("H-03", "a large header block", by("contract/http/http", "a header block of 15 KB is read, one of 17 KB is 431")),
  row(
    "H-04",
    "a handler throws when its client has gone",
    by(
      "contract/http/http",
      "clients that go away in mid-body or before the answer leave nothing behind",
      "a handler that throws answers 500 with the request id and nothing of the error (%s)",
    ),
    by(
      "property/http-bytes",
      "the gateway outlives ${ROUNDS} connections with mutilated, cut and abandoned requests (seed ${seed})",
    ),
  ),
  row(
    "H-05",
    "pieces of a body after their callback",
    by("contract/http/http", "a body in chunks, cut anywhere, arrives byte for byte"),
  ),
  row(
    "H-06",
    "JSON that is deep, doubled, or no JSON",
    by(
      "unit/gateway/json",
      "any JSON object is read as JSON.parse reads it",
      "a member that comes twice is refused wherever it is and however it is spelled",
      "200,000 levels are refused without a stack overflow; the limit itself is read",
    ),
    by("contract/http/envelopes", "a JSON body that is %s is 400"),
  ),
  row(
    "H-07",
    "another content type",
    by(
      "contract/http/envelopes",
      "Content-Type %s on a JSON operation: 415",
      "a body without Content-Type is refused where a body is read; a POST without both is accepted where none is",
    ),
  ),
  row(
    "H-08",
    "paths in disguise",
    by(
      "contract/http/http",
      "%s names nothing: 404, never another route",
      "an id in capitals or percent-encoded is the same id",
    ),
    by("unit/gateway/json", "an encoded slash or a broken escape makes no segment"),
  ),
  row(
    "H-09",
    "other methods",
    by(
      "contract/http/http",
      "%s on a path that has other methods: 405 with Allow",
      "a method that does not exist is refused, and method overrides are not looked at",
    ),
  ),
  row(
    "H-10",
    "pipelines and upgrades",
    by(
      "contract/http/http",
      "1,000 pipelined requests are answered in order",
      "Expect: 100-continue gets its interim answer, then the real one",
    ),
    by(
      "bulkheads/shares/framing",
      "1,000 pipelined requests that take time are answered in order, or the connection ends before the next is served",
    ),
  ),
  row(
    "H-11",
    "line breaks on their way into a header",
    by("contract/http/http", "a header value with a line break never reaches the wire"),
    by(
      "contract/documents/document-view",
      "`GET /documents/{id}` … `/pdf`: a file that is named after the number, whatever stands in it",
    ),
  ),
  row(
    "H-12",
    "limits and cursors that are none",
    by(
      "contract/documents/documents-reads",
      "400 naming since for a forged, truncated or foreign cursor, one of another list and what is no instant",
      "%s: 400 naming the member for a limit, offset, status or instant that is none",
    ),
    by("unit/engine/base/base", "a cursor opens on its own list only, and not when a bit of it was changed"),
  ),
  row(
    "H-13",
    "a client's own request id",
    by(
      "contract/http/http",
      "a client's X-Request-Id of 1 to 128 harmless characters comes back; any other is replaced",
    ),
  ),
  row(
    "H-14",
    "the envelope of every error",
    by(
      "contract/http/envelopes",
      "a path that no row has answers in the family of its prefix",
      "none of this was a bug",
    ),
    by("unit/gateway/steps", "the column `refuses` is true of $name: it refuses with $reason"),
  ),
];
