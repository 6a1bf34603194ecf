/** Seeded randomness for tests: the seed is printed, and SALTWORKS_SEED repeats a run. */
import { Ext, Float, type Value } from "../../src/wire/values.ts";

export type Random = {
  readonly seed: number;
  /** 0 <= result < below, whole. */
  readonly below: (below: number) => number;
  readonly bytes: (length: number) => Buffer;
};

export function seedFromClock(): number {
  return Number(process.env.SALTWORKS_SEED ?? Date.now() % 2 ** 31);
}

/** The generator known as mulberry32: small, and good enough to find bad inputs. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return { seed, below, bytes: (length) => Buffer.from(Array.from({ length }, () => below(256))) };
}

const texts = [
  "",
  "id",
  "salt/job/1/ret/m",
  "h\u00e9llo \u4e16\u754c \u{1f600}",
  "x".repeat(31),
  "y".repeat(32),
  "z".repeat(300),
];
const numbers = [
  0,
  1,
  127,
  128,
  255,
  256,
  65_535,
  65_536,
  2 ** 32,
  2 ** 53 - 1,
  -1,
  -32,
  -33,
  -128,
  -129,
  -32_769,
  -(2 ** 31) - 1,
];
const bigs = [2n ** 53n, 2n ** 64n - 1n, -(2n ** 63n)];

/** A value of any type, nested at most `depth` deep, in the form of `decode`. */
export function randomValue(random: Random, depth: number): Value {
  const pick = <Item>(items: readonly Item[]): Item => items[random.below(items.length)] as Item;
  switch (random.below(depth > 0 ? 11 : 9)) {
    case 0:
      return null;
    case 1:
      return random.below(2) === 0;
    case 2:
    case 3:
      return pick(numbers);
    case 4:
      return pick(bigs);
    case 5:
      return pick(texts);
    case 6:
      // Never valid UTF-8, so that it stays bytes in both flavours.
      return new Uint8Array(Buffer.concat([Buffer.of(0xff), random.bytes(random.below(60))]));
    case 7:
      return random.below(2) === 0 ? new Float(random.below(100)) : random.below(1_000) + 0.5;
    case 8:
      // Not -1, which the reference implementation takes for a time of its own.
      return new Ext(
        pick([-128, -2, 0, 78, 79, 127]),
        new Uint8Array(random.bytes(pick([1, 2, 4, 8, 16, 3, 24, 300]))),
      );
    case 9:
      return Array.from({ length: random.below(20) }, () => randomValue(random, depth - 1));
    default:
      return new Map(
        Array.from({ length: random.below(20) }, (_, index) => [
          random.below(8) === 0 ? index : `${pick(texts)}${index}`,
          randomValue(random, depth - 1),
        ]),
      );
  }
}
