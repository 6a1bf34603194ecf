/** Samples the connections of both ports, the memory that requests and replies hold, and the publications. */
import { closeReasons } from "../../transport/zmtp/peer.ts";
import { peerGroupNames } from "../../transport/zmtp/peer-group.ts";
import { subscriberCloseReasons } from "../../transport/zmtp/publish/subscriber.ts";
import type { RouterServer } from "../../transport/zmtp/router-server.ts";
import type { PublishFront } from "../ports/publish-front.ts";
import type { Samples } from "./samples.ts";

/** What a server of the request port counts. */
type Counting = Pick<
  RouterServer,
  | "closed"
  | "connectionCount"
  | "counters"
  | "groups"
  | "spareBytes"
  | "strangerCount"
  | "unansweredCount"
  | "unfinishedChargedBytes"
  | "unreadBytes"
>;

/** @param server undefined until the port is open: its metrics are then 0 */
export function sampleConnections(samples: Samples, server: Counting | undefined): void {
  for (const name of peerGroupNames) {
    samples.set("saltworks_reading_pauses_total", { connections: name }, server?.groups[name].pauses ?? 0);
    samples.set("saltworks_large_request_waits_total", { connections: name }, server?.groups[name].turns.waits ?? 0);
    samples.set("saltworks_unfinished_request_bytes", { connections: name }, server?.groups[name].heldBytes ?? 0);
  }
  samples.set("saltworks_spare_body_bytes", {}, server?.spareBytes ?? 0);
  samples.set("saltworks_unfinished_charged_bytes_total", {}, server?.unfinishedChargedBytes ?? 0);
  samples.set("saltworks_connections_total", {}, server?.counters.accepted ?? 0);
  samples.set("saltworks_connections", { state: "stranger" }, server?.strangerCount ?? 0);
  samples.set(
    "saltworks_connections",
    { state: "proven" },
    (server?.connectionCount ?? 0) - (server?.strangerCount ?? 0),
  );
  for (const reason of closeReasons) {
    samples.set("saltworks_connections_closed_total", { reason }, server?.closed[reason] ?? 0);
  }
  samples.set("saltworks_unread_reply_bytes", {}, server?.unreadBytes ?? 0);
  samples.set("saltworks_requests_unanswered", {}, server?.unansweredCount ?? 0);
}

export function samplePublishes(samples: Samples, { counters, stats }: PublishFront): void {
  samples.set("saltworks_publishes_total", { outcome: "sent" }, counters.publishes);
  samples.set("saltworks_publishes_total", { outcome: "dropped" }, counters.dropped);
  samples.set("saltworks_publish_copies_total", { outcome: "sent" }, stats.sent);
  samples.set("saltworks_publish_copies_total", { outcome: "dropped" }, stats.dropped);
  samples.set("saltworks_publish_threads_lost_total", {}, counters.threadsLost);
  samples.set("saltworks_publish_connections_total", {}, stats.accepted);
  samples.set("saltworks_publish_connections", { state: "subscribed" }, stats.subscribers);
  samples.set("saltworks_publish_connections", { state: "silent" }, stats.connections - stats.subscribers);
  samples.set("saltworks_subscribers_behind", {}, stats.behind);
  samples.set("saltworks_unread_publish_bytes", {}, stats.heldBytes);
  for (const reason of subscriberCloseReasons) {
    samples.set("saltworks_publish_connections_closed_total", { reason }, stats.closed[reason]);
  }
}
