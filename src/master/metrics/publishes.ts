/** Metrics of the publish port. */
import { subscriberCloseReasons } from "../../transport/zmtp/publish/subscriber.ts";
import type { PublishFront } from "../ports/publish-front.ts";
import type { Samples } from "./samples.ts";

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
