/** What the programs of this folder begin and end with: counts as options, the usage, and a line with the result. */
import { parseArgs } from "node:util";
import { openResult } from "../databases/result.ts";
import { countOf, runProgram } from "../peers/program.ts";

type CountOption = { readonly text: string; readonly usual: number };
type Figures = { readonly natsServer: string; readonly [figure: string]: unknown };

/** Of the benches, which all start three members. */
export const membersCount = 3;

const workersOption = { text: "worker_threads of each master", usual: 1 };

/**
 * Measures with the counts of the command line, and prints what `measure` finds.
 *
 * @param name of the program, without its folder
 * @param own its options besides `--workers`
 */
export async function runClusterBench<Name extends string>(
  name: string,
  own: Readonly<Record<Name, CountOption>>,
  measure: (counts: Readonly<Record<Name | "workers", number>>) => Promise<Figures>,
): Promise<void> {
  const options = Object.entries<CountOption>({ ...own, workers: workersOption });
  await runProgram(async () => {
    const given = parseArgs({
      options: {
        ...Object.fromEntries(options.map(([option]) => [option, { type: "string" } as const])),
        help: { type: "boolean", default: false },
      },
    }).values as Readonly<Record<string, string | boolean | undefined>>;
    if (given.help === true) {
      process.stdout.write(usageOf(name, options));
      return;
    }
    const result = openResult(`cluster/${name}`);
    const counts = options.map(([option, { usual }]) => [
      option,
      countOf(`--${option}`, String(given[option] ?? usual)),
    ]);
    const parameters = Object.fromEntries(counts) as Record<Name | "workers", number>;
    const figures = await measure(parameters);
    result.print({ parameters: { ...parameters, members: membersCount }, ...figures });
  });
}

function usageOf(name: string, options: readonly (readonly [string, CountOption])[]): string {
  const words = options.map(([option]) => `--${option} COUNT`);
  const width = Math.max(...words.map(({ length }) => length));
  const lines = options.map(([, { text, usual }], at) => `  ${words[at]?.padEnd(width)}   ${text}, default ${usual}\n`);
  return `usage: node dist/bench/cluster/${name}.js [options]\n${lines.join("")}`;
}
