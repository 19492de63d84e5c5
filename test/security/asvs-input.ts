/** ASVS 5.0.0, chapters 1, 2 and 5: what comes in, what is made of it, and files. */
import { by, met, nothing, outside, partly } from "./row.js";
import type { SecurityRow } from "./row.js";

export const ENCODING: readonly SecurityRow[] = [
  met(
    "1.1.1",
    "input is decoded once",
    by(
      "unit/gateway/json",
      "fields are decoded once, in UTF-8; an unknown escape, NUL, a repeat or too many are refused",
    ),
    by("contract/http/http", "an id in capitals or percent-encoded is the same id"),
  ),
  met("1.1.2", "output is escaped last", by("unit/gateway/pages", "whatever is put into a template stays text")),
  met(
    "1.2.1",
    "HTML, XML and headers are escaped for their place",
    by("unit/view/html", "a script in an attribute of a document stays text"),
    by("unit/engine/documents/build-invoice", "markup in a text stays text"),
    by("contract/http/http", "a header value with a line break never reaches the wire"),
  ),
  met(
    "1.2.2",
    "URLs are built of encoded parts, and only safe schemes are called",
    by(
      "integration/peppol/smp-server",
      "the path may be written with or without escapes, in any letter case of the participant",
    ),
    by("unit/peppol/outbound-address", "a URL in production is judged by its use, %s: %s"),
  ),
  partly(
    "1.2.3",
    "JSON is written by serialisers",
    "no test of script text: pages have no inline script",
    by("unit/gateway/json", "any JSON object is read as JSON.parse reads it"),
  ),
  met(
    "1.2.4",
    "statements take parameters, and stand in one place",
    by("tidy", "the sources %s", "the checks find SQL outside engine/storage"),
    by("bulkheads/bytes/values", "the door takes or judges whatever stands in the place of a member"),
  ),
  met(
    "1.2.5",
    "child processes have one home, and no shell takes input",
    by("tidy", "the sources %s", "the checks find a second home of a global or of a package"),
  ),
  nothing("1.2.6", "no LDAP"),
  met(
    "1.2.7",
    "XPath of rules is compiled; documents cannot add to it",
    by("unit/validators/schematron/schematron-hostile", "strange names run as what they are"),
  ),
  nothing("1.2.8", "no LaTeX"),
  partly("1.2.9", "patterns are not built of input", "by review: no law finds a pattern that is"),
  nothing("1.3.1", "no HTML is taken from anybody"),
  met(
    "1.3.2",
    "what is compiled from rules reaches nothing else",
    by(
      "unit/validators/schematron/schematron-hostile",
      "compiled rules reach nothing but their document and the functions of XPath, with %s",
      "a name that would be reached is found",
    ),
  ),
  met(
    "1.3.3",
    "input is cut and checked before it goes where it is dangerous",
    by("bulkheads/bytes/values", "the door takes the request as it is"),
    by("tidy-text", "no source cuts text at a bound but the two that cut between characters"),
  ),
  nothing("1.3.4", "no SVG is taken from anybody"),
  met(
    "1.3.5",
    "rules that operators import are no programs",
    by(
      "unit/validators/schematron/schematron-hostile",
      "compiled rules reach nothing but their document and the functions of XPath, with %s",
    ),
  ),
  met(
    "1.3.6",
    "addresses that we call are judged at the connection",
    by(
      "unit/peppol/http-client",
      "a private address is not called: %s",
      "a name of which one address is private is not called",
    ),
    by(
      "integration/webhooks/webhooks",
      "a name that is public when it is judged and private when it is called is asked twice, and nobody is connected to",
    ),
  ),
  met("1.3.7", "no template is made of input", by("unit/gateway/pages", "whatever is put into a template stays text")),
  nothing("1.3.8", "no JNDI"),
  nothing("1.3.9", "no memcache"),
  met(
    "1.3.10",
    "log lines are no format strings",
    by("unit/engine/base/base", "a log line carries the fields of the list and nothing else, on one line"),
  ),
  met(
    "1.3.11",
    "an address holds nothing that a letter's header would read",
    by("unit/gateway/pages", "an address names one mailbox and can hold nothing that a header of a letter would read"),
  ),
  partly(
    "1.4.1",
    "JavaScript; octets are read by checked readers",
    "uWebSockets.js is C++: HTTP_SERVER=node goes without it",
    by(
      "property/http-bytes",
      "the gateway outlives ${ROUNDS} connections with mutilated, cut and abandoned requests (seed ${seed})",
    ),
  ),
  met(
    "1.4.2",
    "amounts are decimals of any length, numbers have bounds",
    by("property/decimal", "sum, difference, product and comparison are exact"),
    by("unit/gateway/json", "a number of a million digits does not stop the reader"),
  ),
  met(
    "1.4.3",
    "octets and places are given back",
    by(
      "bulkheads/bytes/aborts",
      "a %s upload that is cut at any octet gives back every octet and every place that it held",
    ),
    by(
      "integration/validation/validation-hostile",
      "memory is flat: the same hostile documents again leave no more behind",
    ),
  ),
  met(
    "1.5.1",
    "no declarations of document types, no entities",
    by("unit/validators/xml/scanner", "a document is refused by name: %s"),
    by("integration/validation/validation-hostile", "public validation answers every kind of hostile document: %s"),
  ),
  met(
    "1.5.2",
    "JSON becomes what its schema says",
    by("contract/http/envelopes", "a member too many is refused where the row is strict, ignored elsewhere"),
    by("unit/gateway/json", "a member that comes twice is refused wherever it is and however it is spelled"),
  ),
];

