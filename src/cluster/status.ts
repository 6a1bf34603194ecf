/** The state of a cluster's servers, as they tell it: which of them answer, which leads, and how far the others are behind. */
import type { NatsConnection } from "@nats-io/nats-core";
import { clusterStatusWaitMs } from "../limits.ts";
import { retried, unavailable } from "./connection.ts";

/** Each server answers; the one that leads knows the silent ones, too. Source: NATS documentation, "System Events". */
const question = "$SYS.REQ.SERVER.PING.JSZ";
/** With the streams that each server keeps: with five servers a stream has copies on three of them, and may lack its majority alone. */
const asked = JSON.stringify({ accounts: true, streams: true });

export type ClusterServer = {
  readonly name: string;
  /** Undefined for a server that did not answer, and for one of an operator's that this member is not connected to. */
  readonly version: string | undefined;
  readonly isLeader: boolean;
  readonly isAnswering: boolean;
  /** False for a server that answers, and keeps no records: it turns its store off when its disk is full. */
  readonly isStoring: boolean;
  /** Records that it has not taken over from the leader. Undefined if the leader is not known. */
  readonly behind: number | undefined;
};

export type ClusterStatus = {
  /** `servers`: all of them told their state. `streams`: an operator's own, of which only those are known that keep the cluster's streams. */
  readonly sees: "servers" | "streams";
  /** Whether more than half of the servers work together, so that the cluster takes changes. */
  readonly hasQuorum: boolean;
  /** Streams whose leader does not answer, so that they take no changes. Always empty with `streams`, where `hasQuorum` counts them. */
  readonly leaderless: readonly string[];
  readonly serverCount: number;
  readonly servers: readonly ClusterServer[];
};

type Replica = { readonly name: string; readonly offline?: boolean; readonly lag?: number };
type Stream = {
  readonly name: string;
  readonly cluster?: { readonly leader?: string; readonly replicas?: readonly Replica[] };
};
/** What one server tells of itself, of its streams, and of the others if it leads. */
export type ServerAnswer = {
  readonly server: { readonly name: string; readonly ver: string };
  readonly data?: {
    readonly disabled?: boolean;
    readonly account_details?: readonly { readonly stream_detail?: readonly Stream[] }[];
    readonly meta_cluster?: {
      readonly leader?: string;
      readonly cluster_size?: number;
      readonly replicas?: readonly Replica[];
    };
  };
};

/**
 * @param nats a connection as the system's user
 * @throws SaltworksError CLUSTER_UNAVAILABLE if not even this member's own server answers
 */
export async function readClusterStatus(nats: NatsConnection): Promise<ClusterStatus> {
  return statusOf(await readServers(nats));
}

/** As `readClusterStatus`, and not put together. @throws SaltworksError CLUSTER_UNAVAILABLE if not even this member's own server answers */
export async function readServers(nats: NatsConnection): Promise<ServerAnswer[]> {
  const answers = await retried("this member's own NATS server", clusterStatusWaitMs, () => ask(nats));
  if (answers.length === 0) throw unavailable("this member's own NATS server", "no answer");
  return answers;
}

async function ask(nats: NatsConnection): Promise<ServerAnswer[]> {
  const replies = await nats.requestMany(question, asked, { strategy: "timer", maxWait: clusterStatusWaitMs });
  const answers: ServerAnswer[] = [];
  for await (const reply of replies) answers.push(reply.json<ServerAnswer>());
  return answers;
}

/** Pure. */
export function statusOf(answers: readonly ServerAnswer[]): ClusterStatus {
  const metas = answers.map(({ data }) => data?.meta_cluster ?? {});
  const leading = answers.find(({ server, data }) => data?.meta_cluster?.leader === server.name);
  const leader = leading?.server.name;
  const replicas = leading?.data?.meta_cluster?.replicas ?? [];
  const versions = new Map(answers.map(({ server }) => [server.name, server.ver]));
  const storeless = new Set(answers.filter(({ data }) => data?.disabled === true).map(({ server }) => server.name));
  const names = new Set([...versions.keys(), ...replicas.map(({ name }) => name)]);
  const serverCount = Math.max(names.size, ...metas.map(({ cluster_size: size = 0 }) => size));
  const servers = [...names].sort().map((name): ClusterServer => {
    const replica = replicas.find((one) => one.name === name);
    const behind = name === leader ? 0 : (replica?.lag ?? (replica === undefined ? undefined : 0));
    const version = versions.get(name);
    const isStoring = !storeless.has(name);
    return { name, version, isLeader: name === leader, isAnswering: version !== undefined, isStoring, behind };
  });
  const working = servers.filter(({ isAnswering, isStoring }) => isAnswering && isStoring).length;
  const hasQuorum = leader !== undefined && 2 * working > serverCount;
  return { sees: "servers", hasQuorum, leaderless: leaderlessIn(answers), serverCount, servers };
}

/** Streams that would lack a leader if this server left: ones that lack it now, and ones of whose other copies too few answer. Pure. */
export function leaderlessWithout(name: string, answers: readonly ServerAnswer[]): string[] {
  const working = new Set(answers.filter(({ data }) => data?.disabled !== true).map(({ server }) => server.name));
  const lost = answers.flatMap(({ server, data }) =>
    streamsIn(data)
      .filter(({ cluster }) => cluster?.leader === server.name)
      .filter(({ cluster }) => {
        const copies = [server.name, ...(cluster?.replicas ?? []).map((replica) => replica.name)];
        const others = copies.filter((one) => one !== name);
        return others.length < copies.length && 2 * others.filter((one) => working.has(one)).length <= others.length;
      })
      .map((stream) => stream.name),
  );
  return [...new Set([...leaderlessIn(answers), ...lost])].sort();
}

/** Streams of which some server has a copy, and none says that it leads. */
function leaderlessIn(answers: readonly ServerAnswer[]): string[] {
  const led = new Set<string>();
  const known = new Set<string>();
  for (const { server, data } of answers)
    for (const { name, cluster } of streamsIn(data)) {
      known.add(name);
      if (cluster?.leader === server.name) led.add(name);
    }
  return [...known].filter((name) => !led.has(name)).sort();
}

function streamsIn(data: ServerAnswer["data"]): Stream[] {
  return (data?.account_details ?? []).flatMap(({ stream_detail: all = [] }) => all);
}
