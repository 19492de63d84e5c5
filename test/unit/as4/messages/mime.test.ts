/** Goal: parts come out byte for byte as they went in, and what two readers could read differently is refused. */
import { randomBytes } from "node:crypto";
import { describe, expect, test, vi } from "vitest";
import { MIME_LIMITS, parseContentType, readMultipart, writeMultipart } from "../../../../engine/peppol/as4/mime.js";
import type { MimePart } from "../../../../engine/peppol/as4/mime.js";

const TYPE = 'multipart/related; boundary="b"; type="application/soap+xml"';
const read = (text: string | Buffer, type = TYPE): MimePart[] => {
  const result = readMultipart(Buffer.from(text as string, "latin1"), type);
  if (result.kind === "refused") throw new Error(result.fault);
  return result.parts;
};
const faultOf = (text: string, type = TYPE): string => {
  const result = readMultipart(Buffer.from(text, "latin1"), type);
  return result.kind === "refused" ? result.fault : "read";
};
const soap = "Content-Type: application/soap+xml\r\n\r\n<x/>";
const two = (part: string): string => `--b\r\n${soap}\r\n--b\r\n${part}\r\n--b--\r\n`;

describe("writing and reading", () => {
  test("any octets, line ends, dashes and beginnings of the boundary among them, come back unchanged", () => {
    for (const body of [
      Buffer.alloc(0),
      Buffer.from("\r\n"),
      Buffer.from("\n--b"),
      Buffer.from("\r\n--bound"),
      Buffer.from("--"),
      Buffer.from("x\r"),
      randomBytes(10_000),
    ]) {
      const message = writeMultipart(
        [
          { contentType: "application/soap+xml", body: Buffer.from("<x/>") },
          { cid: "a@b", contentType: "application/octet-stream", body },
        ],
        "boundary",
      );
      const result = readMultipart(message.body, message.contentType);
      expect(
        result.kind === "multipart" && result.parts[1]?.body.equals(body),
        JSON.stringify(body.toString("latin1").slice(0, 20)),
      ).toBe(true);
    }
  });

  test("the Content-Type names boundary, root type and start", () => {
    const part = { cid: "root@x", contentType: "application/soap+xml;charset=UTF-8", body: Buffer.from("x") };
    expect(writeMultipart([part], "b").contentType).toBe(
      'multipart/related; boundary="b"; type="application/soap+xml"; start="<root@x>"',
    );
  });
});

describe("what is accepted", () => {
  test("LF line ends throughout are accepted", () => {
    expect(read(two("Content-ID: <a>\r\n\r\nx\ry").replaceAll("\r\n", "\n"))[1]?.body.toString()).toBe("x\ry");
  });

  test("a preamble, an epilogue and blanks behind the boundary are accepted", () => {
    expect(read(`preamble\r\n--b \t\r\n${soap}\r\n--b--  \r\nepilogue`)).toHaveLength(1);
  });

  test("a last delimiter without line end is accepted", () => {
    expect(read(`--b\r\n${soap}\r\n--b--`)).toHaveLength(1);
  });

  test("a line that only begins with the boundary belongs to the part", () => {
    expect(read(`--b\r\n${soap}\r\n--bb\r\nx\r\n--b--`)[0]?.body.toString()).toBe("<x/>\r\n--bb\r\nx");
  });

  test("base64, folded headers, header names in any case, and a Content-ID with and without brackets are accepted", () => {
    const [, part] = read(two("content-ID:\r\n <a@b>\r\nCONTENT-transfer-encoding: BASE64\r\n\r\naGVs\r\nbG8=\r\n"));
    expect([part?.cid, part?.body.toString()]).toEqual(["a@b", "hello"]);
    expect(read(two("Content-ID: a@b\r\n\r\nx"))[1]?.cid).toBe("a@b");
  });

  test("quoted-printable is accepted, with soft line breaks, digits in any case and blanks that a relay has added", () => {
    const part = "Content-Transfer-Encoding: Quoted-Printable\r\n\r\na =3D b=C3=a9 \t\r\n=\r\n\r\nc= \r\nd=20";
    expect(read(two(part))[1]?.body.toString()).toBe("a = b\u00e9\r\n\r\ncd ");
    expect(read(two(part).replaceAll("\r\n", "\n"))[1]?.body.toString()).toBe("a = b\u00e9\n\ncd ");
  });

  test("quoted-printable of 20 MB of short lines is read without a text for each of them", () => {
    const head = "Content-Transfer-Encoding: quoted-printable\r\n\r\n";
    const [, part] = read(two(`${head}${"\r\n".repeat(10_000_000)}x`));
    expect(part?.body).toHaveLength(20_000_001);
  });

  test("base64 of 20 MB of lines of one character is read without a text for each of them", () => {
    const message = two(`Content-Transfer-Encoding: base64\r\n\r\n${"A\n".repeat(10_000_000)}`);
    const replace = vi.spyOn(String.prototype, "replace");
    try {
      const [, part] = read(message);
      expect(part?.body.equals(Buffer.alloc(7_500_000))).toBe(true);
      expect(replace.mock.contexts.some((text) => String(text).length > MIME_LIMITS.headerBytesMax)).toBe(false);
    } finally {
      replace.mockRestore();
    }
  });

  test("an empty part, and a part without headers, are accepted", () => {
    expect(read(two("Content-ID: a\r\n\r\n"))[1]?.body).toHaveLength(0);
    expect(read(two("\r\nx"))[1]).toMatchObject({ cid: undefined, mediaType: "" });
  });
});

