/** A cluster under faults for any length (`npm run test:soak -- SECONDS faults`); SALTWORKS_FAULTS_NATS=operator gives it three servers of an operator. */
import { randomInt } from "node:crypto";
import { runFaults } from "./faults/program.ts";

const seconds = Number(process.env.SALTWORKS_SOAK_SECONDS ?? 600);
const seed = Number(process.env.SALTWORKS_CHAOS_SEED ?? randomInt(2 ** 31));
const isOperatorNats = process.env.SALTWORKS_FAULTS_NATS === "operator";
const hasHeld = await runFaults(
  { seconds, seed, minions: 60, isOperatorNats },
  (line) => void process.stdout.write(`${line}\n`),
);
process.exitCode = hasHeld ? 0 : 1;
