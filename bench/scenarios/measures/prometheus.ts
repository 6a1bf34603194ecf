/** Reads Prometheus' text format as far as a bench needs it: sums over a metric's samples, by some labels. */

export type Samples = readonly { readonly name: string; readonly labels: string; readonly value: number }[];

export function parseMetrics(text: string): Samples {
  return text.split("\n").flatMap((line) => {
    const found = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    return found === null ? [] : [{ name: found[1] ?? "", labels: found[2] ?? "", value: Number(found[3]) }];
  });
}

/** `label`: text that the labels must contain, such as `queue="requests"`. */
export function sumOf(samples: Samples, name: string, label = ""): number {
  return samples.reduce(
    (sum, sample) => (sample.name === name && sample.labels.includes(label) ? sum + sample.value : sum),
    0,
  );
}
