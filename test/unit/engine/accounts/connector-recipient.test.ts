/** To whom a document of the Connector goes: what the body names, what the directory knows, and a directory that is away. */
import { describe, expect, test } from "vitest";

import { Refusal } from "../../../../engine/base/errors.js";
import type { ParticipantId } from "../../../../engine/base/ids.js";
import { recipientOf } from "../../../../engine/documents/connector/recipient.js";
import type { DirectoryPort, NamedRecipient } from "../../../../engine/documents/connector/recipient.js";

const BUYER = {
  participantId: "0245:2120000025" as ParticipantId,
  name: "Príjemca a. s.",
  ico: "99000025",
  dic: "2120000025",
  icDph: null,
  address: { street: "Dlhá 1", city: "Nitra", zip: null },
};
/** A directory with one company, and what it was asked. */
function directory(): DirectoryPort & { readonly asked: string[] } {
  const asked: string[] = [];
  const ids: readonly (string | null)[] = [BUYER.ico, BUYER.dic, BUYER.participantId];
  return {
    asked,
    find: ({ by, value }) => {
      asked.push(`${by} ${value}`);
      return Promise.resolve(ids.includes(value) ? BUYER : undefined);
    },
  };
}
const away: DirectoryPort = { find: () => Promise.reject(new Refusal("TEMPORARY")) };

type Case = readonly [Partial<NamedRecipient>, string | undefined, string, string[], string[]];
const refused = (taxId: string): Case => [{ taxId, name: "X" }, undefined, "declared", [], ["recipient.taxId"]];

describe("a directory that answers", () => {
  test.each<Case>([
    [{ networkId: "9930:DE1", name: "X" }, "9930:DE1", "declared", [], []],
    [{ networkId: "0245:2120000025" }, "0245:2120000025", "declared", ["participant 0245:2120000025"], []],
    [{ companyId: " 99000025 ", name: "X" }, "0245:2120000025", "verified", ["ico 99000025"], []],
    [{ taxId: "2120000025" }, "0245:2120000025", "verified", ["dic 2120000025"], []],
    [{ taxId: "2099999999", name: "X" }, "0245:2099999999", "declared", ["dic 2099999999"], []],
    [{ vatId: "SK2099999999", name: "X" }, "0245:2099999999", "declared", ["icDph SK2099999999"], []],
    [
      { companyId: "1", taxId: "2120000025" },
      undefined,
      "verified",
      ["ico 1", "dic 2120000025"],
      ["recipient.companyId"],
    ],
    [{ companyId: "99000025", taxId: "2020202020" }, undefined, "verified", ["ico 99000025"], ["recipient.taxId"]],
    [{ companyId: "1", name: "X" }, undefined, "declared", ["ico 1"], ["recipient.companyId"]],
    [{ country: "AT", taxId: "1", name: "X" }, undefined, "declared", ["dic 1"], ["recipient.taxId"]],
    // spec/enterprise.md, Connector document: "taxId (company id, tax id or VAT id)"; its form says which.
    [{ taxId: "99000025", name: "X" }, "0245:2120000025", "verified", ["ico 99000025"], []],
    [{ taxId: "99000025" }, "0245:2120000025", "verified", ["ico 99000025"], []],
    [{ taxId: "99000099", name: "X" }, undefined, "declared", ["ico 99000099"], ["recipient.taxId"]],
    [{ taxId: "sk 2120000025", name: "X" }, "0245:2120000025", "declared", ["icDph SK2120000025"], []],
    [{ taxId: "2120 000 025", name: "X" }, "0245:2120000025", "verified", ["dic 2120000025"], []],
    [{ taxId: "99000025", companyId: "99000025" }, "0245:2120000025", "verified", ["ico 99000025"], []],
    [{ taxId: "99000017", companyId: "99000025", name: "X" }, undefined, "declared", [], ["recipient.taxId"]],
    ...["123", "2120000025X", "212000002", "SK99000025", "ATU12345678"].map(refused),
    [{ vatId: "SK123", name: "X" }, undefined, "declared", ["icDph SK123"], ["recipient.vatId"]],
    // Beside a participant id the others are the program's own word.
    [{ networkId: "0245:2120000025", taxId: "123", name: "X" }, "0245:2120000025", "declared", [], []],
  ])("%j goes to %s, %s", async (named, participant, resolution, asked, faults) => {
    const port = directory();
    const found = await recipientOf(port, { country: "SK", ...named });
    expect([found.participant, found.resolution, port.asked]).toEqual([participant, resolution, asked]);
    expect(found.faults.map(({ field }) => field)).toEqual(faults);
  });
});

