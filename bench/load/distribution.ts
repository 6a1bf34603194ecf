/** Sizes and delays as a scenario's parameters write them: `64`, `64..4096`, `lognormal:700:0.8`, or a mix such as `64:70%,4096:25%,262144:5%`. */
import { SaltworksError } from "../../src/errors.ts";
import type { Random } from "./random.ts";

export type Distribution =
  | { readonly kind: "fixed"; readonly value: number }
  | { readonly kind: "uniform"; readonly from: number; readonly to: number }
  /** `median` in the unit of the value; `sigma` of its natural logarithm. */
  | { readonly kind: "lognormal"; readonly median: number; readonly sigma: number }
  | { readonly kind: "mix"; readonly parts: readonly { readonly value: number; readonly share: number }[] };

/** A lognormal's tail is cut here, because one rare value could decide a run alone. */
const sigmasMax = 4;
/** Tolerance of the sum of rounded shares. */
const shareSlack = 0.001;

/** @throws SaltworksError USAGE */
export function parseDistribution(text: string): Distribution {
  const trimmed = text.trim();
  const range = /^([\d.]+?)\.\.([\d.]+)$/.exec(trimmed);
  if (range) {
    const [from, to] = [numberIn(range[1], text), numberIn(range[2], text)];
    if (to < from) throw invalid(text);
    return { kind: "uniform", from, to };
  }
  if (/^[\d.]+$/.test(trimmed)) return { kind: "fixed", value: numberIn(trimmed, text) };
  const lognormal = /^lognormal:([\d.]+):([\d.]+)$/.exec(trimmed);
  if (lognormal)
    return { kind: "lognormal", median: numberIn(lognormal[1], text), sigma: numberIn(lognormal[2], text) };
  return parseMix(trimmed);
}

function parseMix(text: string): Distribution {
  const parts = text.split(",").map((part) => {
    const found = /^\s*([\d.]+):([\d.]+)%\s*$/.exec(part);
    if (!found) throw invalid(text);
    return { value: numberIn(found[1], text), share: numberIn(found[2], text) / 100 };
  });
  const sum = parts.reduce((total, { share }) => total + share, 0);
  if (Math.abs(sum - 1) > shareSlack) throw invalid(text, `its shares add up to ${Number((sum * 100).toFixed(3))} %`);
  return { kind: "mix", parts };
}

function numberIn(text: string | undefined, whole: string): number {
  const value = Number(text);
  if (text === undefined || text === "" || !Number.isFinite(value)) throw invalid(whole);
  return value;
}

function invalid(text: string, why = "write 64, 64..4096, lognormal:700:0.8 or 64:70%,4096:30%"): SaltworksError {
  return new SaltworksError("USAGE", `${text} is not a distribution: ${why}`);
}

/** The largest value that can be drawn. */
export function largestOf(distribution: Distribution): number {
  switch (distribution.kind) {
    case "fixed":
      return distribution.value;
    case "uniform":
      return distribution.to;
    case "lognormal":
      return distribution.median * Math.exp(distribution.sigma * sigmasMax);
    case "mix":
      return Math.max(...distribution.parts.map(({ value }) => value));
    default: {
      const never: never = distribution;
      throw new TypeError(`unknown distribution ${String(never)}`);
    }
  }
}

/** Draws a whole number. */
export function draw(distribution: Distribution, random: Random): number {
  switch (distribution.kind) {
    case "fixed":
      return Math.round(distribution.value);
    case "uniform":
      return Math.floor(distribution.from + random() * (distribution.to - distribution.from + 1));
    case "lognormal": {
      // Box and Muller; 1 - random is never 0.
      const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      return Math.round(distribution.median * Math.exp(distribution.sigma * Math.min(normal, sigmasMax)));
    }
    case "mix":
      return drawPart(distribution.parts, random());
    default: {
      const never: never = distribution;
      throw new TypeError(`unknown distribution ${String(never)}`);
    }
  }
}

function drawPart(parts: readonly { readonly value: number; readonly share: number }[], point: number): number {
  let below = 0;
  for (const { value, share } of parts) {
    below += share;
    if (point < below) return Math.round(value);
  }
  return Math.round(parts.at(-1)?.value ?? 0);
}
