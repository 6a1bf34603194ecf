/** A snapshot of a master's metrics, from the wheel function `saltworks.metrics`, and the change between two snapshots. */
import { SaltworksError } from "../../errors.ts";
import type { LabelsOf, MetricName } from "../../master/metrics/table.ts";
import type { Value } from "../../wire/values.ts";

type Row = { readonly labels: ReadonlyMap<string, string>; readonly value: number };
type Where<Name extends MetricName> = Partial<LabelsOf<Name>>;

export class Snapshot {
  readonly #rows = new Map<string, Row[]>();

  /** @throws SaltworksError REQUEST_REFUSED if the reply has another form, as from a master of another release */
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

  /** The sum of a metric over all its series with these labels. */
  sum<Name extends MetricName>(name: Name, where: Where<Name> = {}): number {
    return this.#sum(name, where);
  }

  /** Every value of the label. */
  valuesOf<Name extends MetricName>(name: Name, label: keyof LabelsOf<Name> & string): string[] {
    const rows = this.#rows.get(name) ?? this.#rows.get(`${name}_sum`) ?? [];
    return [...new Set(rows.flatMap(({ labels }) => labels.get(label) ?? []))];
  }

  /** The values of a metric's series with these labels, by `seriesKey`. `part`: the sum or count of a histogram. */
  series<Name extends MetricName>(
    name: Name,
    where: Where<Name> = {},
    part?: "sum" | "count",
  ): ReadonlyMap<string, number> {
    const rows = this.#matching(part === undefined ? name : `${name}_${part}`, where);
    return new Map(rows.map(({ labels, value }) => [seriesKey(labels), value]));
  }

  /** For each series of a histogram with these labels: the cumulative counts by ascending upper bound. */
  buckets<Name extends MetricName>(name: Name, where: Where<Name>): ReadonlyMap<string, ReadonlyMap<number, number>> {
    const bySeries = new Map<string, Map<number, number>>();
    for (const { labels, value } of this.#matching(`${name}_bucket`, where)) {
      const bound = labels.get("le") === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.get("le"));
      const key = seriesKey(labels);
      const counts = bySeries.get(key) ?? new Map<number, number>();
      bySeries.set(key, counts.set(bound, value));
    }
    return bySeries;
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

/** A key from all labels, without the bound of a bucket. */
function seriesKey(labels: ReadonlyMap<string, string>): string {
  return JSON.stringify([...labels].filter(([label]) => label !== "le"));
}

function unreadable(): SaltworksError {
  return new SaltworksError(
    "REQUEST_REFUSED",
    "the master's metrics have an unknown form, so it may be of another release",
  );
}

/**
 * The change between two snapshots. A restarted master and a replaced worker count from 0 again. Each series is compared separately, because a
 * sum over all workers would hide that.
 */
export class Change {
  readonly now: Snapshot;
  readonly #before: Snapshot;
  readonly #seconds: number;

  constructor(before: Snapshot, now: Snapshot, seconds: number) {
    this.#before = before;
    this.now = now;
    this.#seconds = seconds;
  }

  /** The growth of a metric. `part`: the sum or count of a histogram. */
  growth<Name extends MetricName>(name: Name, where: Where<Name> = {}, part?: "sum" | "count"): number {
    const before = this.#before.series(name, where, part);
    let sum = 0;
    for (const [key, value] of this.now.series(name, where, part)) sum += since(before.get(key) ?? 0, value);
    return sum;
  }

  rate<Name extends MetricName>(name: Name, where: Where<Name> = {}, part?: "sum" | "count"): number {
    return this.growth(name, where, part) / this.#seconds;
  }

  /** The upper bound of the bucket that holds the quantile. Undefined if nothing was observed, infinite above the last bound. */
  quantile<Name extends MetricName>(name: Name, quantile: number, where: Where<Name> = {}): number | undefined {
    const before = this.#before.buckets(name, where);
    const grown = new Map<number, number>();
    for (const [key, counts] of this.now.buckets(name, where)) {
      const was = before.get(key);
      const isAnew = totalOf(counts) < totalOf(was);
      for (const [bound, count] of counts) {
        grown.set(bound, (grown.get(bound) ?? 0) + count - (isAnew ? 0 : (was?.get(bound) ?? 0)));
      }
    }
    const total = totalOf(grown);
    return total === 0 ? undefined : [...grown].find(([, count]) => count >= total * quantile)?.[0];
  }
}

function totalOf(counts: ReadonlyMap<number, number> | undefined): number {
  return counts?.get(Number.POSITIVE_INFINITY) ?? 0;
}

function since(before: number, now: number): number {
  return now >= before ? now - before : now;
}
