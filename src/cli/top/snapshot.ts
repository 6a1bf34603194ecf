/** One look at a master's metrics, as wheel `saltworks.metrics` answers it, and what lies between two of them. */
import { SaltworksError } from "../../errors.ts";
import type { LabelsOf, MetricName } from "../../master/metrics-table.ts";
import type { Value } from "../../wire/values.ts";

type Row = { readonly labels: ReadonlyMap<string, string>; readonly value: number };
type Where<Name extends MetricName> = Partial<LabelsOf<Name>>;

export class Snapshot {
  readonly #rows = new Map<string, Row[]>();

  /** @throws SaltworksError REQUEST_REFUSED if the answer has another form: a master of another release */
  constructor(answer: Value) {
    if (!Array.isArray(answer)) throw unreadable();
    for (const row of answer) {
      const [name, labels, value] = Array.isArray(row) ? row : [];
      if (typeof name !== "string" || !(labels instanceof Map) || value === undefined) throw unreadable();
      const pairs = [...labels].map(([key, text]): [string, string] => [String(key), String(text)]);
      const rows = this.#rows.get(name) ?? [];
      rows.push({ labels: new Map(pairs), value: Number(value) });
      this.#rows.set(name, rows);
    }
  }

  /** The sum of a metric's values, or of those with these labels. */
  sum<Name extends MetricName>(name: Name, where: Where<Name> = {}): number {
    return this.#sum(name, where);
  }

  /** Every value that the label has. */
  valuesOf<Name extends MetricName>(name: Name, label: keyof LabelsOf<Name> & string): string[] {
    const rows = this.#rows.get(name) ?? this.#rows.get(`${name}_sum`) ?? [];
    return [...new Set(rows.flatMap(({ labels }) => labels.get(label) ?? []))];
  }

  /** Of a histogram. */
  total<Name extends MetricName>(name: Name, part: "sum" | "count", where: Where<Name> = {}): number {
    return this.#sum(`${name}_${part}`, where);
  }

  /** Cumulative counts by upper bound, ascending, summed over all with these labels. */
  buckets<Name extends MetricName>(name: Name, where: Where<Name>): ReadonlyMap<number, number> {
    const counts = new Map<number, number>();
    for (const { labels, value } of this.#matching(`${name}_bucket`, where)) {
      const bound = labels.get("le") === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.get("le"));
      counts.set(bound, (counts.get(bound) ?? 0) + value);
    }
    return counts;
  }

  #sum(name: string, where: Readonly<Record<string, string | undefined>>): number {
    return this.#matching(name, where).reduce((sum, { value }) => sum + value, 0);
  }

  #matching(name: string, where: Readonly<Record<string, string | undefined>>): Row[] {
    const wanted = Object.entries(where);
    const rows = this.#rows.get(name) ?? [];
    return rows.filter(({ labels }) => wanted.every(([label, text]) => labels.get(label) === text));
  }
}

function unreadable(): SaltworksError {
  return new SaltworksError("REQUEST_REFUSED", "the master's metrics have another form: is it of another release?");
}

/** What happened between two looks. A master that was started again in between has counted from 0. */
export class Change {
  readonly now: Snapshot;
  readonly #before: Snapshot;
  readonly #seconds: number;

  constructor(before: Snapshot, now: Snapshot, seconds: number) {
    this.#before = before;
    this.now = now;
    this.#seconds = seconds;
  }

  growth<Name extends MetricName>(name: Name, where: Where<Name> = {}): number {
    return since(this.#before.sum(name, where), this.now.sum(name, where));
  }

  rate<Name extends MetricName>(name: Name, where: Where<Name> = {}): number {
    return this.growth(name, where) / this.#seconds;
  }

  /** Of a histogram's sum or count. */
  growthOf<Name extends MetricName>(name: Name, part: "sum" | "count", where: Where<Name> = {}): number {
    return since(this.#before.total(name, part, where), this.now.total(name, part, where));
  }

  rateOf<Name extends MetricName>(name: Name, part: "sum" | "count", where: Where<Name> = {}): number {
    return this.growthOf(name, part, where) / this.#seconds;
  }

  /** The upper bound of the bucket in which the quantile lies; undefined if nothing was observed. Infinite: over every bound. */
  quantile<Name extends MetricName>(name: Name, quantile: number, where: Where<Name> = {}): number | undefined {
    const before = this.#before.buckets(name, where);
    const grown = [...this.now.buckets(name, where)].map(([bound, count]): [number, number] => [
      bound,
      since(before.get(bound) ?? 0, count),
    ]);
    const total = grown.at(-1)?.[1] ?? 0;
    return total === 0 ? undefined : grown.find(([, count]) => count >= total * quantile)?.[0];
  }
}

function since(before: number, now: number): number {
  return now >= before ? now - before : now;
}
