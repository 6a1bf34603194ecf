/**
 * The values of one reading, by metric, and their forms: Prometheus' text, OpenMetrics, and the rows of the wheel function `saltworks.metrics`.
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/, text format 0.0.4, and
 * https://prometheus.io/docs/specs/om/open_metrics_spec/, version 1.0.0.
 */
import type { Encodable } from "../../wire/values.ts";
import type { HistogramSnapshot } from "../../workers/measures/histogram.ts";
import type { TextForm } from "../ports/metrics-server.ts";
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

  /** With every metric's kind and meaning. */
  text(form: TextForm = "prometheus"): string {
    const families = [...this.#byMetric].map(([name, samples]) => familyText(form, name, samples));
    return `${families.join("")}${form === "openmetrics" ? "# EOF\n" : ""}`;
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

/** In OpenMetrics a counter's family has no `_total`, and quotation marks are escaped in meanings, too. */
function familyText(form: TextForm, name: MetricName, samples: readonly Sample[]): string {
  const { help, kind } = metrics[name];
  const isOpen = form === "openmetrics";
  const family = isOpen && kind === "counter" ? name.replace(/_total$/, "") : name;
  const head = [`# HELP ${family} ${isOpen ? quoted(help) : escaped(help)}`, `# TYPE ${family} ${kind}`];
  return [...head, ...samples.map((sample) => sampleText(form, name, sample)), ""].join("\n");
}

function sampleText(form: TextForm, name: MetricName, { metricName, labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${quoted(labelText(form, label, text))}"`);
  return `${metricName ?? name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${valueText(value)}`;
}

/** OpenMetrics writes bounds of buckets as floating point numbers. */
function labelText(form: TextForm, label: string, text: string): string {
  return form === "openmetrics" && label === "le" && /^\d+$/.test(text) ? `${text}.0` : text;
}

function quoted(text: string): string {
  return escaped(text).replaceAll('"', '\\"');
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

/** A number as Go writes it: `NaN`, `+Inf` and `-Inf` if it is not finite. */
function valueText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}
