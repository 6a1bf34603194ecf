/** The values of one look at the master, by metric, and their two forms: Prometheus' text, and the tree that `saltworks.metrics` answers. */
import { type Metric, Registry } from "prom-client";
import type { Encodable } from "../../wire/values.ts";
import type { HistogramSnapshot } from "../../workers/measures/histogram.ts";
import { type LabelsOf, type MetricName, metrics } from "./table.ts";

/** `metricName`: a histogram's values have names of their own. */
type Sample = {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

export class Samples {
  readonly #byMetric = new Map<MetricName, Sample[]>();

  set<Name extends MetricName>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.#samplesOf(name).push({ labels, value });
  }

  /** Buckets are cumulative on the wire. */
  histogram<Name extends MetricName>(name: Name, labels: LabelsOf<Name>, snapshot: HistogramSnapshot): void {
    const samples = this.#samplesOf(name);
    let count = 0;
    for (const [index, inBucket] of snapshot.counts.entries()) {
      count += inBucket;
      const le = index < snapshot.bounds.length ? String(snapshot.bounds[index]) : "+Inf";
      samples.push({ metricName: `${name}_bucket`, labels: { ...labels, le }, value: count });
    }
    samples.push({ metricName: `${name}_sum`, labels, value: snapshot.sum });
    samples.push({ metricName: `${name}_count`, labels, value: count });
  }

  /** In Prometheus' text format, with every metric's kind and meaning. */
  text(): Promise<string> {
    const registry = new Registry();
    for (const [name, values] of this.#byMetric) {
      const { help, kind } = metrics[name];
      const family = { name, help, type: kind, values };
      // Any object with a name and values may be registered. The package's types know its own classes only.
      registry.registerMetric({ name, get: async () => family } as unknown as Metric);
    }
    return registry.metrics();
  }

  /** Rows of name, labels and value, for clients that read metrics over the request port. */
  rows(): Encodable {
    return [...this.#byMetric].flatMap(([name, samples]) =>
      samples.map(({ metricName, labels, value }) => [metricName ?? name, labels, value]),
    );
  }

  #samplesOf(name: MetricName): Sample[] {
    let samples = this.#byMetric.get(name);
    if (samples === undefined) {
      samples = [];
      this.#byMetric.set(name, samples);
    }
    return samples;
  }
}
