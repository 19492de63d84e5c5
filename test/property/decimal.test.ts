// Goal: every operation of validators/rules/decimal.ts equals the same operation on BigInt rationals.
// Method: seeded random decimals around the border between the small and the big form, compared by cross-multiplication.
import fc from "fast-check";
import { expect, test } from "vitest";
import * as d from "../../validators/rules/decimal.js";

const seed = Number(process.env["SEED"] ?? 20260817);
const check = (
  property:
    | fc.IProperty<[string, string]>
    | fc.IProperty<[string, number]>
    | fc.IProperty<[string]>
    | fc.IProperty<[number]>,
): void => fc.assert(property as fc.IProperty<unknown>, { seed, numRuns: 3000 });

type Rational = { n: bigint; d: bigint };
const rational = (text: string): Rational => {
  const match = /^([+-]?)(\d*)\.?(\d*)$/.exec(text.trim());
  if (match === null) throw new Error("not a decimal");
  const n = BigInt(`${match[2] ?? ""}${match[3] ?? ""}`);
  return { n: match[1] === "-" ? -n : n, d: 10n ** BigInt((match[3] ?? "").length) };
};
const of = (value: d.Decimal): Rational => rational(d.toText(value));
const same = (a: Rational, b: Rational): boolean => a.n * b.d === b.n * a.d;
const floorOf = (a: Rational): bigint => (a.n >= 0n || a.n % a.d === 0n ? a.n / a.d : a.n / a.d - 1n);

const digits = fc.oneof(
  { weight: 4, arbitrary: fc.bigInt({ min: 0n, max: 99_999_999n }) },
  { weight: 2, arbitrary: fc.bigInt({ min: 9_007_199_254_740_000n, max: 9_007_199_254_742_000n }) },
  { weight: 2, arbitrary: fc.bigInt({ min: 0n, max: 10n ** 40n }) },
  { weight: 1, arbitrary: fc.constantFrom(0n, 1n, 5n, 10n, 100n, 1000n) },
);
const text = fc
  .tuple(fc.constantFrom("", "-", "+"), digits, fc.integer({ min: 0, max: 20 }))
  .map(([sign, value, scale]) => {
    const all = String(value).padStart(scale + 1, "0");
    return scale === 0 ? sign + all : `${sign}${all.slice(0, -scale)}.${all.slice(-scale)}`;
  });
const value = (written: string): d.Decimal => d.decimal(written);

test(`a parsed number is the number that was written, and its text parses to itself (SEED=${seed})`, () => {
  check(
    fc.property(text, (a) => {
      expect(same(of(value(a)), rational(a))).toBe(true);
      expect(d.toText(value(d.toText(value(a))))).toBe(d.toText(value(a)));
    }),
  );
});

test("sum, difference, product and comparison are exact", () => {
  check(
    fc.property(text, text, (a, b) => {
      const [x, y] = [rational(a), rational(b)];
      expect(same(of(d.add(value(a), value(b))), { n: x.n * y.d + y.n * x.d, d: x.d * y.d })).toBe(true);
      expect(same(of(d.sub(value(a), value(b))), { n: x.n * y.d - y.n * x.d, d: x.d * y.d })).toBe(true);
      expect(same(of(d.mul(value(a), value(b))), { n: x.n * y.n, d: x.d * y.d })).toBe(true);
      const order = x.n * y.d - y.n * x.d;
      expect(d.cmp(value(a), value(b))).toBe(order < 0n ? -1 : order > 0n ? 1 : 0);
      expect(d.eq(value(a), value(b))).toBe(order === 0n);
      expect(d.sign(value(a))).toBe(x.n < 0n ? -1 : x.n > 0n ? 1 : 0);
    }),
  );
});

test("a quotient is at most half a unit of its last decimal away, and exact when it ends", () => {
  check(
    fc.property(text, text, (a, b) => {
      const [x, y] = [rational(a), rational(b)];
      const quotient = d.div(value(a), value(b));
      if (y.n === 0n) {
        expect(quotient).toBeUndefined();
        return;
      }
      const got = of(quotient ?? d.ZERO);
      const [n, m] = [x.n * y.d, x.d * y.n]; // the true quotient is n / m
      const error = { n: got.n * m - n * got.d, d: got.d * m };
      const size = (v: bigint): bigint => (v < 0n ? -v : v);
      expect(size(error.n) * 2n * 10n ** 18n <= size(error.d)).toBe(true);
      const scaled = n * 10n ** 18n;
      if (scaled % m === 0n) expect(error.n).toBe(0n);
    }),
  );
});

test("idiv and mod give the quotient towards zero and the remainder with the sign of the dividend", () => {
  check(
    fc.property(text, text, (a, b) => {
      const [x, y] = [rational(a), rational(b)];
      if (y.n === 0n) {
        expect(d.idiv(value(a), value(b))).toBeUndefined();
        expect(d.mod(value(a), value(b))).toBeUndefined();
        return;
      }
      const whole = (x.n * y.d) / (y.n * x.d);
      expect(same(of(d.idiv(value(a), value(b)) ?? d.ZERO), { n: whole, d: 1n })).toBe(true);
      expect(same(of(d.mod(value(a), value(b)) ?? d.ZERO), { n: x.n * y.d - whole * y.n * x.d, d: x.d * y.d })).toBe(
        true,
      );
    }),
  );
});

test("floor, ceiling, truncate and round (a half towards +infinity) agree with rationals", () => {
  check(
    fc.property(text, fc.integer({ min: 0, max: 6 }), (a, places) => {
      const x = rational(a);
      const below = floorOf(x);
      const isWhole = x.n % x.d === 0n;
      expect(d.toText(d.floor(value(a)))).toBe(String(below));
      expect(d.toText(d.ceiling(value(a)))).toBe(String(isWhole ? below : below + 1n));
      expect(d.toText(d.truncate(value(a)))).toBe(String(x.n / x.d));
      expect(d.toText(d.round(value(a)))).toBe(String(floorOf({ n: 2n * x.n + x.d, d: 2n * x.d })));
      expect(d.isInteger(value(a))).toBe(isWhole);
      const unit = 10n ** BigInt(places);
      const rounded = floorOf({ n: 2n * x.n * unit + x.d, d: 2n * x.d });
      expect(same(of(d.roundTo(value(a), places)), { n: rounded, d: unit })).toBe(true);
      const even = d.roundHalfToEven(value(a), places);
      const distance = d.abs(d.sub(d.mul(even, d.fromBigInt(unit)), d.mul(value(a), d.fromBigInt(unit))));
      expect(d.le(distance, d.decimal("0.5"))).toBe(true);
      if (d.eq(distance, d.decimal("0.5"))) expect(((of(even).n * unit) / of(even).d) % 2n).toBe(0n);
    }),
  );
});

test("a double becomes its exact decimal, and a decimal its nearest double", () => {
  check(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e12, max: 1e12 }), (x) => {
      const exact = d.fromDouble(x) ?? d.ZERO;
      expect(d.toDouble(exact)).toBe(x + 0);
    }),
  );
  check(
    fc.property(text, (a) => {
      expect(d.toDouble(value(a))).toBe(Number(a) + 0);
    }),
  );
});
