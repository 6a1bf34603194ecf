/** A master's lane for commands of external pillar sources, in a process that a test kills: `lane-holder.js DIRECTORY COMMAND..`. */
import { pino } from "pino";
import { loadMasterConfig } from "../../../src/config/load.ts";
import { openExternalLane } from "../../../src/master/threads.ts";

const [directory = "", ...commands] = process.argv.slice(2);
const config = loadMasterConfig(directory, {
  pki_dir: directory,
  cachedir: directory,
  ext_pillar: commands.map((command) => ({ cmd_yaml: command })),
});
await openExternalLane(config, { PATH: process.env.PATH }, pino({ level: "silent" })).run({ id: "web1" });
