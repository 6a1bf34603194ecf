/** The result line of a bench of this folder: its figures, the machine, and how busy the machine was before and after. */
import { loadavg } from "node:os";
import { thisMachine } from "../machine.ts";

export type ResultLine = {
  /** Prints the line. `figures`: parameters and results of the bench. */
  print(figures: Readonly<Record<string, unknown>>): void;
};

/** Call it when the run begins. The load average of one minute is that of all programs; after the run it has the bench's own. */
export function openResult(bench: string): ResultLine {
  const load = () => Math.round((loadavg()[0] ?? 0) * 100) / 100;
  const before = load();
  const beganAt = new Date().toISOString();
  return {
    print(figures) {
      const line = { bench, beganAt, ...figures, loadAverage: { before, after: load() }, ...thisMachine() };
      process.stdout.write(`${JSON.stringify(line)}\n`);
    },
  };
}
