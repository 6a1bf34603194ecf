/**
 * Which master gives a new cluster its key pair: one whose minions trust its key, if there is one. It says so while it waits for the cluster, and masters
 * without minions ask before they give theirs.
 */
import { type NatsConnection, NoRespondersError, RequestError } from "@nats-io/nats-core";
import { clusterRequestMs } from "../../limits.ts";

function subjectOf(clusterId: string): string {
  return `sw.${clusterId}.trusted`;
}

/** @returns a function that ends it */
export function tellTrusted(nats: NatsConnection, clusterId: string, member: string): () => void {
  const subscription = nats.subscribe(subjectOf(clusterId), {
    callback: (error, message) => {
      if (error === null) message.respond(member);
    },
  });
  return () => subscription.unsubscribe();
}

/** @throws Error if such a master is there, or does not answer: it is asked again then */
export async function demandNoneTrusted(nats: NatsConnection, clusterId: string): Promise<void> {
  let member: string;
  try {
    member = (await nats.request(subjectOf(clusterId), "", { timeout: clusterRequestMs })).string();
  } catch (error) {
    if (error instanceof NoRespondersError || (error instanceof RequestError && error.isNoResponders())) return;
    throw error;
  }
  throw new Error(`${member} has minions that trust its key pair, and must give it first`);
}
