/** The programs of a recorded fleet: ours, Salt's, or our master with Salt's minions. */
import { daemonWords } from "../../interop/salt-releases.ts";
import type { Maker } from "../../interop/test-bed.ts";
import { cliFile } from "../our-master.ts";

/** `master`: also for the commands that are typed beside it. `minion`: also for salt-call. */
export type Makers = { readonly master: Maker; readonly minion: Maker };

export const allOurs: Makers = { master: "ours", minion: "ours" };

/** Salt's programs by the names of our subcommands. */
const subcommands: { readonly [program: string]: string } = {
  salt: "salt",
  "salt-run": "run",
  "salt-key": "key",
  "salt-call": "call",
  "salt-cp": "cp",
  "salt-master": "master",
  "salt-minion": "minion",
};

const ofMinions: ReadonlySet<string> = new Set(["salt-call", "salt-minion"]);

export function makerOf(program: string, makers: Makers): Maker {
  return ofMinions.has(program) ? makers.minion : makers.master;
}

export function subcommandOf(program: string): string {
  const subcommand = subcommands[program];
  if (subcommand === undefined) throw new Error(`no program ${program}`);
  return subcommand;
}

/** The program and first words in place of Salt's program name. */
export function startingWords(program: string, makers: Makers): readonly [command: string, ...words: string[]] {
  const subcommand = subcommandOf(program);
  const maker = makerOf(program, makers);
  if (maker === "ours") return [process.execPath, cliFile, subcommand];
  // Without Salt's second process, which only supervises the first, and would not be stopped with it.
  if (program === "salt-minion") return [...daemonWords(maker, program), "--disable-keepalive"];
  return program === "salt-master" ? daemonWords(maker, program) : [maker.program(program)];
}

/** Options with which a minion reconnects soon after a restart of the master. */
export function soonBack(maker: Maker): Readonly<Record<string, unknown>> {
  const ours = { acceptance_wait_time: 1, recon_max: 1_000, random_reauth_delay: 1 };
  return maker === "ours" ? ours : { ...ours, recon_default: 100, recon_randomize: false };
}
