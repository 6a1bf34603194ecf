/** How programs that run chaos tell what happens. */

export const tellOnStdout = (line: string): void => void process.stdout.write(`${new Date().toISOString()} ${line}\n`);

/** The names and their numbers, as `kill 2, flood 1`. */
export function pairs(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${count}`).join(", ") || "none";
}
