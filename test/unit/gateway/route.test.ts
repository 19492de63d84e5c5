import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";

import type { Caller, FirmContext } from "../../../engine/identity/caller.js";
import { IDEMPOTENCY, route } from "../../../gateway/contract/route.js";

test("a handler's request has the types that its row's schemas and columns promise", () => {
  const row = route({
    operation: "createThing",
    method: "POST",
    path: "/things/{thingId}",
    mounts: ["/api/v1"],
    family: "enterprise",
    summary: "Makes a thing",
    credential: "bearer",
    context: "firm",
    idempotency: "uuid",
    scopes: ["documents:send"],
    rate: "enterprise",
    request: {
      params: z.object({ thingId: z.uuid() }),
      query: z.object({ limit: z.coerce.number().int().default(20) }),
      body: z.object({ name: z.string(), count: z.number().optional() }),
    },
    responses: {
      201: { description: "made", schema: z.object({ id: z.string() }) },
      204: { description: "nothing to do" },
    },
    errors: ["NOT_FOUND"],
    handler(request) {
      expectTypeOf(request.params).toEqualTypeOf<{ thingId: string }>();
      expectTypeOf(request.query).toEqualTypeOf<{ limit: number }>();
      expectTypeOf(request.body.name).toEqualTypeOf<string>();
      expectTypeOf(request.caller).toEqualTypeOf<Caller>();
      expectTypeOf(request.firm).toEqualTypeOf<FirmContext>();
      expectTypeOf(request.participant).toEqualTypeOf<undefined>();
      expectTypeOf(request.idempotencyKey).toEqualTypeOf<string>();
      return request.query.limit > 3 ? { status: 201, body: { id: request.params.thingId } } : { status: 204 };
    },
  });
  expect(row.request.accepts).toEqual(["json"]);

  const bare = route({
    operation: "readThing",
    method: "GET",
    path: "/thing",
    mounts: ["/api/v1"],
    family: "public",
    summary: "Reads",
    credential: "none",
    responses: { 200: { description: "it", schema: z.object({ id: z.string() }) } },
    errors: [],
    handler: (request) => {
      expectTypeOf(request.params).toEqualTypeOf<undefined>();
      expectTypeOf(request.body).toEqualTypeOf<undefined>();
      expectTypeOf(request.caller).toEqualTypeOf<undefined>();
      expectTypeOf(request.idempotencyKey).toEqualTypeOf<undefined>();
      return { status: 200, body: { id: "x" } };
    },
  });
  expect(bare.context).toBe("none");

  route({
    operation: "wrong",
    method: "GET",
    path: "/wrong",
    mounts: ["/api/v1"],
    family: "public",
    summary: "Refused by the compiler",
    credential: "none",
    responses: { 200: { description: "it", schema: z.object({ id: z.string() }) } },
    errors: [],
    // @ts-expect-error a status that the row does not describe
    handler: () => ({ status: 202, body: { id: "x" } }),
  });
});

test("each form of Idempotency-Key takes what its specification names and nothing else", () => {
  expect(IDEMPOTENCY.uuid.pattern.test("018f6a3e-1111-7222-8333-444455556666")).toBe(true);
  for (const bad of [
    "",
    "abc",
    "018f6a3e11117222833344445555666",
    '"018f6a3e-1111-7222-8333-444455556666"',
    "018f6a3e-1111-7222-8333-444455556666 ",
  ]) {
    expect(IDEMPOTENCY.uuid.pattern.test(bad)).toBe(false);
  }
  expect(IDEMPOTENCY.token.pattern.test("abcd_.:-")).toBe(true);
  for (const bad of ["abcdefg", "a".repeat(129), "abcdefgh!", "ábcdefgh"])
    expect(IDEMPOTENCY.token.pattern.test(bad)).toBe(false);
  expect(IDEMPOTENCY.text.pattern.test(`connector:v1:${"a".repeat(64)}`)).toBe(true);
  expect(IDEMPOTENCY.text.pattern.test("x")).toBe(true);
  expect(IDEMPOTENCY.text.pattern.test("x".repeat(255))).toBe(true);
  for (const bad of ["", "x".repeat(256), " x", "x\n", "ž"]) expect(IDEMPOTENCY.text.pattern.test(bad)).toBe(false);
});
