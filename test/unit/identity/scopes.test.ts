import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { Refusal } from "../../../engine/base/errors.js";
import { effectiveScopes, FIRM_KEY_SCOPES, knownScopes, requestedScopes } from "../../../engine/identity/scopes.js";
import { SCOPES } from "../../../engine/base/scopes.js";
import { seedFrom } from "../../support/random.js";

const subset = fc.subarray([...SCOPES]);
const seed = seedFrom(20261120);

describe("effectiveScopes", () => {
  test(`nothing is effective that key, token and consent do not all grant (SEED=${seed})`, () => {
    fc.assert(
      fc.property(subset, subset, fc.option(subset, { nil: undefined }), (key, token, binding) => {
        const effective = effectiveScopes(key, token, binding);
        for (const scope of SCOPES) {
          expect(effective.has(scope)).toBe(
            key.includes(scope) && token.includes(scope) && (binding === undefined || binding.includes(scope)),
          );
        }
      }),
      { seed },
    );
  });

  test("a word that is no scope is never effective, even when everybody grants it", () => {
    expect(effectiveScopes(["admin"], ["admin"], ["admin"])).toEqual(new Set());
  });
});

describe("requestedScopes", () => {
  test("without a scope all scopes of the key are granted", () => {
    expect(requestedScopes(undefined, FIRM_KEY_SCOPES)).toEqual(knownScopes(FIRM_KEY_SCOPES));
    expect(requestedScopes("", ["documents:send"])).toEqual(["documents:send"]);
  });

  test("a subset is granted, each scope once, in the order of the list", () => {
    expect(requestedScopes("documents:read documents:send documents:read", FIRM_KEY_SCOPES)).toEqual([
      "documents:send",
      "documents:read",
    ]);
  });

  test.each([
    "documents:send keys:manage",
    "keys:manage",
    "documents:send,documents:read",
    "DOCUMENTS:SEND",
    "documents:send\tdocuments:read",
    "*",
  ])("%j is not among the key's scopes", (scope) => {
    expect(() => requestedScopes(scope, FIRM_KEY_SCOPES)).toThrow(Refusal);
  });

  // spec/rulings.md §4: "A new firm key has documents:send, documents:read, documents:write, account:read, webhooks:read, webhooks:write."
  test("a new firm key has the six scopes of the ruling", () => {
    expect([...FIRM_KEY_SCOPES].sort()).toEqual([
      "account:read",
      "documents:read",
      "documents:send",
      "documents:write",
      "webhooks:read",
      "webhooks:write",
    ]);
  });
});
