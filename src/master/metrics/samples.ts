/**
 * The values of one reading, by metric, and their two forms: Prometheus' text, and the rows of the wheel function `saltworks.metrics`.
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/, text format 0.0.4.
 */
import type { Encodable } from "../../wire/values.ts";
import type { HistogramSnapshot } from "../../workers/measures/histogram.ts";
import { type LabelsOf, type MetricName, metrics } from "./table.ts";

/** `metricName`: the name of a histogram's series, with `_bucket`, `_sum` or `_count`. */
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

  /** Adds a histogram. In Prometheus' format buckets are cumulative. */
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
  text(): string {
    return [...this.#byMetric].map(([name, samples]) => familyText(name, samples)).join("");
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

function familyText(name: MetricName, samples: readonly Sample[]): string {
  const { help, kind } = metrics[name];
  const head = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${kind}`];
  return [...head, ...samples.map((sample) => sampleText(name, sample)), ""].join("\n");
}

function sampleText(name: MetricName, { metricName, labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text).replaceAll('"', '\\"')}"`);
  return `${metricName ?? name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${valueText(value)}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/** A number as Go writes it: `NaN`, `+Inf` and `-Inf` if it is not finite. */
function valueText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}
