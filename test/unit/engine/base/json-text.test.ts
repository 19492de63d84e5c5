/** Goal: an answer that is written octet by octet says what JSON.stringify would, wherever its slices are cut. */
import { isUtf8 } from "node:buffer";

import fc from "fast-check";
import { expect, test } from "vitest";

import { LIMITS } from "../../../../engine/base/limits.js";
import { jsonWithText } from "../../../../engine/documents/inbound/json-text.js";

const MEMBERS = { documentId: "0197b2f0", metadata: { quoted: '"\\' }, payloadFormat: "XML" };
const read = async (payload: Buffer): Promise<unknown> =>
  JSON.parse((await jsonWithText(MEMBERS, { payload })).toString("utf8"));

test("a client reads exactly the text that was put into an answer, control characters and quotes included", async () => {
  const anyText = fc.string({
    unit: fc.oneof(fc.constantFrom('"', "\\", "\0", "\n", "\u007f", "é", "😀"), fc.string()),
  });
  await fc.assert(
    fc.asyncProperty(anyText, async (text) => {
      const payload = Buffer.from(text);
      expect(await read(payload)).toEqual({ ...MEMBERS, payload: payload.toString("utf8") });
    }),
  );
});

test("a character of several octets, or one that is escaped, may lie across the border of two slices", async () => {
  for (const character of ["é", "€", "😀", '"', "\\", "\n"])
    for (let before = 0; before < 4; before++) {
      const start = " ".repeat(LIMITS.payload_slice_bytes - before);
      const text = start + character.repeat(4) + start + character;
      expect(await read(Buffer.from(text))).toEqual({ ...MEMBERS, payload: text });
    }
});

test("an answer has the very octets of JSON.stringify for every character there is, wherever a slice ends", async () => {
  // A byte order mark first, then the plane of U+2028 and of all control characters, then the ends of the other planes.
  const plane = Array.from({ length: 0x10000 }, (_, at) => at).filter((at) => at < 0xd800 || at > 0xdfff);
  const text = String.fromCodePoint(0xfeff, ...plane.slice(0, 0x8000)) + String.fromCodePoint(...plane.slice(0x8000));
  const all = `${text}\u{10000}\u{1f600}\u{10ffff}`;
  for (let before = 0; before < 4; before++) {
    const payload = " ".repeat(LIMITS.payload_slice_bytes - 3 - before) + all;
    const written = await jsonWithText(MEMBERS, { payload: Buffer.from(payload) });
    expect(written.equals(Buffer.from(JSON.stringify({ ...MEMBERS, payload })))).toBe(true);
  }
});

test("octets that are no UTF-8 reach a client as replacement characters in an answer that is UTF-8", async () => {
  const payload = Buffer.from([0x3c, 0xff, 0x22, 0xc3, 0x28]);
  expect(await read(payload)).toEqual({ ...MEMBERS, payload: '<\ufffd"\ufffd(' });
  expect(isUtf8(await jsonWithText(MEMBERS, { payload }))).toBe(true);
});

test("the event loop turns while a large text is written", async () => {
  const slices = 5;
  let turns = 0;
  let isWriting = true;
  const tick = (): void => {
    if (!isWriting) return;
    turns += 1;
    setImmediate(tick);
  };
  setImmediate(tick);
  await jsonWithText(MEMBERS, { payload: Buffer.alloc(slices * LIMITS.payload_slice_bytes, "<") });
  isWriting = false;
  expect(turns).toBeGreaterThanOrEqual(slices);
});
