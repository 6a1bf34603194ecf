/** A strict reader of Prometheus' text format. Source: prometheus.io, "Exposition formats". */

export type Family = { readonly kind: string; readonly help: string; readonly samples: Sample[] };
export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

const sampleForm = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const labelForm = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;
const histogramSuffixes = ["_bucket", "_sum", "_count"];

/** Metrics by name. @throws Error on a line that a scraper would refuse */
export function readExposition(text: string): Map<string, Family> {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const families = new Map<string, Family>();
  let help = "";
  for (const line of text.split("\n").filter((each) => each !== "")) {
    const [, head, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (head === "HELP") help = rest;
    else if (head === "TYPE") {
      if (families.has(name)) throw new Error(`${name} comes twice`);
      families.set(name, { kind: rest, help, samples: [] });
    } else addSample(families, line);
  }
  return families;
}

function addSample(families: Map<string, Family>, line: string): void {
  const [, name, labelText = "", valueText] = sampleForm.exec(line) ?? [];
  if (name === undefined || valueText === undefined) throw new Error(`unreadable: ${line}`);
  const suffix = histogramSuffixes.find((each) => name.endsWith(each));
  const family = families.get(name) ?? families.get(name.slice(0, name.length - (suffix?.length ?? 0)));
  if (family === undefined) throw new Error(`no TYPE before ${line}`);
  const value = valueText === "+Inf" ? Number.POSITIVE_INFINITY : Number(valueText);
  if (Number.isNaN(value)) throw new Error(`no number: ${line}`);
  family.samples.push({ name, labels: labelsOf(labelText, line), value });
}

function labelsOf(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  labelForm.lastIndex = 0;
  while (labelForm.lastIndex < text.length) {
    const [, name, value] = labelForm.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new Error(`unreadable labels: ${line}`);
    labels[name] = value;
  }
  return labels;
}

/** The sum of a metric's samples that have these labels. */
export function sumOfSamples(
  families: ReadonlyMap<string, Family>,
  metric: string,
  labels: Readonly<Record<string, string>> = {},
  sampleName = metric,
): number {
  const family = families.get(metric);
  if (family === undefined) throw new Error(`there is no ${metric}`);
  const wanted = Object.entries(labels);
  return family.samples
    .filter((sample) => sample.name === sampleName && wanted.every(([name, value]) => sample.labels[name] === value))
    .reduce((sum, { value }) => sum + value, 0);
}
