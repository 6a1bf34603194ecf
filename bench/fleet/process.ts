/** One process of a simulated fleet: some hundred minions on one ZeroMQ context, driven by `fleet.ts`. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Context } from "zeromq";
import { newCounters } from "./counters.ts";
import { Gate } from "./gate.ts";
import { minionKey } from "./keys.ts";
import type { FromProcess, StartFleet, ToProcess } from "./messages.ts";
import { SimulatedMinion } from "./minion.ts";
import { PublishReader } from "./publish-reader.ts";

/** Milliseconds between reports of changed counters, and so the longest delay of a wait for a counter. */
const tellEveryMs = 50;
/** Jobs whose acknowledgements are kept; the oldest is removed first. */
const recordedJobsMax = 256;
/** Sockets of a minion: the subscription, the request socket, and the former request socket while ZeroMQ closes it. */
const socketsPerMinion = 3;
/** Further sockets of a context. */
const spareSockets = 16;

const counters = newCounters();
const acknowledged = new Map<string, string[]>();
const minions: SimulatedMinion[] = [];
let told = "";
let isRecordingAcks = false;

function tell(message: FromProcess): void {
  process.send?.(message);
}

function tellCounters(): void {
  const now = JSON.stringify(counters);
  if (now === told) return;
  told = now;
  tell({ kind: "counters", counters });
}

function onFault(error: unknown): void {
  tell({ kind: "fault", message: error instanceof Error ? (error.stack ?? error.message) : String(error) });
}

function onAcknowledged(jid: string, id: string): void {
  if (!isRecordingAcks) return;
  const ids = acknowledged.get(jid);
  if (ids !== undefined) {
    ids.push(id);
    return;
  }
  acknowledged.set(jid, [id]);
  const [oldest] = acknowledged.keys();
  if (acknowledged.size > recordedJobsMax && oldest !== undefined) acknowledged.delete(oldest);
}

/** Makes one minion per turn of the event loop, so that the first ones are served while others' keys are made. */
async function start(order: StartFleet): Promise<void> {
  isRecordingAcks = order.options.isRecordingAcks;
  const around = {
    options: order.options,
    context: new Context({ maxSockets: order.count * socketsPerMinion + spareSockets }),
    gate: new Gate(order.bringUpsAtOnce),
    counters,
    publishes: new PublishReader(() => {
      counters.publishesUnsigned += 1;
    }),
    onAcknowledged,
    onFault,
  };
  setInterval(tellCounters, tellEveryMs);
  for (let index = order.first; index < order.first + order.count; index += 1) {
    const minion = new SimulatedMinion(`${order.idPrefix}${index}`, index, minionKey(order.primes, index), around);
    minions.push(minion);
    minion.bringUp().catch(onFault);
    await nextTurn();
  }
}

function stop(): void {
  for (const minion of minions) minion.close();
  tellCounters();
  // Not in the same turn: Node fails if the process ends while messages that came with the stop message are delivered.
  setImmediate(() => process.disconnect());
}

process.on("message", (message: ToProcess) => {
  switch (message.kind) {
    case "start":
      start(message).catch(onFault);
      return;
    case "acknowledged":
      return tell({ kind: "acknowledged", call: message.call, ids: acknowledged.get(message.jid) ?? [] });
    case "stop":
      return stop();
    default: {
      const never: never = message;
      throw new TypeError(`unknown message ${String(never)}`);
    }
  }
});
// Ends with its owner, so that no fleet loads a master unattended.
process.on("disconnect", () => process.exit(0));
