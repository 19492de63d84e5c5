/**
 * Goal: a message whose signature holds, from a peer that we trust, takes no more memory than a bound, whatever its
 * signed header becomes in canonical form. Without it V8 ends the process and not the thread.
 * @source design/reliability.md X-11
 */
import { beforeAll, expect, test, vi } from "vitest";
import { open } from "../../../support/as4/as4.js";
import { forge } from "../../../support/as4/as4-forge.js";
import { accessPoint } from "../../../support/as4/as4-keys.js";
import type { AccessPoint } from "../../../support/as4/as4-keys.js";

let alice: AccessPoint;
let bob: AccessPoint;
beforeAll(() => {
  alice = accessPoint("PSK000001");
  bob = accessPoint("PSK000002");
});

/** What is said of a message whose signed header got elements after SignedInfo was made, whose value therefore holds. */
async function saidOf(declarations: string, element: string, count: number): Promise<string> {
  const grow = (soap: string): string =>
    soap
      .replace("<eb:Messaging", () => `<eb:Messaging ${declarations}`)
      .replace("</eb:Messaging>", () => `${element.repeat(count)}</eb:Messaging>`);
  const result = await open(bob, await forge(alice, bob, { envelope: grow }));
  return result.kind === "refused" ? `${result.error} ${result.reason}` : "ACCEPTED";
}

test("a namespace of 150,000 characters that 1,900 elements have is refused before anything is written canonically", async () => {
  expect(await saidOf(`xmlns:p="urn:${"n".repeat(150_000)}"`, "<p:a/>", 1_900)).toBe("EBMS:0009 envelope_malformed");
});

test("twenty namespaces of a thousand characters at each of 900 elements end at a bound, and the digest does not hold", async () => {
  const prefixes = Array.from({ length: 20 }, (_, i) => `q${i}`);
  const declared = prefixes.map((prefix) => `xmlns:${prefix}="urn:${prefix}${"n".repeat(1_000)}"`).join(" ");
  const element = `<q0:a ${prefixes.map((prefix) => `${prefix}:b=""`).join(" ")}/>`;
  const octets = vi.spyOn(Buffer, "from");
  const said = await saidOf(declared, element, 900);
  const longest = Math.max(...octets.mock.calls.map(([text]) => (typeof text === "string" ? text.length : 0)));
  octets.mockRestore();
  expect(said).toBe("EBMS:0101 digest_mismatch");
  expect(longest).toBeLessThan(8_388_608);
});
