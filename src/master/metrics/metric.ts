/** One row of the metrics table: kind, labels and meaning. */

export type MetricKind = "counter" | "gauge" | "histogram";
export type Metric = {
  readonly kind: MetricKind;
  readonly labels: readonly string[];
  readonly help: string;
  /** Bucket bounds of a histogram. */
  readonly bounds?: readonly number[];
};

export function metric<const Label extends string>(kind: MetricKind, labels: readonly Label[], help: string) {
  return { kind, labels, help };
}

export function histogram<const Label extends string>(
  labels: readonly Label[],
  bounds: readonly number[],
  help: string,
) {
  return { kind: "histogram", labels, help, bounds } as const;
}
