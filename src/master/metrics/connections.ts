/** Samples the connections of the request port, and the memory that their requests and replies hold. */
import { closeReasons } from "../../transport/zmtp/peer.ts";
import { peerGroupNames } from "../../transport/zmtp/peer-group.ts";
import type { RouterServer } from "../../transport/zmtp/router-server.ts";
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
