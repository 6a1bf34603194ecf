// Prints the slowest test files and the names of their suites, which say what they prove, and then each failure once more. Argument: a folder in
// which scripts/test.mjs left times (`--times`), of one group or of several.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const slowestShown = 20;

/** What a runner wrote about its files; none if it was ended while it wrote. */
export function readTimes(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (error instanceof SyntaxError || error.code === "ENOENT") return [];
    throw error;
  }
}

export function showSlowest(folder) {
  const times = readdirSync(folder).flatMap((name) =>
    readTimes(join(folder, name)).map((entry) => ({ ...entry, group: name.split("-")[0] })),
  );
  times.sort((one, other) => other.ms - one.ms);
  const total = times.reduce((sum, { ms }) => sum + ms, 0);
  process.stdout.write(
    `\nThe slowest of ${times.length} files, which took ${(total / 1_000).toFixed(0)} s together:\n`,
  );
  for (const { file, ms, names, group } of times.slice(0, slowestShown)) {
    const seconds = (ms / 1_000).toFixed(1).padStart(6);
    process.stdout.write(`${seconds} s  ${group}  ${relative(root, file)}: ${names.join("; ")}\n`);
  }
  showFailures(times);
}

/** A failure stands far above in the output of a long run, of which some places keep only the end. */
function showFailures(times) {
  for (const { file, group, failures } of times) {
    for (const { name, text } of failures)
      process.stdout.write(`\nFailed (${group}): ${relative(root, file)}: ${name}\n${text}\n`);
  }
}

const [program, folder] = process.argv.slice(1);
if (resolve(program) === fileURLToPath(import.meta.url)) showSlowest(folder);
