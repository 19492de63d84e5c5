/** BoundedMap against a plain list that does the same slowly. */
import fc from "fast-check";
import { expect, test } from "vitest";

import { BoundedMap } from "../../../../engine/base/bounded.js";

test("a bounded map holds what was set or used last, and never more than its bound", () => {
  const step = fc.record({
    key: fc.integer({ min: 0, max: 6 }),
    what: fc.constantFrom("set", "keep", "use", "get", "delete"),
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step), (entries_max, steps) => {
      const map = new BoundedMap<number, string>(entries_max);
      let model: [number, string][] = [];
      steps.forEach(({ key, what }, at) => {
        const value = `v${at}`;
        const known = model.find(([other]) => other === key);
        if (what === "get") expect(map.get(key)).toBe(known?.[1]);
        if (what === "use") expect(map.use(key)).toBe(known?.[1]);
        if (what === "keep") expect(map.keep(key, value)).toBe(value);
        if (what === "set") map.set(key, value);
        if (what === "delete") map.delete(key);
        const rest = model.filter((entry) => entry !== known);
        if (what === "delete") model = rest;
        if (what === "use" && known !== undefined) model = [...rest, known];
        if (what === "set" || what === "keep") model = [...rest, [key, value] as [number, string]].slice(-entries_max);
        expect([...map]).toEqual(model);
        expect(map.size).toBeLessThanOrEqual(entries_max);
      });
    }),
  );
});

test("a bounded map drops its oldest entries as long as they satisfy a claim", () => {
  const map = new BoundedMap<string, number>(5);
  for (const [key, value] of Object.entries({ a: 1, b: 2, c: 9, d: 1 })) map.set(key, value);
  map.dropWhile((value) => value < 5);
  expect([...map.keys()]).toEqual(["c", "d"]);
});
