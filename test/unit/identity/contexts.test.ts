/** Who may act for whom: the binding's decision, and the status times of tokens. */
import { describe, expect, test } from "vitest";

import type { Caller } from "../../../engine/identity/caller.js";
import { bindingScopes } from "../../../engine/identity/contexts.js";
import { tokenTimes } from "../../../engine/identity/tokens/tokens.js";
import type { FirmId, IntegratorId, KeyId } from "../../../engine/base/ids.js";
import { LIMITS } from "../../../engine/base/limits.js";
import type { BindingRow } from "../../../engine/storage/identity/bindings.js";

const FIRM = "018f0000-0000-7000-8000-00000000000a" as FirmId;
const OTHER = "018f0000-0000-7000-8000-00000000000b" as FirmId;
const INTEGRATOR = "018f0000-0000-7000-8000-00000000000c" as IntegratorId;

const caller: Caller = {
  keyId: "018f0000-0000-7000-8000-00000000000d" as KeyId,
  kind: "integrator",
  keyType: "sk_int",
  integratorId: INTEGRATOR,
  scopes: new Set(["documents:send", "documents:read", "firms:manage"]),
  ipAllowlist: [],
  tokenId: "t",
  issuedAt: 0,
  expiresAt: 900_000,
  generation: 0,
  bindingGeneration: 3,
  productionAuthorized: true,
  tokenScope: ["documents:send", "documents:read", "firms:manage"],
};
const binding: BindingRow = {
  integratorId: INTEGRATOR,
  firmId: FIRM,
  customerRef: null,
  state: "active",
  scopes: ["documents:read", "documents:write"],
  interfaces: ["enterprise", "sapi"],
  revokedGeneration: 3,
  updatedAt: new Date(0),
};

describe("bindingScopes", () => {
  // spec/enterprise.md: "Effective permissions are always cut down to the scopes of the firm's consent."
  test("an active binding gives what the consent, the key and the token share", () => {
    expect(bindingScopes(caller, binding, "sapi", "sandbox")).toEqual(new Set(["documents:read"]));
  });

  test.each<[string, Partial<Caller>, Partial<BindingRow> | null, "sandbox" | "production"]>([
    ["there is no binding", {}, null, "sandbox"],
    ["the binding is required", {}, { state: "required" }, "sandbox"],
    ["the binding is pending", {}, { state: "pending" }, "sandbox"],
    ["the binding is revoked", {}, { state: "revoked" }, "sandbox"],
    ["the consent does not name the interface", {}, { interfaces: ["enterprise", "connector"] }, "sandbox"],
    ["the token was born before the firm's last withdrawal", { bindingGeneration: 2 }, {}, "sandbox"],
    ["the key is for another firm", { scopedFirmId: OTHER }, {}, "sandbox"],
    ["the integrator is not authorized in production", { productionAuthorized: false }, {}, "production"],
  ])("nothing is allowed when %s", (_, changedCaller, changedBinding, environment) => {
    const row = changedBinding === null ? null : { ...binding, ...changedBinding };
    expect(bindingScopes({ ...caller, ...changedCaller }, row, "sapi", environment)).toBeUndefined();
  });

  test("an integrator without production authorization works in the sandbox", () => {
    expect(bindingScopes({ ...caller, productionAuthorized: false }, binding, "sapi", "sandbox")).toBeDefined();
  });

  test("a key for this firm works for it", () => {
    expect(bindingScopes({ ...caller, scopedFirmId: FIRM }, binding, "sapi", "sandbox")).toBeDefined();
  });
});

describe("tokenTimes", () => {
  const end = LIMITS.token_access_s * 1000;
  // spec/sapi.md: should_refresh "becomes true about 3 minutes before expiry"; spec/enterprise.md: "true within the last 25 percent"
  test.each([
    ["sapi", 180],
    ["enterprise", 225],
  ] as const)("%s advises renewal %d seconds before the end", (door, before_s) => {
    const at = (now: number) => tokenTimes({ expiresAt: end }, door, now);
    expect(at(end - before_s * 1000 - 1)).toMatchObject({ shouldRefresh: false });
    expect(at(end - before_s * 1000)).toMatchObject({
      shouldRefresh: true,
      refreshRecommendedAt: end - before_s * 1000,
      expiresIn_s: before_s,
    });
    expect(at(0)).toMatchObject({ shouldRefresh: false, expiresIn_s: 900 });
    expect(at(end + 5_000)).toMatchObject({ shouldRefresh: true, expiresIn_s: 0 });
  });
});
