/** Ends a reading of a stream when its server gives no sign of life any more. */
import type { ConsumerMessages } from "@nats-io/jetstream";

/** A server that ended takes its consumers along. The client's own remedy takes longer than the election of a leader. */
export async function stopWhenSilent(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) if (type === "heartbeats_missed") messages.stop();
}
