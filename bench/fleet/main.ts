/** Question: does this master serve a fleet of this size, and what does each of its minions see? Prints one JSON line. */
import { parseArgs } from "node:util";
import { describeLimits, descriptorLimits } from "./descriptors.ts";
import { openFleet } from "./fleet.ts";
import { establishedConnections } from "./kernel-connections.ts";
import { idPrefixDefault } from "./members.ts";
import type { Range, RequestVersion } from "./minion-options.ts";

const usage = `usage: node dist/bench/fleet/main.js --minions COUNT [options]
  --master HOST          default 127.0.0.1
  --ret-port PORT        default 4506
  --publish-port PORT    default: the port that the master's auth reply names
  --minions COUNT        simulated minions; each has two TCP connections
  --processes COUNT      default: one for every 500 minions
  --version 0|2|3        request version, default 3
  --prefix TEXT          ids are TEXT0, TEXT1, ..; default sim-
  --first INDEX          first number of the ids, default 0
  --keys DIR             where the fleet's primes are kept
  --return-bytes A[:B]   size of what functions return, default 64
  --return-delay A[:B]   milliseconds that a function takes, default 0
  --seconds SECONDS      how long to stay up; default: until a signal
  --up-timeout SECONDS   for the whole fleet to come up, default 300
`;

const { values } = parseArgs({
  options: {
    master: { type: "string", default: "127.0.0.1" },
    "ret-port": { type: "string", default: "4506" },
    "publish-port": { type: "string" },
    minions: { type: "string" },
    processes: { type: "string" },
    version: { type: "string", default: "3" },
    prefix: { type: "string", default: idPrefixDefault },
    first: { type: "string", default: "0" },
    keys: { type: "string" },
    "return-bytes": { type: "string", default: "64" },
    "return-delay": { type: "string", default: "0" },
    seconds: { type: "string" },
    "up-timeout": { type: "string", default: "300" },
    help: { type: "boolean", default: false },
  },
});

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) fail(`--${name} takes a whole number, not ${text}`);
  return value;
}

function range(name: string, text: string): Range {
  const [from = "", to = from] = text.split(":");
  return [wholeNumber(name, from), wholeNumber(name, to)];
}

function fail(message: string): never {
  process.stderr.write(`${message}\n${usage}`);
  process.exit(64);
}

function versionOf(text: string): RequestVersion {
  const value = Number(text);
  return value === 0 || value === 2 || value === 3 ? value : fail("--version takes 0, 2 or 3");
}

/** On a terminal: one progress line that is overwritten. Otherwise nothing. */
function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`);
}

function untilSignal(seconds: string | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = seconds === undefined ? undefined : setTimeout(resolve, wholeNumber("seconds", seconds) * 1_000);
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.once(signal, () => {
        clearTimeout(timer);
        resolve();
      });
    }
  });
}

if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}
const minionCount = wholeNumber("minions", values.minions ?? fail("--minions is missing"));
const requestPort = wholeNumber("ret-port", values["ret-port"]);
const publishPort = values["publish-port"];
process.stderr.write(`${describeLimits(descriptorLimits())}\n`);
const startedMs = performance.now();
const fleet = await openFleet({
  masterHost: values.master,
  requestPort,
  minionCount,
  version: versionOf(values.version),
  idPrefix: values.prefix,
  firstIndex: wholeNumber("first", values.first),
  returnBytes: range("return-bytes", values["return-bytes"]),
  returnDelayMs: range("return-delay", values["return-delay"]),
  ...(publishPort === undefined ? {} : { publishPort: wholeNumber("publish-port", publishPort) }),
  ...(values.processes === undefined ? {} : { processCount: wholeNumber("processes", values.processes) }),
  ...(values.keys === undefined ? {} : { keyDirectory: values.keys }),
  onKeyProgress: (done, total) => showProgress(`primes ${done}/${total}`),
  onCounters: ({ up, returnsAcknowledged }) => showProgress(`up ${up}/${minionCount}, returns ${returnsAcknowledged}`),
});
try {
  await fleet.untilUp(wholeNumber("up-timeout", values["up-timeout"]) * 1_000);
  const upMs = Math.round(performance.now() - startedMs);
  showProgress("");
  process.stderr.write(`${minionCount} minions up after ${upMs} ms\n`);
  const connections = establishedConnections(requestPort);
  await untilSignal(values.seconds);
  const line = {
    bench: "fleet",
    minions: minionCount,
    version: Number(values.version),
    upMs,
    connections,
    ...fleet.counters,
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
} finally {
  await fleet.close();
}
