/**
 * A small process that starts the commands of external sources for a thread of the master. To start a program the system copies the page tables of
 * the process that asks, and all its threads wait meanwhile: for a master with 400 MB this takes ten times longer than for this one.
 */
import { CommandGuard } from "./guard.ts";
import type { Launch, Launched } from "./launcher.ts";
import { programsOf } from "./run-program.ts";

process.title = "saltworks commands";
// Like the guard it outlives the signals of a stop, which go to the whole group, and ends with the master.
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) process.on(signal, () => undefined);
process.once("disconnect", () => process.exit());

const programs = programsOf(new CommandGuard());
process.on("message", ({ number, command, place, limits }: Launch) => {
  void programs(command, place, limits).then((ended) => {
    if (process.connected) process.send?.({ number, ended } satisfies Launched);
  });
});