describe("what is refused", () => {
  const headers = (lines: string): string => two(`${lines}\r\n\r\nx`);
  const cases: [string, string, string, string?][] = [
    ["another media type", two("\r\nx"), "content_type", "multipart/mixed; boundary=b"],
    ["no Content-Type", two("\r\nx"), "content_type", ""],
    ["a parameter twice", two("\r\nx"), "content_type", "multipart/related; boundary=a; boundary=b"],
    ["a boundary of 10 MB", two("\r\nx"), "content_type", `multipart/related; boundary="${"b".repeat(10_000_000)}"`],
    ["a boundary of 71 characters", two("\r\nx"), "boundary", `multipart/related; boundary="${"b".repeat(71)}"`],
    ["no boundary", two("\r\nx"), "boundary", "multipart/related"],
    ["a boundary that ends in a blank", two("\r\nx"), "boundary", 'multipart/related; boundary="b "'],
    ["no part", "--b--\r\n", "no_part"],
    ["nothing", "", "no_part"],
    ["a preamble without end", "x".repeat(20_000), "preamble"],
    ["an epilogue without end", `--b\r\n${soap}\r\n--b--\r\n${"x".repeat(20_000)}`, "epilogue"],
    ["no closing delimiter", `--b\r\n${soap}\r\n--b\r\n\r\nx`, "unclosed"],
    ["a message cut short", two("\r\nx").slice(0, -6), "unclosed"],
    ["LF delimiters in a CRLF message", `--b\r\n${soap}\n--b--\n`, "unclosed"],
    ["ten thousand parts", `--b\r\n${"\r\nx\r\n--b\r\n".repeat(10_000)}\r\n--b--`, "too_many_parts"],
    ["a header without colon", headers("nonsense"), "headers"],
    ["a header with a control character", headers("Content-ID: a\0b"), "headers"],
    ["a Content-ID twice", headers("Content-ID: <a>\r\nContent-ID: <b>"), "headers"],
    ["a Content-Type that is none", headers("Content-Type: x"), "headers"],
    ["33 headers", headers(Array.from({ length: 33 }, (_, index) => `X-${index}: y`).join("\r\n")), "headers"],
    ["10 KB of headers", headers(`X: ${"y".repeat(10_000)}`), "headers"],
    ["a part without blank line", two("Content-ID: <a>"), "headers"],
    ["an encoding that nobody knows", headers("Content-Transfer-Encoding: x-uuencode"), "transfer_encoding"],
    ...["=", "=4", "=G0", "a=\rb", "a\rb", "caf\u00e9", "a\0b"].map((text): [string, string, string] => [
      `quoted-printable that is none: ${JSON.stringify(text)}`,
      two(`Content-Transfer-Encoding: quoted-printable\r\n\r\n${text}x`),
      "transfer_encoding",
    ]),
    ["base64 that is none", two("Content-Transfer-Encoding: base64\r\n\r\naGVs*bG8="), "transfer_encoding"],
    ["an empty Content-ID", headers("Content-ID: <>"), "content_id"],
    ["a Content-ID with brackets inside", headers("Content-ID: <a><b>"), "content_id"],
    [
      "two parts with one Content-ID",
      `--b\r\nContent-ID: <a>\r\n\r\nx\r\n--b\r\nContent-ID: a\r\n\r\ny\r\n--b--`,
      "content_id",
    ],
    [
      "a start that is not the first part",
      two("Content-ID: <a>\r\n\r\nx"),
      "start_part",
      'multipart/related; boundary=b; start="<a>"',
    ],
  ];
  test.each(cases)("a MIME message is refused: %s", (_, text, fault, type = TYPE) => {
    expect(faultOf(text, type)).toBe(fault);
  });

  test("one part more than the cap is refused; at the cap it reads", () => {
    const parts = (count: number): string =>
      `--b\r\n${Array.from({ length: count }, () => "\r\nx").join("\r\n--b\r\n")}\r\n--b--`;
    expect([faultOf(parts(MIME_LIMITS.partsMax)), faultOf(parts(MIME_LIMITS.partsMax + 1))]).toEqual([
      "read",
      "too_many_parts",
    ]);
  });
});

test("the parameters of Content-Type are read quoted, escaped, folded and in any case", () => {
  const type = parseContentType('Multipart/Related;\r\n\tBOUNDARY="a\\"b"; charset=utf-8 ; x="; y=z"');
  expect(type?.mediaType).toBe("multipart/related");
  expect(Object.fromEntries(type?.parameters ?? [])).toEqual({ boundary: 'a"b', charset: "utf-8", x: "; y=z" });
  for (const bad of ["", "x", "a/b c", "a/b; =x", "a/b; x=", 'a/b; x="y'])
    expect(parseContentType(bad), bad).toBeUndefined();
});
