// Fails if a `growth` result shows growing memory or lost returns. Argument: the folder of the result.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The allowed difference between the lowest readings of two parts of a run, because V8 collects garbage at any time. */
const noiseBytes = 64 * 1024 * 1024;

const [folder] = process.argv.slice(2);
const name = folder && readdirSync(folder).find((file) => file.endsWith(".json"));
if (!name) {
  process.stderr.write(`no result in ${folder}\n`);
  process.exit(1);
}
const [point] = JSON.parse(readFileSync(join(folder, name), "utf8")).points;
const { anonymousFirstBytes, anonymousLastBytes, jobs } = point.figures;
const { expected, accounted, duplicates } = point.correctness;
const grownBytes = anonymousLastBytes - anonymousFirstBytes;
process.stdout.write(
  `${jobs} jobs, ${accounted} of ${expected} returns accounted for; memory beside mapped files changed by ${(grownBytes / 1024 / 1024).toFixed(1)} MiB after it had settled\n`,
);
const faults = [
  ...(accounted === expected && duplicates === 0
    ? []
    : [`returns lost or stored twice: ${JSON.stringify(point.correctness)}`]),
  ...(grownBytes <= noiseBytes ? [] : ["memory grows"]),
];
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.exit(faults.length === 0 ? 0 : 1);