export const LOGIC: readonly SecurityRow[] = [
  met(
    "2.1.1",
    "the OpenAPI documents say what each member may be",
    by("contract/http/openapi", "a published document has a licence, and says of each heading what it is about"),
  ),
  met(
    "2.1.2",
    "rules of documents are named, with a page each",
    by("browser/validate", "a finding marks its line and leads to it, shows its value, and its rule has a page"),
  ),
  met(
    "2.1.3",
    "limits stand in one file, with their relations",
    by("tidy", "the limits do not contradict each other", "the checks find a number outside limits.ts"),
  ),
  met(
    "2.2.1",
    "each operation has schemas of what it takes",
    by(
      "contract/http/envelopes",
      "each wrong member is named in our words, and no value is repeated",
      "a query value that its schema refuses, or that comes twice: 400",
    ),
  ),
  met(
    "2.2.2",
    "pages send what any client could send, and it is judged here",
    by(
      "integration/identity/people-consent",
      "people of other firms can neither accept nor decline, whatever firm their form names",
    ),
  ),
  met(
    "2.2.3",
    "members that belong together are compared",
    by("contract/sapi/sapi", "SAPI-DOC-025: supplier or customer EndpointID differs from metadata"),
  ),
  met(
    "2.3.1",
    "states have tables of legal moves",
    by(
      "property/statuses",
      "any order and repetition of statuses, receipts and responses gives a legal history and each effect once (SEED=${SEED})",
    ),
  ),
  met(
    "2.3.2",
    "limits hold over all nodes",
    by("integration/identity/identity-nodes", "no window of 60 seconds, wherever it begins, holds more than the limit"),
  ),
  met(
    "2.3.3",
    "a change is one statement",
    by(
      "integration/database/lost-connections",
      "backends of Postgres that are ended at random under load mix up no request, lose none and end no process (SEED=${SEED})",
    ),
  ),
  met(
    "2.3.4",
    "what has few places is given out once",
    by(
      "integration/identity/identity-credentials",
      "fifty creations at once with one of five places left make one key (C-12)",
    ),
  ),
  met(
    "2.4.1",
    "each operation has a rate, each key a share",
    by(
      "unit/gateway/rate-limit",
      "exactly the limit passes; the next is refused with the seconds until the oldest leaves",
    ),
    by("bulkheads/shares/lanes", "one key holds a quarter of a lane's queue, and every other key is still taken"),
  ),
];

export const FILES: readonly SecurityRow[] = [
  partly(
    "5.1.1",
    "the OpenAPI documents say what may be uploaded",
    "the largest size after unpacking stands in limits.ts",
    by("contract/http/openapi", "a published document has a licence, and says of each heading what it is about"),
  ),
  met(
    "5.2.1",
    "no more is taken than can be worked on",
    by("contract/http/http", "a body of exactly the limit is read, one byte more is 413"),
  ),
  partly(
    "5.2.2",
    "documents are read as what they are, whatever their names",
    "attachments inside an invoice are carried on, not opened",
    by("unit/validators/xml/scanner", "a document is refused by name: %s"),
  ),
  met(
    "5.2.3",
    "what unpacks is stopped at its limit",
    by(
      "contract/http/codings",
      "limits count after inflation: a body of exactly the limit is read, one byte more is 413",
    ),
    by("unit/as4/messages/round-trip", "a user message that unpacks a thousandfold is stopped at the cap"),
  ),
  nothing("5.3.1", "nothing that was uploaded is served as a file or run"),
  met(
    "5.3.2",
    "names of files are digests and ids of ours",
    by("integration/evidence/evidence-store", "a reference is a reference: %j is refused"),
    by("unit/validators/schematron/schematron-hostile", "a file that a link leads to is no part of a release"),
  ),
  nothing("5.4.1", "no name of an upload is kept"),
  nothing("5.4.2", "no name of an upload is served"),
  outside(
    "5.4.3",
    "attachments are scanned for malware",
    "the receiver's: what is sealed for him is not opened on the way",
  ),
];