describe("a directory that is away", () => {
  test.each<readonly [Partial<NamedRecipient>, string]>([
    [{ networkId: "9930:DE1", name: "X" }, "9930:DE1"],
    [{ taxId: "2120000025", name: "X" }, "0245:2120000025"],
    [{ companyId: "99000025", vatId: "SK2120000025", name: "X" }, "0245:2120000025"],
  ])("%j needs none: it goes to %s", async (named, participant) => {
    expect(await recipientOf(away, { country: "SK", ...named })).toMatchObject({ participant, resolution: "declared" });
  });

  test.each<Partial<NamedRecipient>>([
    { taxId: "2120000025" },
    { companyId: "99000025", name: "X" },
    { networkId: "0245:2120000025" },
    { country: "AT", vatId: "ATU1", name: "X" },
  ])("%j is told to come again, for nothing is known without it", async (named) => {
    await expect(recipientOf(away, { country: "SK", ...named })).rejects.toMatchObject({ reason: "TEMPORARY" });
  });
});

test("what the body says of the recipient stays; what it leaves out is the directory's, a name that is an id is none", async () => {
  const recipientIn = async (port: DirectoryPort, named: NamedRecipient): Promise<NamedRecipient> =>
    (await recipientOf(port, named)).recipient;
  const ids = { country: "SK", companyId: BUYER.ico };
  const own = { ...ids, name: "As I call it", address: { city: "Žilina" } };
  expect(await recipientIn(directory(), own)).toEqual(own);
  expect(await recipientIn(directory(), ids)).toEqual({
    ...ids,
    name: "Príjemca a. s.",
    address: { street: "Dlhá 1", city: "Nitra", postalCode: null },
  });
  const nameless = { find: () => Promise.resolve({ ...BUYER, name: BUYER.participantId }) };
  expect((await recipientIn(nameless, ids)).name).toBeUndefined();
});

test.each([
  [{ taxId: "9900 0025" }, { companyId: "99000025" }],
  [{ taxId: "SK2120000025" }, { vatId: "SK2120000025" }],
  [
    { taxId: "SK2120000025", companyId: "99000025" },
    { vatId: "SK2120000025", companyId: "99000025" },
  ],
  [{ taxId: "2120000025" }, { taxId: "2120000025" }],
  [{ taxId: "2120000025X" }, { taxId: "2120000025X" }],
])("the taxId of %j stands under the member of which it has the form: %j", async (said, stands) => {
  const named = { country: "SK", name: "X", networkId: "0245:2120000025" };
  expect((await recipientOf(directory(), { ...named, ...said })).recipient).toEqual({ ...named, ...stands });
});

test("what is said of a member that only taxId fills is said of taxId, and of no other", async () => {
  const memberOf = async (named: Partial<NamedRecipient>) =>
    (await recipientOf(directory(), { country: "SK", name: "X", ...named })).memberOf;
  expect((await memberOf({ taxId: "99000025" }))("recipient.companyId")).toBe("recipient.taxId");
  expect((await memberOf({ taxId: "99000025" }))("recipient.vatId")).toBe("recipient.vatId");
  const both = await memberOf({ taxId: "99000025", companyId: "99000025" });
  expect(both("recipient.companyId")).toBe("recipient.companyId");
});
