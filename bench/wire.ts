/** Question: how much CPU time does each step take that the bytes of one version 3 return pass through? Closed loop, no sockets. */
import { createHistogram } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { Crypticle, generateKeyString } from "../src/crypto/crypticle.ts";
import { encodeEventBytes, frameEvent } from "../src/wire/event.ts";
import { decode, encode } from "../src/wire/msgpack.ts";
import { encodeRawReply } from "../src/wire/reply.ts";
import { encodeSealedRequest, readEnvelope } from "../src/wire/request.ts";
import { loadAsEventData } from "../src/wire/return.ts";
import { mapEntries, skipValue } from "../src/wire/walk.ts";
import { thisMachine } from "./machine.ts";

const usage = `usage: node dist/bench/wire.js [options]
  --rounds COUNT      timed rounds of each step, default 30
  --operations COUNT  operations in a round, default 2000
  --return BYTES      size of the returned text, default 100 (a request of some 700 bytes)
`;

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "30" },
    operations: { type: "string", default: "2000" },
    return: { type: "string", default: "100" },
    help: { type: "boolean", default: false },
  },
});

const stamp = "2026-11-20T15:55:53.970643";
const nonce = "adabedfe880e47ceaafe9fe15f513d09";
const nil = Buffer.of(0xc0);
const tokenBytes = 256;

/** The steps in the order of a return's way; each is one call. */
function makeSteps(returnBytes: number): Readonly<Record<string, () => unknown>> {
  const crypticle = new Crypticle(generateKeyString());
  const load = encode(
    {
      cmd: "_return",
      id: "minion1",
      success: true,
      return: "x".repeat(returnBytes),
      retcode: 0,
      jid: "20261120155553885300",
      fun: "test.ping",
      fun_args: [],
      user: "root",
      _stamp: stamp,
      nonce,
      ts: 1_795_190_153,
      tok: Buffer.alloc(tokenBytes, 0xfe),
    },
    "raw",
  );
  const sealed = crypticle.seal(load);
  const names = { version: 3, id: "minion1", encAlgorithm: "OAEP-SHA1", sigAlgorithm: "PKCS1v15-SHA1" };
  const frame = encodeSealedRequest(sealed, names);
  const entries = mapEntries(load);
  const data = loadAsEventData(load, entries, stamp);
  const tag = "salt/job/20261120155553885300/ret/minion1";
  return {
    readEnvelope: () => readEnvelope(frame),
    open: () => crypticle.open(sealed),
    skipValue: () => skipValue(load, 0),
    mapEntries: () => mapEntries(load),
    readReturn: () => loadAsEventData(load, entries, stamp),
    frameEvent: () => frameEvent(encodeEventBytes(tag, data)),
    sealReply: () => encodeRawReply(crypticle.seal(nil, nonce)),
    decode: () => decode(load),
  };
}

/** Nanoseconds of CPU of one operation, garbage collection included, over rounds. A busy machine affects them little. */
function measure(
  step: () => unknown,
  rounds: number,
  operations: number,
): { nsP50: number; nsP99: number; nsMax: number } {
  const histogram = createHistogram();
  for (let count = operations * 2; count > 0; count -= 1) step();
  for (let round = 0; round < rounds; round += 1) {
    const before = process.cpuUsage();
    for (let count = operations; count > 0; count -= 1) step();
    const { user, system } = process.cpuUsage(before);
    histogram.record(Math.max(1, Math.round(((user + system) * 1_000) / operations)));
  }
  return { nsP50: histogram.percentile(50), nsP99: histogram.percentile(99), nsMax: histogram.max };
}

function main(): void {
  const rounds = Number(values.rounds);
  const operations = Number(values.operations);
  const steps = Object.entries(makeSteps(Number(values.return))).map(([name, step]) => [
    name,
    measure(step, rounds, operations),
  ]);
  const parameters = { rounds, operations, returnBytes: Number(values.return) };
  console.log(
    JSON.stringify({
      bench: "wire",
      ...parameters,
      count: rounds * operations,
      errors: 0,
      steps: Object.fromEntries(steps),
      ...thisMachine(),
    }),
  );
}

if (values.help) process.stdout.write(usage);
else main();
