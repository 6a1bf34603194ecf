/** Changed sessions of ZMTP for a given time (`npm run test:soak -- SECONDS session-fuzz`): ends with 1 if an honest answer is missing. */
import { randomFrom, seedFromClock } from "../wire/random.ts";
import { fuzzSessions } from "./session-fuzz.ts";

const seconds = Number(process.env.SALTWORKS_SOAK_SECONDS ?? 600);
const seed = seedFromClock();
process.stdout.write(`seed ${seed}\n`);
const endMs = performance.now() + seconds * 1_000;
const { sessions, answers, closed } = await fuzzSessions(randomFrom(seed), () => performance.now() < endMs);
process.stdout.write(`held   ${sessions} sessions, ${answers} honest answers, closed: ${JSON.stringify(closed)}\n`);
