/** Figures of a cluster beside those of a scenario: whose CPU time a return takes, and what of it goes to the other members. */
import type { Point } from "../../results/schema.ts";
import type { MasterUnderTest } from "../setup/master-contract.ts";
import { parseMetrics, sumOf } from "./prometheus.ts";

type Sent = { readonly returns: number; readonly messages: number; readonly bytes: number };

/** The warm-up's returns count in the figures of messages, because the first member's metrics count them. */
export async function withClusterFigures(master: MasterUnderTest, run: () => Promise<Point[]>): Promise<Point[]> {
  const before = await sentBy(master);
  const points = await run();
  const after = await sentBy(master);
  const [returns, messages, bytes] = (["returns", "messages", "bytes"] as const).map(
    (name) => after[name] - before[name],
  );
  const sent = { returnsPerClusterMessage: ratio(returns, messages), clusterBytesPerReturn: ratio(bytes, returns) };
  return points.map((point) => ({ ...point, figures: { ...point.figures, ...cpuFigures(point), ...sent } }));
}

function cpuFigures({ cpu: { cluster, totalMs, usPerOperation } }: Point): Record<string, number> {
  if (cluster === undefined || usPerOperation === 0) return {};
  const operations = (totalMs * 1_000) / usPerOperation;
  const each = (ms: number) => (ms * 1_000) / operations;
  return {
    takerCpuUsPerOperation: each(cluster.takersMs),
    othersCpuUsPerOperation: each(cluster.othersMs),
    natsServersCpuUsPerOperation: each(cluster.serversMs),
  };
}

/** What the first member has sent to the others. */
async function sentBy(master: MasterUnderTest): Promise<Sent> {
  const samples = parseMetrics((await master.metrics?.()) ?? "");
  const total = (outcome: string) => sumOf(samples, sentTotal, `outcome="${outcome}"`);
  return { returns: total("sent"), messages: total("messages"), bytes: sumOf(samples, sentBytes) };
}

const sentTotal = "saltworks_cluster_returns_sent_total";
const sentBytes = "saltworks_cluster_returns_sent_bytes_total";

function ratio(whole = 0, parts = 0): number {
  return parts === 0 ? 0 : whole / parts;
}
