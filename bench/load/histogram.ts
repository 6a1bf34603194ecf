/** Latencies in HdrHistograms: microseconds, three significant digits, up to ten minutes; merged, encoded and read back. */
import { build, decodeFromCompressedBase64, encodeIntoCompressedBase64, type Histogram } from "hdr-histogram-js";
import { SaltworksError } from "../../src/errors.ts";
import type { OperationResult } from "../results/schema.ts";

/** Ten minutes: longer than any timeout of a minion. */
const latencyUsMax = 600_000_000;

export class LatencyHistogram {
  readonly #histogram: Histogram;

  constructor(histogram: Histogram = build(shape)) {
    this.#histogram = histogram;
  }

  /** @throws SaltworksError CONFIG_INVALID for text that does not encode a histogram */
  static decode(text: string): LatencyHistogram {
    try {
      return new LatencyHistogram(decodeFromCompressedBase64(text, shape.bitBucketSize) as Histogram);
    } catch (cause) {
      const message = `a histogram cannot be read: ${(cause as Error).message}`;
      throw new SaltworksError("CONFIG_INVALID", message, {}, { cause });
    }
  }

  get count(): number {
    return this.#histogram.totalCount;
  }

  recordMs(latencyMs: number): void {
    this.#histogram.recordValue(Math.min(latencyUsMax, Math.max(0, Math.round(latencyMs * 1_000))));
  }

  add(other: LatencyHistogram): void {
    this.#histogram.add(other.#histogram);
  }

  encode(): string {
    return encodeIntoCompressedBase64(this.#histogram);
  }

  /** The percentile in microseconds; 0 without operations. */
  atUs(percent: number): number {
    return this.count === 0 ? 0 : this.#histogram.getValueAtPercentile(percent);
  }

  percentilesUs(): OperationResult["percentilesUs"] {
    return { p50: this.atUs(50), p90: this.atUs(90), p99: this.atUs(99), p999: this.atUs(99.9), max: this.atUs(100) };
  }
}

const shape = {
  bitBucketSize: 32,
  autoResize: false,
  lowestDiscernibleValue: 1,
  highestTrackableValue: latencyUsMax,
  numberOfSignificantValueDigits: 3,
} as const;
