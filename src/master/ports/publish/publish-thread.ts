/**
 * The thread of the publish port. It alone reads from subscribers and writes to them, so that neither strangers nor a publish to ten
 * thousand minions hold up requests. docs/decisions/0022-request-front.md.
 */
import { createHash } from "node:crypto";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { networkMatcher } from "../../../config/options/networks.ts";
import { SaltworksError } from "../../../errors.ts";
import { PubServer } from "../../../transport/zmtp/publish/pub-server.ts";
import { collectWhenIdle } from "../../../workers/measures/idle-collection.ts";
import { answerForMeasures } from "../../../workers/measures/lane-measures.ts";
import { nameThread } from "../../../workers/threads/name.ts";
import type { PublishReport, PublishStart, PublishStats, PublishTask } from "./messages.ts";

if (isMainThread || parentPort === null)
  throw new SaltworksError("WORKER_LOST", "master/ports/publish/publish-thread.ts runs in a worker thread only");

const threadName = "sw-publish";
const port = parentPort;
const start = workerData as PublishStart;
nameThread(threadName);
answerForMeasures(threadName);
collectWhenIdle();

function report(message: PublishReport): void {
  port.postMessage(message);
}

function reportFailure({ code, message }: NodeJS.ErrnoException): void {
  report({ kind: "failed", errno: code, text: message });
}

/** The topic of a minion that filters: docs/protocol.md section 1.2. */
const topicOf = (id: string): string => createHash("sha1").update(id).digest("hex");

function statsOf(server: PubServer): PublishStats {
  const { counters, closed, connectionCount, subscriberCount, behindCount, heldBytes } = server;
  return {
    ...counters,
    closed,
    connections: connectionCount,
    subscribers: subscriberCount,
    behind: behindCount,
    heldBytes,
  };
}

function take(server: PubServer, task: PublishTask): void {
  switch (task.kind) {
    case "publish": {
      const { payload, topic, ids } = task;
      if (ids !== undefined) server.publishTo([...ids.map(topicOf), ...(topic === undefined ? [] : [topic])], payload);
      else if (topic !== undefined) server.publishTo([topic], payload);
      else server.publish(payload);
      report({ kind: "taken" });
      return;
    }
    case "look":
      report({ kind: "stats", stats: statsOf(server) });
      return;
    case "close":
      void server.close(task.lingerMs).then(() => {
        report({ kind: "stats", stats: statsOf(server) });
        port.close();
      });
      return;
    default: {
      const never: never = task;
      throw new SaltworksError("WIRE_MALFORMED", `unknown publish task ${String(never)}`);
    }
  }
}

try {
  const server = await PubServer.listen({
    ...start,
    isProxy: networkMatcher(start.proxies),
    onFault: reportFailure,
  });
  port.on("message", (task: PublishTask) => take(server, task));
  report({ kind: "listening", port: server.port });
} catch (error) {
  reportFailure(error as NodeJS.ErrnoException);
}
