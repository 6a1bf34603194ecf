/** Makes the servers of a cluster forget one of them, so that it counts for no majority any more. */
import { setTimeout as pause } from "node:timers/promises";
import type { NatsConnection } from "@nats-io/nats-core";
import { SaltworksError } from "../../errors.ts";
import { clusterLeaveMs, clusterRequestMs, clusterRetryMs } from "../../limits.ts";
import { type ClusterStatus, leaderlessWithout, readServers, statusOf } from "../status.ts";

/** Source: NATS documentation, "JetStream wire API", removal of a server from the meta group. */
const subject = "$JS.API.SERVER.REMOVE";

/** After this time the leading server counts each server that it has heard of. */
const countedMs = 2_000;
/** A server that does not answer for so long is away. */
const slowAnswerMs = 5_000;

/** `streams`: that would lack a leader without this server. */
type Seen = { readonly status: ClusterStatus; readonly streams: readonly string[] };
type Answer = { readonly success?: boolean; readonly error?: { readonly description?: string } };

/**
 * Waits until more than half of the servers answer and know this one, and until each stream can do without it. Then makes the servers forget it, and waits
 * until they have.
 *
 * @param nats a connection as the system's user
 * @param streamsMs how long streams may lack a leader, milliseconds. Tests use less.
 * @returns how many servers the cluster has without it
 * @throws SaltworksError CLUSTER_UNAVAILABLE if too few servers answer in time, would be left as a whole or for a stream, or if they do not forget it
 */
export async function leaveServers(nats: NatsConnection, name: string, streamsMs = clusterLeaveMs): Promise<number> {
  let seen = await untilRemovable(nats, name);
  if (!isKnown(seen.status, name)) {
    // A server that has just begun is counted a moment later.
    await pause(countedMs);
    seen = await untilRemovable(nats, name);
    if (!isKnown(seen.status, name)) return seen.status.serverCount - 1;
  }
  // This server has just begun, and its streams may be between two leaders.
  await until(
    nats,
    name,
    ({ streams }) => streams.length === 0,
    (last) => streamsFault(last, name),
    streamsMs,
    seen,
  );
  const { success, error } = await askToForget(nats, name);
  if (success !== true)
    throw new SaltworksError(
      "CLUSTER_UNAVAILABLE",
      `the cluster does not forget ${name}: ${error?.description ?? "no reason"}`,
    );
  const { status: after } = await until(
    nats,
    name,
    ({ status }) => status.servers.some(({ isLeader }) => isLeader) && !isKnown(status, name),
    () => `the cluster has not forgotten ${name}`,
  );
  return after.servers.filter((server) => server.name !== name).length;
}

/** @throws SaltworksError CLUSTER_UNAVAILABLE without an answer; by its `mayRepeat` a second try does no harm */
async function askToForget(nats: NatsConnection, name: string): Promise<Answer> {
  try {
    const reply = await nats.request(subject, JSON.stringify({ peer: name }), { timeout: clusterRequestMs });
    return reply.json<Answer>();
  } catch (cause) {
    const why = `the cluster has not said whether it has forgotten ${name}`;
    throw new SaltworksError("CLUSTER_UNAVAILABLE", why, { mayRepeat: true }, { cause });
  }
}

/** Waits for servers whose way here or answer is slow. @throws SaltworksError CLUSTER_UNAVAILABLE */
async function untilRemovable(nats: NatsConnection, name: string): Promise<Seen> {
  const few = "fewer than half of the cluster's servers answer";
  const first = await until(
    nats,
    name,
    ({ status }) => status.hasQuorum,
    () => few,
  );
  return await until(
    nats,
    name,
    ({ status }) => status.hasQuorum && (!isKnown(status, name) || awayFault(status, name) === undefined),
    ({ status }) => awayFault(status, name) ?? few,
    slowAnswerMs,
    first,
  );
}

/** The others must be a majority among themselves: otherwise they could not even take another server in. Undefined if they are. */
function awayFault(status: ClusterStatus, name: string): string | undefined {
  const { servers, serverCount } = status;
  const away = awayOf(status, name);
  const working = servers.filter((server) => server.name !== name).length - away.length;
  if (2 * working > serverCount - 1) return undefined;
  return `without ${name} fewer than half of the servers would work, and the cluster would take no changes: ${toStart(away)}`;
}

/** A stream with too few copies left takes no records until the servers that are down come back. */
function streamsFault({ status, streams }: Seen, name: string): string {
  const advice = toStart(awayOf(status, name));
  return `without ${name} too few of the servers with a copy would work for ${streams.join(", ")}, which would take no records: ${advice}`;
}

/** Other servers that do not work. */
function awayOf({ servers }: ClusterStatus, name: string): string[] {
  const away = servers.filter((one) => one.name !== name && !(one.isAnswering && one.isStoring));
  return away.map((one) => one.name);
}

function toStart(away: readonly string[]): string {
  return `start ${away.join(", ") || "the others"} first`;
}

/** Whether the leading server counts it. */
function isKnown({ servers }: ClusterStatus, name: string): boolean {
  return servers.some((server) => server.name === name && (server.isLeader || server.behind !== undefined));
}

/** `seen`: by a look just before, because a look takes seconds. */
async function until(
  nats: NatsConnection,
  name: string,
  isSo: (seen: Seen) => boolean,
  fault: (last: Seen) => string,
  waitMs: number = clusterLeaveMs,
  seen?: Seen,
): Promise<Seen> {
  const endMs = performance.now() + waitMs;
  for (let last = seen ?? (await look(nats, name)); ; last = await look(nats, name)) {
    if (isSo(last)) return last;
    if (performance.now() > endMs) throw new SaltworksError("CLUSTER_UNAVAILABLE", fault(last));
    await pause(clusterRetryMs);
  }
}

async function look(nats: NatsConnection, name: string): Promise<Seen> {
  const answers = await readServers(nats);
  return { status: statusOf(answers), streams: leaderlessWithout(name, answers) };
}
